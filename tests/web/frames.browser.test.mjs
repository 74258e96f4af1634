// A page whose main thread searches in each frame waits for nobody, whatever becomes of the writer.
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { VectorIndex } from 'vicinal';
import { FrameLoop } from '../../examples/frames/frame_loop.mjs';
import { create, plain } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';

const dim = 16;
const maxBytes = 2 ** 26;
const patience = { timeout: 30_000, interval: 2 };
/** No frame of a page that lives is longer than this, on the slowest machine. */
const kHangMs = 20_000;

// A module with a memory that others share, and a function that waits in it for a millisecond.
const kWaiting = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 9, 1, 1, 109, 1, 109, 2, 3, 1, 1, 3, 2, 1, 0,
  7, 5, 1, 1, 119, 0, 0, 10, 17, 1, 15, 0, 65, 0, 65, 0, 66, 192, 132, 61, 254, 1, 2, 0, 26, 11,
]);

/** What a thread can wait with or for, called on this one. */
const waits = [];

function watch(object, name, what = name) {
  const original = object[name];
  vi.spyOn(object, name).mockImplementation((...args) => {
    waits.push(what);
    return Reflect.apply(original, object, args);
  });
}

beforeEach(() => {
  watch(Atomics, 'wait');
  watch(Atomics, 'waitAsync');
  watch(navigator.locks, 'request', 'locks.request');
  waits.length = 0;
});

afterEach(() => vi.restoreAllMocks());

/** Runs `count` frames; each of them has searched before it ended. */
async function runFrames(reader, queries, count, options = {}) {
  waits.length = 0;
  const seen = [];
  let loop;
  await new Promise((resolve, reject) => {
    const onFrame = ({ hits, sequence, longestSearchMs, longestTaskMs }) => {
      // Both of the frames so far, this one included: a search is a part of its task.
      if (longestSearchMs > longestTaskMs) reject(new Error('a search longer than its task'));
      seen.push({ sequence, found: plain(hits) });
      if (seen.length === count) resolve();
    };
    window.addEventListener('error', ({ error }) => reject(error), { once: true });
    loop = new FrameLoop(reader, queries, { k: 5, onFrame, ...options });
    loop.start();
  });
  loop.stop();
  expect(loop.figures.frames).toBe(count);
  expect(loop.figures.longestFrameMs).toBeLessThan(kHangMs);
  expect(waits).toEqual([]);
  return { ...loop.figures, seen };
}

/** An index whose writer can be made to stand still where it reads its clock. */
async function createStalled() {
  const words = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(new URL('./support/stalled_writer.mjs', import.meta.url),
    { type: 'module' });
  worker.postMessage({ stall: words });
  onTestFinished(() => worker.terminate());
  const index = await create({ dim }, { worker, maxBytes });
  const wake = () => {
    Atomics.store(words, 1, 0);
    Atomics.notify(words, 1);
  };
  onTestFinished(wake);
  const asleep = () => vi.waitUntil(() => Atomics.load(words, 1) === 1, patience);
  return {
    index,
    wake,
    /** Asleep at the next reading of the clock, whatever the reason for it. */
    stall() {
      Atomics.store(words, 0, 1);
      return asleep();
    },
    /** Lets it go as far as `readings` more. */
    advance(readings) {
      Atomics.store(words, 0, readings);
      wake();
      return asleep();
    },
  };
}

