// Ids that are strings: they come back as they went in, by every way, and nothing else is taken.
import { describe, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { backends, bitsOf, create, errorOf, withThreads } from './support/backends.mjs';
import { newSeed, random, randomRows, range, scale } from './support/random.mjs';
import { startWorker } from './support/workers.mjs';

const dim = 16;
const used = backends.filter(({ name }) => name !== 'scalar');
const strings = (load, options = {}) => create({ dim, ids: 'string', ...options }, load);

/** Different for each key: ASCII and not, empty, long, with zeros and with a byte order mark. */
function nameOf(key) {
  if (key === 0) return '';
  const more = ['', 'plain', 'é', '語', '😀', '\u0000', '\ufeff'][key % 7];
  return `${key % 7 === 6 ? more : ''}${key}:${more.repeat(key % 5)}`;
}

const row = (key) => randomRows(key + 1, 1, dim);
const rowsOf = (keys) => {
  const rows = new Float32Array(keys.length * dim);
  keys.forEach((key, i) => rows.set(row(key), i * dim));
  return rows;
};
const names = (keys) => keys.map(nameOf);

describe.each(used)('string ids, $name', ({ load }) => {
  test('random writes show what a Map shows, in searches, lookups and snapshots', async () => {
    const seed = newSeed('string ids');
    const next = random(seed);
    const index = await strings(load);
    const numbers = await create({ dim }, load);
    const present = new Set();
    const kept = [];
    const some = () => [...new Set(range(1 + Math.floor(next() * 30))
      .map(() => Math.floor(next() * 200)))];
    for (let step = 0; step < 60 * scale; ++step) {
      const keys = some();
      if (next() < 0.6) {
        await Promise.all([index.upsert(names(keys), rowsOf(keys)),
          numbers.upsert(keys, rowsOf(keys))]);
        keys.forEach((key) => present.add(key));
      } else {
        const { removed } = await index.remove(names(keys));
        expect(removed, `seed ${seed}`).toBe((await numbers.remove(keys)).removed);
        keys.forEach((key) => present.delete(key));
      }
      if (step % 20 === 7) await index.compact();
      if (step % 25 === 3) kept.push([index.snapshot(), numbers.snapshot()]);
      const query = row(step + 1000);
      const found = index.search(query, { k: 12 });
      const expected = numbers.search(query, { k: 12 });
      expect(found.ids, `seed ${seed}`).toEqual(Array.from(expected.ids, nameOf));
      expect(bitsOf(found.scores)).toEqual(bitsOf(expected.scores));
      expect([...found]).toEqual(found.ids.map((id, i) => ({ id, score: found.scores[i] })));
      for (const key of keys) {
        expect(index.has(nameOf(key))).toBe(present.has(key));
        expect(index.get(nameOf(key))).toEqual(numbers.get(key));
      }
    }
    for (const [snapshot, other] of kept) {
      expect(snapshot.search(row(5), { k: 300 }).ids)
        .toEqual(Array.from(other.search(row(5), { k: 300 }).ids, nameOf));
      await snapshot.close();
      await other.close();
    }
  });

  test('batches, filters, pages and other threads find the same strings', async () => {
    const index = await strings(load);
    const keys = range(300);
    await index.add(names(keys), rowsOf(keys));
    const queries = randomRows(77, 5, dim);
    const options = { k: 20 };
    const single = range(5).map((i) =>
      index.search(queries.subarray(i * dim, (i + 1) * dim), options).ids);
    expect(index.searchBatch(queries, options).map(({ ids }) => ids)).toEqual(single);
    const query = queries.subarray(0, dim);
    expect((await index.searchAsync(query, options)).ids).toEqual(single[0]);
    const list = [...names([3, 0, 77, 3, 150]), 'nobody'];
    const filter = index.filter(list);
    expect(filter.size).toBe(6);
    const allowed = index.search(query, { filter: list }).ids;
    expect([...allowed].sort()).toEqual(names([3, 0, 77, 150]).sort());
    expect(index.search(query, { filter }).ids).toEqual(allowed);
    expect((await index.searchAsync(query, { filter })).ids).toEqual(allowed);
    expect(index.search(query, { filter: [] }).length).toBe(0);
    const pages = [];
    for (let hits = [...index.search(query, { k: 7, filter })]; hits.length > 0;
      hits = [...index.search(query, { k: 1, filter, after: hits.at(-1) })]) {
      pages.push(...hits.map(({ id }) => id));
    }
    expect(pages).toEqual(allowed);
    const all = index.search(query, { k: 300 });
    const after = { id: all.ids[9], score: all.scores[9] };
    expect(index.search(query, { k: 5, after }).ids).toEqual(all.ids.slice(10, 15));
    // No row has just this score.
    const between = { id: 'nobody', score: all.scores[9] - 1e-12 };
    expect(index.search(query, { k: 5, after: between }).ids).toEqual(all.ids.slice(10, 15));
    const above = { id: 'nobody', score: all.scores[9] + 1e-12 };
    expect(index.search(query, { k: 5, after: above }).ids).toEqual(all.ids.slice(9, 14));
  });

  test('what is no string, too long or not UTF-8 is BAD_ID naming its place', async () => {
    const index = await strings(load);
    const rows = randomRows(1, 2, dim);
    for (const bad of [1, 1n, undefined, null, {}, Symbol('x'), '\ud800', 'a\udc00b',
      'x'.repeat(65536), 'é'.repeat(32768)]) {
      const error = await errorOf(() => index.add(['fine', bad], rows));
      expect(error.code).toBe('BAD_ID');
      expect(error.message).toContain('position 1');
      for (const run of [() => index.has(bad), () => index.get(bad), () => index.filter([bad]),
        () => index.remove([bad]), () => index.search(row(1), { filter: [bad] }),
        () => index.search(row(1), { after: { id: bad, score: 1 } })]) {
        expect((await errorOf(run)).code).toBe('BAD_ID');
      }
    }
    expect((await errorOf(() => index.add(new Float64Array([1, 2]), rows))).code).toBe('BAD_ID');
    expect(index.size).toBe(0);
    const long = ['x'.repeat(65535), 'é'.repeat(32767)];
    await index.add(long, rows);
    expect([...index.search(row(1)).ids].sort()).toEqual([...long].sort());
    const numbers = await create({ dim }, load);
    expect((await errorOf(() => numbers.add(['1', '2'], rows))).code).toBe('BAD_ID');
    expect((await errorOf(() => numbers.has('1'))).code).toBe('BAD_ID');
  });

  test('a duplicate is named, in a part of a large write as well', async () => {
    const index = await strings(load);
    await index.add(['a', 'b"'], randomRows(1, 2, dim));
    const twice = await errorOf(() => index.add(['c', 'b"'], randomRows(1, 2, dim)));
    expect(twice.code).toBe('DUPLICATE_ID');
    expect(twice.message).toContain('id "b\\"" is already present');
    expect(index.size).toBe(2);
    // 4 MiB of strings are a part.
    const ids = range(150).map((i) => `${i}${'x'.repeat(60_000)}`);
    ids[149] = ids[0];
    const error = await errorOf(() => index.add(ids, randomRows(1, 150, dim), { atomic: false }));
    expect(error.code).toBe('DUPLICATE_ID');
    expect(error.message).toContain('id "0x');
    expect(error.landed.count).toBeGreaterThan(50);
    expect(index.size).toBe(2 + error.landed.count);
  });

  test('equal scores come by age, and a replaced row is the youngest', async () => {
    const index = await strings(load);
    const ids = ['z', 'm', 'a', 'q'];
    for (const id of ids) await index.add([id], row(1));
    expect(index.search(row(1)).ids).toEqual(ids);
    await index.upsert(['z'], row(1));
    await index.compact();
    expect(index.search(row(1)).ids).toEqual(['m', 'a', 'q', 'z']);
  });

  test('removed strings give their memory back, and the figures tell', async () => {
    const index = await strings(load);
    const numbers = await create({ dim }, load);
    expect(numbers.stats().bytes.strings).toBe(0);
    const ids = range(5000).map((i) => `${i}-${'y'.repeat(100)}`);
    await index.add(ids, randomRows(1, 5000, dim));
    const { strings: before, total } = index.stats().bytes;
    expect(before).toBeGreaterThan(5000 * 100);
    expect(total).toBeGreaterThan(before);
    await index.remove(ids.slice(100));
    await index.compact();
    expect(index.stats().bytes.strings).toBeLessThan(before / 5);
    expect(index.has(ids[99])).toBe(true);
  });

  test('bytes of such an index are opened as what they are', async () => {
    const index = await strings(load, { bits: 2 });
    const keys = range(500);
    await index.add(names(keys), rowsOf(keys));
    await index.remove(names(range(60, 100)));
    const bytes = await index.toBytes();
    for (const ids of [undefined, 'string']) {
      const opened = await VectorIndex.open(bytes, { ...load, ...(ids && { ids }) });
      expect(opened.size).toBe(440);
      const found = opened.search(row(7), { k: 440 });
      expect(found.ids).toEqual(index.search(row(7), { k: 440 }).ids);
      expect([opened.has(nameOf(100)), opened.has(nameOf(60))]).toEqual([false, true]);
      await opened.add(['one more'], row(1));
      expect(opened.get(nameOf(3))).toEqual(index.get(nameOf(3)));
      expect((await VectorIndex.open(await opened.toBytes(), load)).size).toBe(441);
      await opened.close();
    }
    const wrong = await errorOf(() => VectorIndex.open(bytes, { ...load, ids: 'bigint' }));
    expect([wrong.code, wrong.message]).toEqual(['BAD_OPTION', expect.stringContaining('ids')]);
    const numbers = await create({ dim }, load);
    const other = await errorOf(async () =>
      VectorIndex.open(await numbers.toBytes(), { ...load, ids: 'string' }));
    expect(other.code).toBe('BAD_OPTION');
    bytes[16384 + 70] ^= 1;  // of the first record's body
    expect((await errorOf(() => VectorIndex.open(bytes, load))).code).toBe('CORRUPT');
  });

  test('a list is copied before the call returns', async () => {
    const index = await strings(load);
    const ids = ['one', 'two'];
    const adding = index.add(ids, randomRows(1, 2, dim));
    ids.fill('three');
    await adding;
    expect([index.has('one'), index.has('two'), index.has('three')]).toEqual([true, true, false]);
  });
});

describe.each(withThreads)('string ids, $name', ({ load }) => {
  test('other workers find them, while they are replaced', async () => {
    const index = await strings(load);
    const keys = range(400);
    await index.add(names(keys), rowsOf(keys));
    const worker = await startWorker();
    await worker.call('attach', index.share());
    const query = row(9);
    const expected = new Map([...index.search(query, { k: 400, exhaustive: true })]
      .map(({ id, score }) => [id, score]));
    for (let i = 0; i < 30 * scale; ++i) {
      const some = keys.filter((key) => (key + i) % 3 === 0);
      const writing = index.upsert(names(some), rowsOf(some));
      const { ids, scores } = await worker.call('search', query, { k: 400, exhaustive: true });
      expect(ids.length).toBe(400);
      ids.forEach((id, at) => expect(scores[at]).toBe(expected.get(id)));
      await writing;
    }
    expect(await worker.call('has', nameOf(7))).toBe(true);
    await worker.terminate();
  });
});
