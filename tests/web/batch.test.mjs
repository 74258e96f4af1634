// A batch is answered by one version, whatever the writer does meanwhile.
import { describe, expect, test } from 'vitest';
import { backends, create, errorOf, plain, withThreads } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';

const dim = 16;
const queryCount = 40;

const sequencesOf = (all) => new Set(all.map(({ sequence }) => sequence));

describe.each(backends)('batches, $name', ({ load }) => {
  test('they are what single searches find, to the bit', async () => {
    const index = await create({ dim }, load);
    await index.add(range(3000), randomRows(1, 3000, dim));
    const queries = randomRows(2, queryCount, dim);
    queries.fill(0, 5 * dim, 6 * dim);
    const after = index.search(row(queries, dim, 3), { k: 20 }).ids[19];
    const options = [
      {}, { k: 0 }, { k: 200, filter: range(700) }, { exhaustive: true }, { minScore: 0.2 },
      { filter: index.filter(range(700)) }, { filter: [] }, { after: { id: after, score: 0.3 } },
      { k: 500, certainty: 1 },
    ];
    const snapshot = index.snapshot();
    for (const reader of [index, snapshot]) {
      for (const one of options) {
        const singles = range(queryCount)
          .map((i) => plain(reader.search(row(queries, dim, i), one)));
        expect(reader.searchBatch(queries, one).map(plain)).toEqual(singles);
        const list = range(queryCount).map((i) => Array.from(row(queries, dim, i)));
        expect(reader.searchBatch(list, one).map(plain)).toEqual(singles);
      }
      expect(reader.searchBatch(new Float32Array(0))).toEqual([]);
      expect(reader.searchBatch([])).toEqual([]);
    }
  });

  test('they take no slot, and name the query that is bad', async () => {
    const index = await create({ dim }, load);
    await index.add(range(10), randomRows(1, 10, dim));
    const { readers } = index.stats();
    const queries = randomRows(2, 4, dim);
    for (let i = 0; i < 5000; ++i) index.searchBatch(queries);
    queries[3 * dim] = NaN;
    expect((await errorOf(() => index.searchBatch(queries))).message).toMatch(/query 3/);
    expect(index.stats().readers).toBe(readers);
    expect(index.searchBatch(queries.subarray(0, 3 * dim)).length).toBe(3);
  });

  test('they may be large, then small, then searched with a larger k', async () => {
    const index = await create({ dim }, load);
    await index.add(range(300), randomRows(1, 300, dim));
    for (const [count, k] of [[1, 1], [6000, 1], [2, 3], [1000, 300], [2, 1e6], [1, 0]]) {
      const queries = randomRows(count, count, dim);
      const all = index.searchBatch(queries, { k });
      expect(all.length).toBe(count);
      for (const i of [0, count >> 1, count - 1]) {
        expect(plain(all[i])).toEqual(plain(index.search(row(queries, dim, i), { k })));
      }
    }
  });

  test('with every slot taken they go on, and stats and snapshots are BUSY', async () => {
    const index = await create({ dim: 2 }, load);
    await index.add([1, 2], [[1, 2], [2, 1]]);
    const { kernel } = index.stats();
    const snapshots = [];
    const error = await errorOf(() => {
      for (;;) snapshots.push(index.snapshot());
    });
    expect(error).toMatchObject({ code: 'BUSY', message: expect.stringMatching(/4096 of 4096/) });
    expect((await errorOf(() => index.stats())).code).toBe('BUSY');
    const batch = index.searchBatch([[1, 2], [2, 1]], { k: 1 });
    expect(batch.map(({ ids }) => ids[0])).toEqual([1, 2]);
    await snapshots.pop().close();
    expect(index.stats()).toMatchObject({ size: 2, kernel, readersMax: 4096 });
    await Promise.all(snapshots.map((snapshot) => snapshot.close()));
  });
});

describe.each(withThreads)('batches beside a writer, $name', ({ load }) => {
  /** Looks again and again while writes are applied, until a look says that it is enough. */
  async function beside(look) {
    const index = await create({ dim }, load);
    const rows = randomRows(3, 64, dim);
    await index.add(range(2000), randomRows(4, 2000, dim));
    const queries = randomRows(5, queryCount, dim);
    for (let enough = false; !enough;) {
      const writes = range(20).map(() => index.upsert(range(64), rows));
      for (let i = 0; i < 5; ++i) enough ||= look(index, queries);
      await Promise.all(writes);
    }
  }

  test('every batch has one version', async () => {
    const seen = new Set();
    let looks = 0;
    await beside((index, queries) => {
      const sequences = sequencesOf(index.searchBatch(queries));
      expect(sequences.size).toBe(1);
      for (const sequence of sequences) seen.add(sequence);
      return ++looks >= 100 && seen.size >= 30;
    });
  });

  test('negative control: as many single searches have several', async () => {
    await beside((index, queries) => {
      const all = range(queryCount).map((i) => index.search(row(queries, dim, i)));
      return sequencesOf(all).size > 1;
    });
  });
});
