// A Filter finds what its list finds: through any reader, after any write, however many others
// there are.
import { describe, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { backends, create, errorOf, plain, withThreads } from './support/backends.mjs';
import { newSeed, random, randomRows, range, scale } from './support/random.mjs';

const dim = 12;
const idCount = 2000;

/** Lists of many sizes, one of them empty, and their filters: more than a reader keeps. */
function pairsOf(index, next) {
  return [0, 1, 5, 20, 60, 150, 300, 300, 500, 900, 1500, 3000].map((count) => {
    const ids = range(count).map(() => Math.floor(next() * idCount));
    return { ids, filter: index.filter(ids) };
  });
}

async function write(index, next) {
  const some = (most) => [...new Set(range(1 + Math.floor(next() * most))
    .map(() => Math.floor(next() * idCount)))];
  const kind = next();
  if (kind < 0.08) return index.clear();
  if (kind < 0.3) return index.remove(some(150));
  const ids = some(kind < 0.4 ? idCount : 60);
  return index.upsert(ids, randomRows(Math.floor(next() * 1e6), ids.length, dim));
}

describe.each(backends)('filters, $name', ({ load }) => {
  test('they find what their lists find, over writes, in snapshots, in batches', async () => {
    const seed = newSeed('filters');
    const next = random(seed);
    const index = await create({ dim, bits: 2 }, load);
    const pairs = pairsOf(index, next);
    let snapshot = index.snapshot();
    for (let step = 0; step < 60 * scale; ++step) {
      await write(index, next);
      if (next() < 0.15) {
        await snapshot.close();
        snapshot = index.snapshot();
      }
      const queries = randomRows(step, 3, dim);
      const query = queries.subarray(0, dim);
      for (const { ids, filter } of pairs.filter(() => next() < 0.5)) {
        const k = 1 + Math.floor(next() * 20);
        const reader = next() < 0.3 ? snapshot : index;
        const listed = reader.searchBatch(queries, { k, filter: ids }).map(plain);
        expect(plain(reader.search(query, { k, filter })), `seed ${seed}`).toEqual(listed[0]);
        expect(reader.searchBatch(queries, { k, filter }).map(plain)).toEqual(listed);
        if (next() < 0.1) {
          expect(plain(await reader.searchAsync(query, { k, filter }))).toEqual(listed[0]);
        }
      }
    }
  });

  test('they serve other indexes, and outlive the reader that made them', async () => {
    const one = await create({ dim }, load);
    const other = await create({ dim }, load);
    await one.add(range(50), randomRows(1, 50, dim));
    await other.add(range(50), randomRows(2, 50, dim));
    const query = randomRows(3, 1, dim);
    const filter = one.filter([7, 99, 8]);
    for (const index of [one, other, one]) {
      expect(index.search(query, { filter }).ids.toSorted()).toEqual(Float64Array.of(7, 8));
    }
    await one.close();
    expect((await errorOf(() => one.search(query, { filter }))).code).toBe('CLOSED');
    expect((await errorOf(() => one.searchBatch(query, { filter }))).code).toBe('CLOSED');
    expect(other.search(query, { filter }).length).toBe(2);
  });
});

describe.each(withThreads)('filters of attached readers, $name', ({ load }) => {
  test('each reader has its own, and they end with it or with the index', async () => {
    const index = await create({ dim }, load);
    await index.add(range(50), randomRows(1, 50, dim));
    const query = randomRows(3, 1, dim);
    const filter = index.filter([3, 4, 5]);
    const readers = [];
    for (let i = 0; i < 4; ++i) readers.push(await VectorIndex.attach(index.share()));
    for (const reader of [index, ...readers]) {
      expect(reader.search(query, { filter }).length).toBe(3);
    }
    await readers[0].close();
    await index.remove([4]);
    for (const reader of readers.slice(1)) {
      expect(reader.search(query, { filter }).length).toBe(2);
    }
    await index.close();
    for (const reader of readers.slice(1)) {
      expect((await errorOf(() => reader.search(query, { filter }))).code).toBe('CLOSED');
      await reader.close();
    }
  });
});
