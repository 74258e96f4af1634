import { describe, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { backends, create, errorOf, plain, withThreads } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';
import { startWorker } from './support/workers.mjs';

const dim = 8;
const query = [1, 2, 3, 4, 5, 6, 7, 8];

async function filled(load, count = 50) {
  const index = await create({ dim }, load);
  await index.add(range(count), randomRows(1, count, dim));
  return index;
}

const reads = {
  search: (reader) => reader.search(query),
  searchBatch: (reader) => reader.searchBatch([query]),
  emptyBatch: (reader) => reader.searchBatch([]),
  searchAsync: (reader) => reader.searchAsync(query),
  has: (reader) => reader.has(1),
  get: (reader) => reader.get(1),
  filter: (reader) => reader.filter([1]),
  snapshot: (reader) => reader.snapshot(),
  stats: (reader) => reader.stats(),
  size: (reader) => reader.size,
  sequence: (reader) => reader.sequence,
};
const writes = {
  add: (index) => index.add([99], [query]),
  upsert: (index) => index.upsert([99], [query]),
  remove: (index) => index.remove([1]),
  clear: (index) => index.clear(),
  flush: (index) => index.flush(),
  emptyAdd: (index) => index.add([], []),
};

describe.each(backends)('life and death, $name', ({ load }) => {
  test.each(Object.keys({ ...reads, ...writes }))('%s after close is CLOSED', async (name) => {
    const index = await filled(load);
    const closing = index.close();
    const early = await errorOf(() => ({ ...reads, ...writes })[name](index));
    expect(early.code).toBe('CLOSED');
    await closing;
    await index.close();
    expect((await errorOf(() => ({ ...reads, ...writes })[name](index))).code).toBe('CLOSED');
  });

  test('what describes an index outlives it', async () => {
    const index = await create({ dim, metric: 'l2', bits: 3 }, load);
    await index.close();
    expect([index.dim, index.metric, index.bits]).toEqual([dim, 'l2', 3]);
  });

  test('close waits for the writes of earlier calls', async () => {
    const index = await create({ dim }, load);
    const write = index.add(range(20_000), randomRows(1, 20_000, dim));
    const closing = index.close();
    expect(await write).toMatchObject({ count: 20_000 });
    await closing;
  });

  test('flush and empty writes of earlier calls end well though the index is closed', async () => {
    const index = await create({ dim }, load);
    const write = index.add(range(5000), randomRows(1, 5000, dim));
    const ends = [index.flush(), index.add([], []), index.remove([]), index.upsert([], [])];
    const closing = index.close();
    const { sequence } = await write;
    for (const end of await Promise.all(ends)) expect(end).toMatchObject({ sequence, count: 0 });
    await closing;
    const empty = await create({ dim }, load);
    const end = empty.flush();
    await empty.close();
    expect(await end).toEqual({ sequence: 0, count: 0 });
  });

  test('flush tells a version that shows what was written before', async () => {
    const index = await filled(load);
    await index.remove([1000]);
    await errorOf(() => index.add([1], [query]));
    expect(await index.flush()).toEqual({ sequence: index.sequence, count: 0 });
  });

  test('a snapshot stays what it was until it is closed', async () => {
    const index = await filled(load);
    const before = plain(index.search(query, { k: 100 }));
    const snapshot = index.snapshot();
    const inner = snapshot.snapshot();
    await index.remove(range(25));
    await index.add(range(25, 1000), randomRows(2, 25, dim));
    await index.clear();
    for (const reader of [snapshot, inner]) {
      expect(plain(reader.search(query, { k: 100 }))).toEqual(before);
      expect(plain(await reader.searchAsync(query, { k: 100 }))).toEqual(before);
      expect([reader.size, reader.sequence, reader.has(3)]).toEqual([50, 1, true]);
      expect(reader.get(3)).toBeInstanceOf(Float32Array);
    }
    expect(index.size).toBe(0);
    await snapshot.close();
    expect((await errorOf(() => snapshot.search(query))).code).toBe('CLOSED');
    expect(plain(inner.search(query, { k: 100 }))).toEqual(before);
    await inner.close();
    expect(index.stats().readers).toBe(index.snapshot().stats().readers - 1);
  });

  test('snapshots end with their index', async () => {
    const index = await filled(load);
    const snapshot = index.snapshot();
    await index.close();
    expect((await errorOf(() => snapshot.search(query))).code).toBe('CLOSED');
    await snapshot.close();
  });

  test('hits are copies that iterate and never change', async () => {
    const index = await filled(load);
    const hits = index.search(query, { k: 3 });
    const copy = plain(hits);
    index.search(query.toReversed(), { k: 40 });
    await index.clear();
    expect(plain(hits)).toEqual(copy);
    expect(hits.sequence).toBe(1);
    expect(hits.length).toBe(3);
    expect([...hits]).toEqual(range(3).map((i) => ({ id: hits.ids[i], score: hits.scores[i] })));
    expect([...hits]).toHaveLength(3);
  });

  test('disposal closes', async () => {
    const kDispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
    const kAsyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
    const index = await filled(load);
    const snapshot = index.snapshot();
    snapshot[kDispose]();
    expect((await errorOf(() => snapshot.size)).code).toBe('CLOSED');
    await index[kAsyncDispose]();
    expect((await errorOf(() => index.size)).code).toBe('CLOSED');
  });

  test('indexes live beside each other', async () => {
    const all = await Promise.all(range(6).map(async (i) => {
      const index = await create({ dim: i + 2, bits: [1, 2, 3, 4, 8, 4][i] }, load);
      await index.add(range(20), randomRows(i, 20, i + 2));
      return index;
    }));
    for (const [i, index] of all.entries()) {
      const rows = randomRows(i, 20, i + 2);
      expect(index.search(row(rows, i + 2, 3), { filter: [3] }).ids[0]).toBe(3);
      if (i % 2 === 0) await index.close();
    }
    expect(all[1].size).toBe(20);
  });

  test('an aborted create makes nothing', async () => {
    const signal = AbortSignal.abort();
    expect((await errorOf(() => VectorIndex.create({ dim }, { ...load, signal }))).code)
      .toBe('ABORTED');
  });

  test('searchAsync stops waiting when its signal says so', async () => {
    const index = await filled(load);
    const controller = new AbortController();
    const search = index.searchAsync(query, { signal: controller.signal });
    controller.abort();
    expect((await errorOf(() => search)).code).toBe('ABORTED');
    expect((await index.searchAsync(query)).length).toBe(10);
  });

  test('stats tell what is there', async () => {
    const index = await filled(load);
    await index.remove([1, 2]);
    const stats = index.stats();
    expect(stats).toMatchObject({
      size: 48, dead: 2, sequence: 2, ringDepth: 0, backend: 'wasm', readersMax: 4096,
    });
    const { total, ...parts } = stats.bytes;
    expect(Object.values(parts).reduce((sum, bytes) => sum + bytes)).toBe(total);
    expect(stats.kernel).toMatch(/^[a-z_0-9]+$/);
  });
});

test('share and attach are UNSUPPORTED without threads', async () => {
  const index = await create({ dim }, { threads: false });
  expect((await errorOf(() => index.share())).code).toBe('UNSUPPORTED');
});

test.each([undefined, null, 7, {}, { vicinal: 'shared-index' }])(
  'attaching %o is BAD_OPTION', async (handle) => {
    expect((await errorOf(() => VectorIndex.attach(handle))).code).toBe('BAD_OPTION');
  });

describe.each(withThreads)('sharing, $name', ({ load }) => {
  test('the owner\'s realm may attach, too', async () => {
    const index = await filled(load);
    const reader = await VectorIndex.attach(index.share());
    expect(plain(reader.search(query))).toEqual(plain(index.search(query)));
    await index.add([500], [query]);
    expect(reader.has(500)).toBe(true);
    await reader.close();
    expect((await errorOf(() => reader.search(query))).code).toBe('CLOSED');
    expect(index.search(query, { k: 1 }).ids[0]).toBe(500);
  });

  test('every read of an attached reader is CLOSED once the owner has closed', async () => {
    const index = await filled(load);
    const reader = await VectorIndex.attach(index.share());
    await index.close();
    for (const [name, read] of Object.entries(reads)) {
      if (name === 'filter') continue;  // asks no version
      expect((await errorOf(() => read(reader)))?.code, name).toBe('CLOSED');
    }
  });

  test('a worker sees what was there before it came, and what comes after', async () => {
    const index = await create({ dim }, load);
    const handle = index.share();
    await index.add(range(10), randomRows(1, 10, dim));
    const worker = await startWorker();
    expect(await worker.call('attach', handle)).toEqual({ size: 10, sequence: 1, dim });
    expect(plain(await worker.call('search', query, { k: 20 })))
      .toEqual(plain(index.search(query, { k: 20 })));
    await index.add([77], [query]);
    expect((await worker.call('search', query, { k: 1 })).ids[0]).toBe(77);
    expect((await worker.call('searchAsync', query, { k: 1 }))[0]).toBe(77);
    await worker.call('close');
    expect((await errorOf(() => worker.call('has', 77))).code).toBe('CLOSED');
    await worker.terminate();
  });

  test('a reader elsewhere is CLOSED when its index is, and so is a handle', async () => {
    const index = await filled(load);
    const handle = index.share();
    const worker = await startWorker();
    await worker.call('attach', handle);
    await index.close();
    for (const name of ['search', 'searchAsync', 'has', 'stats']) {
      expect((await errorOf(() => worker.call(name, name === 'has' ? 1 : query))).code)
        .toBe('CLOSED');
    }
    expect((await errorOf(() => worker.call('attach', handle))).code).toBe('CLOSED');
    expect((await errorOf(() => VectorIndex.attach(handle))).code).toBe('CLOSED');
    await worker.terminate();
  });

  test('a handle of a closed index never opens the next one', async () => {
    const index = await filled(load);
    const handle = index.share();
    await index.close();
    const next = await filled(load);
    expect((await errorOf(() => VectorIndex.attach(handle))).code).toBe('CLOSED');
    expect(next.size).toBe(50);
  });

  test('a reader too many is BUSY, named, wherever it is asked for', async () => {
    const index = await filled(load);
    const worker = await startWorker();
    await worker.call('attach', index.share());
    const snapshots = [];
    expect((await errorOf(() => {
      for (;;) snapshots.push(index.snapshot());
    })).code).toBe('BUSY');
    const late = await startWorker();
    const busy = { code: 'BUSY', message: expect.stringMatching(/slots .*4096 of 4096.*: close/) };
    expect(await errorOf(() => late.call('attach', index.share()))).toMatchObject(busy);
    expect(await errorOf(() => VectorIndex.attach(index.share()))).toMatchObject(busy);
    // Who has one goes on; writes need none.
    await index.upsert([500], [query]);
    expect((await worker.call('search', query, { k: 1 })).ids[0]).toBe(500);
    await snapshots.pop().close();
    expect(await late.call('attach', index.share())).toMatchObject({ size: 51 });
    await Promise.all(snapshots.map((snapshot) => snapshot.close()));
    await Promise.all([worker, late].map((one) => one.terminate()));
  });

  test('a handle of another version of the package is VERSION', async () => {
    const index = await filled(load);
    const handle = { ...index.share(), abi: 0 };
    expect((await errorOf(() => VectorIndex.attach(handle))).code).toBe('VERSION');
  });
});