describe('frames', () => {
  test('negative control: what would wait is noticed, or cannot run on this thread', () => {
    const words = new Int32Array(new SharedArrayBuffer(4));
    expect(() => Atomics.wait(words, 0, 0, 1)).toThrow();
    void navigator.locks.request('vicinal test', () => undefined);
    expect(waits).toEqual(['wait', 'locks.request']);
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    const { exports } = new WebAssembly.Instance(
      new WebAssembly.Module(kWaiting), { m: { m: memory } });
    expect(() => exports.w()).toThrow(WebAssembly.RuntimeError);
  });

  test.for([0, 1, 2, 3])('the writer stands still in a commit, %i of 3 writes applied', async (
    applied) => {
    const { index, stall, advance, wake } = await createStalled();
    const rows = randomRows(1, 200, dim);
    await index.add(range(200), rows);
    const queries = range(8).map((i) => row(rows, dim, i));
    const { sequence } = index;
    const before = queries.map((query) => plain(index.search(query, { k: 5 })));
    await stall();  // at the beginning of a batch
    const writes = [
      index.upsert(range(200), randomRows(2, 200, dim)),
      index.add(range(300, 200), randomRows(3, 300, dim)),
      index.remove(range(50)),
    ];
    let done = 0;
    for (const write of writes) write.then(() => { ++done; });
    await vi.waitUntil(() => index.stats().ringDepth === 3, patience);
    // The clock is read after each write, before the version of all three is published.
    if (applied > 0) await advance(applied);
    expect(index.stats().ringDepth).toBe(3 - applied);
    const { seen } = await runFrames(index, queries, 30);
    for (const [i, frame] of seen.entries()) {
      expect(frame).toEqual({ sequence, found: before[i % queries.length] });
    }
    // Everything that reads, and what a write does on this thread.
    expect(index).toMatchObject({ size: 200, sequence });
    expect([index.has(3), index.has(300), index.get(3).length]).toEqual([true, false, dim]);
    const snapshot = index.snapshot();
    expect(snapshot.searchBatch(queries, { k: 5 }).map(plain)).toEqual(before);
    const reader = await VectorIndex.attach(index.share());
    expect(plain(reader.search(queries[0], { k: 5, filter: range(200) }))).toEqual(before[0]);
    const late = index.upsert([1000], row(rows, dim, 0));
    expect(index.sequence).toBe(sequence);
    expect(done).toBe(0);
    await Promise.all([snapshot.close(), reader.close()]);

    wake();
    await Promise.all([...writes, late]);
    expect(index.size).toBe(451);
    expect(index.sequence).toBeGreaterThan(sequence);
    expect(plain(index.search(queries[0], { k: 1 })).ids).toEqual([1000]);
  });

  test('a worker adds without pause, and is ended in the middle of it', async () => {
    const queries = range(8).map((i) => randomRows(i, 1, dim));
    for (let round = 0; round < 4; ++round) {
      const worker = new Worker(new URL('../../examples/frames/adding_worker.mjs', import.meta.url),
        { type: 'module' });
      onTestFinished(() => worker.terminate());
      const handle = new Promise((resolve) => {
        worker.addEventListener('message', ({ data }) => resolve(data.handle), { once: true });
      });
      worker.postMessage({ start: { dim, batch: 500, rowsMax: 10_000, maxBytes } });
      const reader = await VectorIndex.attach(await handle);
      await vi.waitUntil(() => reader.size >= 1000, patience);
      const seen = [];
      // Until the worker had its turn beside them, which is the scheduler's business.
      for (let versions = 0, runs = 0; versions < 2; ++runs) {
        expect(runs).toBeLessThan(50);
        const run = await runFrames(reader, queries, 40);
        seen.push(...run.seen);
        versions = run.versions;
      }
      worker.terminate();
      const after = await runFrames(reader, queries, 40);
      expect(after.seen[0].sequence).toBeGreaterThanOrEqual(seen.at(-1).sequence);
      expectVersions([...seen, ...after.seen], queries.length);
      await reader.close();
    }
  });
});

/** A version answers a query with as many rows as are wanted, and always with the same. */
function expectVersions(seen, queryCount) {
  const answers = new Map();
  for (const [i, { sequence, found }] of seen.entries()) {
    const name = `${sequence} ${i % queryCount}`;
    expect(found.ids.length).toBe(5);
    expect(found, name).toEqual(answers.get(name) ?? found);
    answers.set(name, found);
  }
}
