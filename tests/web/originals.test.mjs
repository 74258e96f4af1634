// Originals: exact scores of what is found, and rows that come back as they went in.
import { describe, expect, test } from 'vitest';
import { backends, create, errorOf } from './support/backends.mjs';
import { range } from './support/random.mjs';

const dim = 37;
const count = 400;

function rowsOf(count) {
  let state = 11;
  return Float32Array.from({ length: count * dim }, () => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    return state / 2 ** 31;
  });
}

const rows = rowsOf(count);
const row = (i) => rows.subarray(i * dim, (i + 1) * dim);
const query = row(3).map((x, j) => x + 0.3 * row(7)[j]);

/** The core's order of adding up: sixteen lanes, folded. */
function inLanes(term) {
  const lanes = new Float64Array(16);
  for (let j = 0; j < dim; ++j) lanes[j % 16] += term(j);
  for (let width = 8; width >= 1; width /= 2) {
    for (let lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

const dot = (a, b) => inLanes((j) => a[j] * b[j]);
const exact = {
  cosine: (q, x) => dot(q, x) / Math.sqrt(dot(q, q) * dot(x, x)),
  ip: dot,
  l2: (q, x) => -inLanes((j) => (q[j] - x[j]) ** 2),
};

/** Rounded to the nearest multiple of a half's last place; of these magnitudes. */
function toHalf(value) {
  if (value === 0) return value;
  const place = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), -14) - 10);
  const scaled = value / place;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const up = rest > 0.5 || rest === 0.5 && floor % 2 !== 0;
  return (floor + (up ? 1 : 0)) * place;
}

const kept = { float16: (x) => Float32Array.from(x, toHalf), float32: (x) => Float32Array.from(x) };

const idsOf = (hits) => Array.from(hits.ids);
const scoresOf = (hits) => Array.from(hits.scores);

describe.each(backends)('originals, $name', ({ load }) => {
  test.each([
    ['float16', 'cosine'], ['float32', 'ip'], ['float16', 'l2'], ['float32', 'cosine'],
  ])('%s, %s: scores are exact, and get gives what was given', async (originals, metric) => {
    const index = await create({ dim, bits: 1, metric, originals }, load);
    await index.add(range(count), rows);
    const best = range(count)
      .map((id) => ({ id, score: Math.fround(exact[metric](query, kept[originals](row(id)))) }))
      .sort((a, b) => b.score - a.score || a.id - b.id).slice(0, 10);
    const hits = index.search(query, { k: 10, rerank: count });
    expect(hits.reranked).toBe(true);
    expect([...hits]).toEqual(best);
    const minScore = best[4].score;
    expect([...index.search(query, { rerank: count, minScore })]).toEqual(best.slice(0, 5));
    expect(index.get(5)).toEqual(kept[originals](row(5)));
    const again = await index.searchAsync(query, { rerank: count });
    expect([again.reranked, ...again]).toEqual([true, ...best]);
  });

  test('4 k candidates are usual, and rerank: 0 leaves the codes to decide', async () => {
    const index = await create({ dim, bits: 1, originals: 'float16' }, load);
    const plain = await create({ dim, bits: 1 }, load);
    await index.add(range(count), rows);
    await plain.add(range(count), rows);
    expect([...index.search(query, { k: 7 })])
      .toEqual([...index.search(query, { k: 7, rerank: 28 })]);
    const coarse = index.search(query, { rerank: 0 });
    expect(coarse.reranked).toBe(false);
    expect([...coarse]).toEqual([...plain.search(query)]);
    expect(plain.search(query).reranked).toBe(false);
    for (const [i, hits] of index.searchBatch([query, row(9)], { k: 5 }).entries()) {
      const single = index.search(i === 0 ? query : row(9), { k: 5 });
      expect([hits.reranked, idsOf(hits), scoresOf(hits)])
        .toEqual([true, idsOf(single), scoresOf(single)]);
    }
    expect(index.stats().bytes.originals).toBeGreaterThanOrEqual(count * dim * 2);
    expect(plain.stats().bytes.originals).toBe(0);
  });

  test('they follow their rows through replacements, removals and compaction', async () => {
    const index = await create({ dim, bits: 2, originals: 'float32', ids: 'string' }, load);
    const names = range(count).map((i) => `row ${i}`);
    await index.add(names, rows, { atomic: false });
    await index.upsert(names.slice(0, 200), rows.subarray(200 * dim));
    await index.remove(names.slice(250));
    await index.compact();
    for (const i of [0, 7, 199]) expect(index.get(names[i])).toEqual(row(200 + i));
    expect(index.get(names[249])).toEqual(row(249));
    expect(idsOf(index.search(row(267), { k: 1 }))).toEqual([names[67]]);
  });

  test('what cannot be is told, and nothing is changed', async () => {
    const index = await create({ dim, originals: 'float16' }, load);
    const plain = await create({ dim }, load);
    const wrong = rows.slice(0, 2 * dim);
    wrong[dim + 3] = 65520;
    expect(await errorOf(() => index.add([1, 2], wrong))).toMatchObject({
      code: 'NOT_FINITE', message: expect.stringContaining('coordinate 3 of row 1 '),
    });
    expect(index.size).toBe(0);
    await index.add(range(count), rows);
    await plain.add(range(count), rows);
    const after = [...index.search(query)][9];
    expect(await errorOf(() => index.search(query, { after })))
      .toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining('rerank: 0') });
    expect(await errorOf(() => plain.search(query, { rerank: 1 })))
      .toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining('no originals') });
    const first = index.search(query, { rerank: 0 });
    const second = index.search(query, { rerank: 0, after: [...first][9] });
    expect([...idsOf(first), ...idsOf(second)])
      .toEqual(idsOf(index.search(query, { k: 20, rerank: 0 })));
  });
});
