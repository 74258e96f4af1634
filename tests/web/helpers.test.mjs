// Workers that help long searches: the same results, whoever helps and whatever becomes of them.
import { describe, expect, test, vi } from 'vitest';
import { backends, create, errorOf, plain } from './support/backends.mjs';
import { range } from './support/random.mjs';
import { catchPosts, catchWorkers } from './support/workers.mjs';

const dim = 256;
const count = 8192;
// So many queries at once read 4 MiB of signs, enough to ask for help; one alone does not.
const batch = 16;
const patience = { timeout: 30_000, interval: 2 };
const [{ load }] = backends;

/** Cheap rows, all different. */
function rowsOf(rows, seed) {
  let state = seed;
  return Float32Array.from({ length: rows * dim }, () => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    return state / 2 ** 31;
  });
}

const rows = rowsOf(count, 1);

async function filled(threads) {
  const index = await create({ dim }, { ...load, threads });
  await index.add(range(count), rows);
  return index;
}

/** Batches until helpers have done a part of one: when they wake is the platform's business. */
async function searchUntilHelped(index, seed) {
  const before = index.stats().chunksHelped;
  await vi.waitFor(() => {
    const queries = rowsOf(batch, seed);
    const together = index.searchBatch(queries);
    for (let i = 0; i < batch; ++i) {
      const alone = index.search(queries.subarray(i * dim, (i + 1) * dim));
      expect(plain(together[i])).toEqual(plain(alone));
    }
    expect(index.stats().chunksHelped).toBeGreaterThan(before);
  }, patience);
}

describe('an index with helpers', () => {
  test('finds what it finds alone, and counts who helped', async () => {
    const index = await filled(2);
    expect(index.stats()).toMatchObject({ helpers: 2, searchesShared: 0, chunksHelped: 0 });
    await searchUntilHelped(index, 2);
    expect(index.stats().searchesShared).toBeGreaterThan(0);
  });

  test('is the one that has none for everybody else', async () => {
    const index = await filled(0);
    index.searchBatch(rowsOf(batch, 3));
    expect(index.stats()).toMatchObject({ helpers: 0, searchesShared: 0, threads: true });
  });

  test('goes on while rows are replaced, and frees what nobody holds', async () => {
    const index = await filled(2);
    let writes = Promise.resolve();
    for (let round = 0; round < 12; ++round) {
      writes = index.upsert(range(200, round * 200), rowsOf(200, 100 + round));
      await searchUntilHelped(index, 4 + round);
    }
    await writes;
    await index.compact();
    expect(index.stats().size).toBe(count);
  });

  test('survives the end of a helper in the middle of its sleep or work', async () => {
    await catchWorkers(async (workers) => {
      const index = await filled(2);
      const all = workers.length;
      const helpers = workers.slice(1, 3);  // the writer's came first
      for (let i = 0; i < 2; ++i) {
        index.searchBatch(rowsOf(batch, 20 + i));
        helpers[i].terminate();
        index.searchBatch(rowsOf(batch, 30 + i));
      }
      await vi.waitFor(() => expect(workers.length).toBe(all + 2), patience);  // replaced
      await expectLife(index);
    });
  });

  async function expectLife(index) {
    await vi.waitFor(() => expect(index.stats().helpers).toBe(2), patience);
    await searchUntilHelped(index, 40);
    // Nothing is held in the names of the dead.
    for (let i = 0; i < 3; ++i) await index.upsert([i], rowsOf(1, i));
    await vi.waitFor(async () => {
      await index.upsert([1], rowsOf(1, 7));
      expect(index.stats().oldestSequence).toBe(index.stats().sequence);
    }, patience);
  }

  test('closes while they help', async () => {
    const { workers, result: index } = await catchWorkers(() => filled(2));
    expect(workers.length).toBeGreaterThanOrEqual(3);
    index.searchBatch(rowsOf(batch, 50));
    await index.close();
    expect((await errorOf(() => index.searchBatch(rowsOf(1, 1)))).code).toBe('CLOSED');
  });
});

test('a creation given up while helpers start tells no worker of the index then', async () => {
  const posted = await catchPosts('help');
  const writers = await catchPosts('write');
  // Given up in the very moment in which the helpers' start begins to listen for it: the writer's,
  // which has its job by then, has listened before.
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  signal.addEventListener = (...args) => {
    AbortSignal.prototype.addEventListener.apply(signal, args);
    if (writers.length > 0 && ++listeners === 2) controller.abort();
  };
  // A page opens workers at once, and may have told them before it is given up; not afterwards.
  let toldBefore;
  const { workers } = await catchWorkers(async () => {
    const error = await errorOf(() => create({ dim }, { ...load, threads: 2, signal }));
    expect(error.code).toBe('ABORTED');
    toldBefore = posted.length;
    // Another index, made of the same memory, whose helpers start afterwards.
    const index = await create({ dim }, { ...load, threads: 1 });
    await index.add([1], rowsOf(1, 1));
    expect(index.stats().helpers).toBe(1);
  });
  expect(listeners).toBe(2);
  expect(workers.length).toBeGreaterThanOrEqual(3);
  expect(posted.length - toldBefore).toBe(1);
});

test('helpers are as many as there may be, or none where there are no threads', async () => {
  for (const threads of [33, 1.5, -1]) {
    const error = await errorOf(() => create({ dim }, { ...load, threads }));
    expect(error).toMatchObject({ code: 'BAD_OPTION' });
    expect(error.message).toMatch(/^threads: /);
  }
  const controller = new AbortController();
  controller.abort();
  const aborted = errorOf(() => create({ dim }, { ...load, threads: 1,
    signal: controller.signal }));
  expect(await aborted).toMatchObject({ code: 'ABORTED' });
});
