// A writer's worker that is ended in the middle of its work is replaced: every write has its
// outcome, once, and searches go on.
import { describe, expect, test, vi } from 'vitest';
import { create as createWith, errorOf, plain } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';
import { catchWriters, inNode } from './support/workers.mjs';

const dim = 16;
// Until so many died in the middle of their work, or for so many rounds. A browser lets a worker
// that was terminated go on for two seconds, and ours has nothing left to do by then.
const [deaths, roundsMax] = inNode ? [4, 40] : [Infinity, 3];
const each = 20_000;
const unknown = range(10_000, 2 ** 40);
const patience = { timeout: 30_000, interval: 2 };
const create = () => createWith({ dim }, { maxBytes: 2 ** 28 });

/** The rows of a write, each of its own. */
const rowsOf = (write, count = each) => randomRows(100 + write, count, dim);
const idsOf = (write, count = each) => range(count, write * each);

function end(worker) {
  worker.terminate();
  worker.dispatchEvent?.(new Event('error'));  // a browser does not tell
}

describe('a writer that is ended', () => {
  test('is replaced: adds under way arrive exactly once, searches go on', async () => {
    const writers = await catchWriters();
    const index = await create();
    await index.add(idsOf(0), rowsOf(0));
    const query = row(rowsOf(0), dim, 7);
    const snapshot = index.snapshot();
    const before = plain(snapshot.search(query, { k: 20 }));
    const adds = [];
    for (let round = 1; index.stats().writersReplaced < deaths && round <= roundsMax; ++round) {
      await new Promise((onSubmit) => {
        adds.push(index.add(idsOf(round), rowsOf(round), {
          onProgress: ({ done, total }) => done === total && setTimeout(onSubmit, 0),
        }));
      });
      const next = index.remove([round * each - 1]);
      // Work for a while: ids that nobody has.
      const more = range(40).map(() => index.remove(unknown));
      while (index.stats().ringDepth > 20) { /* soon */ }
      end(writers.at(-1));
      const { ids } = index.search(query, { k: 1 });
      expect(ids[0]).toBe(7);
      expect(plain(snapshot.search(query, { k: 20 }))).toEqual(before);
      await adds.at(-1);
      for (const { removed } of await Promise.all(more)) expect(removed).toBe(0);
      expect((await next).removed).toBe(1);
      await vi.waitUntil(() => writers.length === round + 1, patience);
    }
    const receipts = await Promise.all(adds);
    expect(receipts.map(({ count }) => count)).toEqual(adds.map(() => each));
    const sequences = receipts.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
    expect(index.size).toBe((adds.length + 1) * each - adds.length);
    // Every row is there as it was given, and none twice.
    for (let write = 0; write <= adds.length; ++write) {
      const rows = rowsOf(write);
      for (let i = 0; i < each - 1; i += 997) {
        const found = index.search(row(rows, dim, i), { k: 2 });
        expect(found.ids[0]).toBe(write * each + i);
        expect(found.ids[1]).not.toBe(write * each + i);
      }
    }
    expect((await index.remove(idsOf(0))).removed).toBe(each - 1);
    if (inNode) {
      expect(index.stats().writersReplaced).toBeGreaterThan(0);
      expect(index.stats().bytes.leaked).toBeGreaterThan(0);
    }
    await snapshot.close();
  }, 120_000);

  test('without work is replaced, too, and the next write finds its successor', async () => {
    const writers = await catchWriters();
    const index = await create();
    for (let round = 0; round < 3; ++round) {
      end(writers.at(-1));
      await index.upsert([round], rowsOf(round, 1));
      expect(index.size).toBe(round + 1);
      await vi.waitUntil(() => writers.length === round + 2, patience);
    }
  }, 120_000);

  test('is not replaced for ever: without an outcome in between, writes are IO', async () => {
    const writers = await catchWriters((worker) => setTimeout(end, 0, worker), 1);
    const index = await create();
    // It may be done before.
    const add = index.add(idsOf(0), rowsOf(0)).catch(({ code }) => expect(code).toBe('IO'));
    end(writers[0]);
    await vi.waitUntil(() => writers.length === 3, patience);
    await add;
    expect(await errorOf(async () => {
      for (let i = 0; ; ++i) await index.upsert([1], rowsOf(i, 1));
    })).toMatchObject({ code: 'IO' });
    expect(writers).toHaveLength(3);
    index.search(row(rowsOf(0), dim, 7), { k: 1 });
    await index.close();
  }, 120_000);
});
