// Workers that are ended while they search: what they held comes back when it is certain that they
// run no more, and not before.
import { VectorIndex } from 'vicinal';
import { describe, expect, test, vi } from 'vitest';
import { create as createWith, errorOf, plain } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';
import { catchWorker, startWorker } from './support/workers.mjs';

const inNode = globalThis.process?.versions?.node !== undefined;
const dim = 16;
const count = 300;
const rows = randomRows(1, count, dim);
const query = row(rows, dim, 7);
// A browser lets a busy worker go on for two seconds.
const patience = { timeout: 30_000, interval: 2 };

/** A worker in the middle of searches without an end. */
async function startSearching(index) {
  const worker = await startWorker();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  worker.call('searchForever', index.share(), flag, query).catch(() => undefined);
  await vi.waitUntil(() => Atomics.load(flag, 0) > 0, patience);
  return { terminate: () => worker.terminate(), searches: () => Atomics.load(flag, 0) };
}

const create = () => createWith({ dim }, { maxBytes: 2 ** 27 });
const readersOf = (index) => index.stats().readers;

describe('deaths', () => {
  test('workers ended in mid-search leave nothing behind, and disturb nobody', async () => {
    const index = await create();
    await index.add(range(count), rows);
    const expected = plain(index.search(query, { k: 50 }));
    const alive = await startWorker();
    await alive.call('attach', index.share());
    const mine = readersOf(index);
    const [rounds, each] = inNode ? [4, 5] : [1, 3];
    for (let round = 0; round < rounds; ++round) {
      const workers = await Promise.all(range(each).map(() => startSearching(index)));
      await index.upsert(range(count), rows);
      await index.upsert(range(count), rows);
      // Negative control: while they live, what they keep stays, whatever is committed.
      const { readers, bytes, sequence, oldestSequence } = index.stats();
      expect(readers).toBe(mine + 2 * each);
      expect(bytes.retired).toBeGreaterThan(0);
      expect(oldestSequence).toBeLessThan(sequence);
      await Promise.all(workers.map((worker) => worker.terminate()));
      await vi.waitUntil(() => readersOf(index) === mine, patience);
      const searches = workers.map((worker) => worker.searches());
      await index.upsert([1], row(rows, dim, 1));
      await vi.waitUntil(() => index.stats().bytes.retired === 0, patience);
      expect(plain(index.search(query, { k: 50 }))).toEqual(expected);
      expect((await alive.call('search', query, { k: 50 })).ids).toEqual(
        index.search(query, { k: 50 }).ids);
      // What was given back was nobody's any more.
      expect(workers.map((worker) => worker.searches())).toEqual(searches);
    }
    // A lock does not tell that a thread is gone: its slots are not used again.
    expect(index.stats().slotsRetired).toBe(inNode ? 0 : rounds * each * 2);
    expect(index.stats().readersMax).toBe(4096 - index.stats().slotsRetired);
    await alive.terminate();
  });

  test('twenty workers ended at once in mid-search, while the writer commits', async () => {
    const index = await create();
    const rowsOf = (generation) => randomRows(generation, count, dim);
    await index.add(range(count), rowsOf(0));
    const mine = readersOf(index);
    const workers = await Promise.all(range(20).map(() => startSearching(index)));
    await index.upsert(range(count), rowsOf(1));
    const kept = index.snapshot();
    const keptFinds = plain(kept.search(query, { k: 50 }));
    let generation = 1;
    let ending = true;
    const writing = (async () => {
      while (ending) await index.upsert(range(count), rowsOf(++generation));
    })();
    expect(index.stats()).toMatchObject({ readers: mine + 1 + 2 * workers.length });
    // Negative control: the oldest version that is held is theirs, not this realm's.
    expect(index.stats().oldestSequence).toBeLessThan(kept.sequence);
    await Promise.all(workers.map((worker) => worker.terminate()));
    await vi.waitUntil(() => readersOf(index) === mine + 1, patience);
    ending = false;
    await writing;
    const searches = workers.map((worker) => worker.searches());

    // What living readers hold stays, and nothing else.
    await index.upsert(range(count), rowsOf(++generation));
    const { bytes, oldestSequence } = index.stats();
    expect(oldestSequence).toBe(kept.sequence);
    expect(bytes.retired).toBeGreaterThan(0);
    expect(plain(kept.search(query, { k: 50 }))).toEqual(keptFinds);
    await kept.close();
    await index.upsert([1], row(rowsOf(generation), dim, 1));
    await vi.waitUntil(() => index.stats().bytes.retired === 0, patience);

    expect(index.stats().slotsRetired).toBe(inNode ? 0 : 2 * workers.length);
    const fresh = await createWith({ dim }, { threads: false });
    await fresh.add(range(count), rowsOf(generation));
    const expected = plain(fresh.search(query, { k: 50, exhaustive: true }));
    const readers = await Promise.all(range(60).map(() => VectorIndex.attach(index.share())));
    expect(readersOf(index)).toBe(mine + readers.length);
    for (const reader of [index, ...readers]) {
      expect(plain(reader.search(query, { k: 50, exhaustive: true }))).toEqual(expected);
    }
    await Promise.all(readers.map((reader) => reader.close()));
    expect(readersOf(index)).toBe(mine);
    expect(workers.map((worker) => worker.searches())).toEqual(searches);
  });

  test('a realm that left and came back lives', async () => {
    const index = await create();
    await index.add(range(count), rows);
    const mine = readersOf(index);
    const worker = await startWorker();
    for (let i = 0; i < 5; ++i) {
      await worker.call('attach', index.share());
      await worker.call('close');
    }
    await worker.call('attach', index.share());
    for (let i = 0; i < 20; ++i) {
      await index.upsert(range(count), rows);
      await worker.call('search', query, {});
      expect(readersOf(index)).toBe(mine + 1);
    }
    await worker.terminate();
    await vi.waitUntil(() => readersOf(index) === mine, patience);
  });

  test('a worker that was ended while a worker of its own searched for it', async () => {
    const index = await create();
    await index.add(range(count), rows);
    const mine = readersOf(index);
    const worker = await startWorker();
    await worker.call('attach', index.share());
    await worker.call('searchAsync', query, {});
    for (let i = 0; i < 50; ++i) void worker.call('searchAsync', query, { k: count });
    await worker.terminate();
    await vi.waitUntil(() => readersOf(index) === mine, patience);
    await index.upsert(range(count), rows);
    expect(index.search(query, { k: 1 }).ids[0]).toBe(7);
  });

  test('an index whose owner was ended: its readers go on, and more may attach', async () => {
    const owner = await startWorker();
    const handle = await owner.call('own', { dim }, { maxBytes: 2 ** 26 }, range(count), rows);
    const before = await VectorIndex.attach(handle);
    const other = await startWorker();
    await other.call('attach', handle);
    await owner.terminate();
    const after = await VectorIndex.attach(handle);
    const late = await startWorker();
    await late.call('attach', handle);
    for (const reader of [before, after]) {
      expect(reader.size).toBe(count);
      expect(reader.search(query, { k: 1 }).ids[0]).toBe(7);
      expect((await reader.searchAsync(query, { k: 1 })).ids[0]).toBe(7);
      expect(reader.stats().size).toBe(count);
      const snapshot = reader.snapshot();
      expect(snapshot.has(7)).toBe(true);
      await snapshot.close();
    }
    for (const worker of [other, late]) {
      expect((await worker.call('search', query, { k: 1 })).ids[0]).toBe(7);
      await worker.call('close');
      await worker.terminate();
    }
    await Promise.all([before.close(), after.close()]);
    expect((await errorOf(() => before.search(query))).code).toBe('CLOSED');
  });

  test('our own worker for searches: its calls fail, the readers it had come back', async () => {
    const index = await create();
    await index.add(range(count), rows);
    const mine = readersOf(index);
    const snapshot = index.snapshot();
    const worker = catchWorker();
    await index.searchAsync(query);
    for (let round = 0; round < 2; ++round) {
      const ours = round === 0 ? await worker : await catchWorker(() => index.searchAsync(query));
      const calls = range(200).flatMap(() => [index.searchAsync(query, { k: count }),
        snapshot.searchAsync(query, { k: count })]);
      const ended = Promise.allSettled(calls);
      ours.terminate();
      for (const { reason } of await ended) if (reason) expect(reason.code).toBe('IO');
      await vi.waitUntil(() => readersOf(index) === mine + 1, patience);
    }
    expect((await index.searchAsync(query, { k: 1 })).ids[0]).toBe(7);
    await snapshot.close();
  });
});

test.runIf(inNode)('more deaths than there is room for realms', async () => {
  const index = await create();
  await index.add(range(count), rows);
  const handle = index.share();
  const { realms, realmCount } = handle.heap.layout;
  const words = new Int32Array(handle.heap.memory.buffer);
  const left = 2;
  const taken = range(realmCount - 1, 1).map((record) => (realms >>> 2) + 4 * record)
    .filter((at) => Atomics.load(words, at) === 0).slice(left);
  for (const at of taken) Atomics.store(words, at, -1);
  const mine = readersOf(index);
  for (let i = 0; i < left + 20; ++i) {
    const worker = await startWorker();
    await worker.call('attachAndLeave', handle, query);
    await worker.terminate();
    await vi.waitUntil(() => readersOf(index) === mine, patience);
  }
  const workers = await Promise.all(range(left).map(startWorker));
  for (const worker of workers) await worker.call('attach', handle);
  const late = await startWorker();
  expect(await errorOf(() => late.call('attach', handle))).toMatchObject({ code: 'BUSY' });
  await Promise.all([...workers, late].map((worker) => worker.terminate()));
  for (const at of taken) Atomics.store(words, at, 0);
});
