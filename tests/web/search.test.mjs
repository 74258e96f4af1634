import { describe, expect, test } from 'vitest';
import { backends, create, plain } from './support/backends.mjs';
import { newSeed, randomRows, range, row, scale } from './support/random.mjs';

const tails = [1, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 255, 256, 257];

function sorted(hits) {
  for (let i = 1; i < hits.length; ++i) {
    const [a, b] = [hits.scores[i - 1], hits.scores[i]];
    if (a < b || (a === b && hits.ids[i - 1] >= hits.ids[i])) return false;
  }
  return true;
}

describe.each(backends)('searching, $name', ({ load }) => {
  test.each(tails)('every one of %i rows finds itself first', async (count) => {
    const dim = 24;
    const index = await create({ dim }, load);
    const rows = randomRows(count, count, dim);
    await index.add(range(count, 100), rows);
    expect(index.size).toBe(count);
    for (let i = 0; i < count; ++i) {
      expect(index.search(row(rows, dim, i), { k: 1 }).ids[0]).toBe(100 + i);
    }
  });

  const metrics = ['cosine', 'ip', 'l2'];

  test.each(metrics)('rows of unit length find themselves under %s', async (metric) => {
    const dim = 33;
    const count = 200 * scale;
    const rows = randomRows(newSeed(metric), count, dim);
    for (let i = 0; i < count; ++i) {
      const length = Math.hypot(...row(rows, dim, i));
      row(rows, dim, i).forEach((value, j, target) => { target[j] = value / length; });
    }
    const index = await create({ dim, metric }, load);
    await index.add(range(count), rows);
    for (let i = 0; i < count; ++i) {
      const hits = index.search(row(rows, dim, i), { k: 5 });
      expect(hits.ids[0]).toBe(i);
      expect(sorted(hits)).toBe(true);
    }
  });

  test.each([1, 2, 3, 4, 8])('%i bits: results are in order and without doubles', async (bits) => {
    const [dim, count] = [40, 500];
    const rows = randomRows(bits, count, dim);
    const index = await create({ dim, bits }, load);
    await index.add(range(count), rows);
    const hits = index.search(row(rows, dim, 7), { k: count });
    expect(new Set(hits.ids).size).toBe(count);
    expect(sorted(hits)).toBe(true);
  });

  test('scores mean what they say: an l2 score is the negative squared distance', async () => {
    const [dim, count] = [64, 50];
    const rows = randomRows(3, count + 1, dim);
    const index = await create({ dim, metric: 'l2', bits: 8 }, load);
    await index.add(range(count), rows.subarray(0, count * dim));
    const query = row(rows, dim, count);
    for (const { id, score } of index.search(query, { k: count })) {
      const distance = row(rows, dim, id).reduce((sum, x, i) => sum + (x - query[i]) ** 2, 0);
      expect(-score / distance).toBeGreaterThan(0.9);
      expect(-score / distance).toBeLessThan(1.1);
    }
  });

  test('k = 0 finds nothing, k above the rows finds all, an empty index nothing', async () => {
    const dim = 8;
    const index = await create({ dim }, load);
    const query = new Float32Array(dim).fill(1);
    expect(index.search(query).length).toBe(0);
    await index.add(range(40), randomRows(1, 40, dim));
    expect(index.search(query, { k: 0 }).length).toBe(0);
    expect(index.search(query).length).toBe(10);
    expect(index.search(query, { k: 41 }).length).toBe(40);
    expect(index.search(query, { k: 2 ** 40 }).length).toBe(40);
    expect(index.searchBatch([])).toEqual([]);
    expect(index.searchBatch(new Float32Array(0))).toEqual([]);
  });

  test('thousands of identical rows come by ascending id', async () => {
    const [dim, count] = [16, 3000];
    const index = await create({ dim }, load);
    const one = randomRows(5, 1, dim);
    const ids = range(count).map((i) => (i * 7919) % count);
    const rows = new Float32Array(count * dim);
    for (let i = 0; i < count; ++i) rows.set(one, i * dim);
    await index.add(ids, rows);
    expect(Array.from(index.search(one, { k: 100 }).ids)).toEqual(range(100));
    expect(Array.from(index.search(one, { k: count }).ids)).toEqual(range(count));
  });

  test('a zero row is stored and scores 0 under cosine', async () => {
    const index = await create({ dim: 4 }, load);
    await index.add([1, 2], [[0, 0, 0, 0], [1, 2, 3, 4]]);
    const hits = index.search([1, 2, 3, 4]);
    expect(Array.from(hits.ids)).toEqual([2, 1]);
    expect(hits.scores[1]).toBe(0);
    expect(Array.from(index.search([0, 0, 0, 0]).scores)).toEqual([0, 0]);
  });

  test('a batch equals single searches bit for bit', async () => {
    const [dim, count] = [31, 700];
    const rows = randomRows(newSeed('batch'), count, dim);
    const index = await create({ dim }, load);
    await index.add(range(count), rows);
    const queries = rows.subarray(0, 40 * dim);
    const flat = index.searchBatch(queries, { k: 7 });
    const list = index.searchBatch(range(40).map((i) => row(rows, dim, i)), { k: 7 });
    const async = await Promise.all(range(40).map(
      (i) => index.searchAsync(row(rows, dim, i), { k: 7 })));
    for (let i = 0; i < 40; ++i) {
      const single = plain(index.search(row(queries, dim, i), { k: 7 }));
      expect(plain(flat[i])).toEqual(single);
      expect(plain(list[i])).toEqual(single);
      expect(plain(async[i])).toEqual(single);
    }
  });

  test.each(['cosine', 'ip'])('a query scaled by powers of two keeps ids and order: %s',
    async (metric) => {
      const [dim, count] = [20, 300];
      const rows = randomRows(11, count, dim);
      const index = await create({ dim, metric }, load);
      await index.add(range(count), rows);
      const query = randomRows(12, 1, dim);
      const ids = Array.from(index.search(query, { k: count }).ids);
      for (let power = -109; power <= 49; power += 1) {
        const scaled = query.map((x) => x * 2 ** power);
        expect(Array.from(index.search(scaled, { k: count }).ids), `2^${power}`).toEqual(ids);
      }
    });

  test('pages by `after` are the whole list, cut', async () => {
    const [dim, count] = [16, 257];
    const rows = randomRows(21, count, dim);
    rows.copyWithin(dim * 128, 0, dim * 100);  // equal scores across pages
    const index = await create({ dim }, load);
    await index.add(range(count), rows);
    const query = randomRows(22, 1, dim);
    const all = [...index.search(query, { k: count })];
    const pages = [];
    for (let after; ;) {
      const page = [...index.search(query, { k: 10, ...(after && { after }) })];
      pages.push(...page);
      if (page.length < 10) break;
      after = page.at(-1);
    }
    expect(pages).toEqual(all);
    const between = (all[3].score + all[9].score) / 2;
    expect([...index.search(query, { k: count, minScore: between })])
      .toEqual(all.filter(({ score }) => score >= between));
    expect([...index.search(query, { k: count, after: { id: 0, score: between } })])
      .toEqual(all.filter(({ score }) => score < between));
  });

  test('a filter allows its rows only; unknown and repeated ids do not matter', async () => {
    const [dim, count] = [16, 400];
    const rows = randomRows(31, count, dim);
    const index = await create({ dim }, load);
    await index.add(range(count), rows);
    const query = row(rows, dim, 5);
    const all = [...index.search(query, { k: count })];
    for (const allowed of [[], [5], [399, 5, 5, 77, 1e6], range(200, 100), range(count)]) {
      const expected = all.filter(({ id }) => allowed.includes(id));
      expect([...index.search(query, { k: count, filter: allowed })]).toEqual(expected);
      const filter = index.filter(new Set(allowed));
      expect([...index.search(query, { k: count, filter })]).toEqual(expected);
      expect([...index.search(query, { k: 3, filter })]).toEqual(expected.slice(0, 3));
    }
  });

  test('an exhaustive search and an infinite certainty are the same', async () => {
    const [dim, count] = [48, 1000];
    const rows = randomRows(41, count, dim);
    const index = await create({ dim }, load);
    await index.add(range(count), rows);
    const query = randomRows(42, 1, dim);
    expect(plain(index.search(query, { exhaustive: true })))
      .toEqual(plain(index.search(query, { certainty: Infinity })));
  });

  test('get gives the decoded row back: close to what was added', async () => {
    const [dim, count] = [64, 40];
    const rows = randomRows(51, count, dim);
    const index = await create({ dim, bits: 8, metric: 'l2' }, load);
    await index.add(range(count), rows);
    for (let i = 0; i < count; ++i) {
      const decoded = index.get(i);
      expect(decoded).toBeInstanceOf(Float32Array);
      const original = row(rows, dim, i);
      const error = Math.hypot(...original.map((x, j) => x - decoded[j]));
      expect(error / Math.hypot(...original)).toBeLessThan(0.05);
    }
    expect(index.get(count)).toBe(undefined);
    expect(index.has(count)).toBe(false);
  });
});
