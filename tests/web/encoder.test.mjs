// Large adds on a main thread: a worker encodes the rows, to the same bytes, whatever becomes of
// it.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { WasmBackend } from '../../dist/backend/wasm_backend.js';
import { bitsOf, create, errorOf } from './support/backends.mjs';
import { range } from './support/random.mjs';
import { catchWorker, startWorker } from './support/workers.mjs';

const inNode = globalThis.process?.versions?.node !== undefined;
const dim = 64;
const blockRows = 2 ** 18 / (4 * dim);  // what one slice copies
const blocksMax = 8;
const count = 6 * blockRows + 100;
const load = { maxBytes: 2 ** 27 };
const patience = { timeout: 30_000, interval: 2 };

/** Cheap rows, all different. */
function rowsOf(count, dim, seed = 1) {
  let state = seed;
  return Float32Array.from({ length: count * dim }, () => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    return state / 2 ** 31;
  });
}

const rows = rowsOf(count, dim);

/** Counts, until the test is over, the rows that this realm encodes and those that come back. */
function watchEncoding() {
  const seen = { here: 0, elsewhere: 0, largest: 0, blocks: 0, blocksMost: 0 };
  const { encode, countEncoded, allocate, release } = WasmBackend.prototype;
  const blocks = new Set();
  Object.assign(WasmBackend.prototype, {
    encode(message, first, rows, before) {
      seen.here += rows;
      return encode.call(this, message, first, rows, before);
    },
    countEncoded(message, rows) {
      seen.elsewhere += rows;
      seen.largest = Math.max(seen.largest, rows);
      return countEncoded.call(this, message, rows);
    },
    allocate(bytes) {
      const address = allocate.call(this, bytes);
      if (bytes > 2 ** 17) blocks.add(address);
      seen.blocksMost = Math.max(seen.blocksMost, blocks.size);
      return address;
    },
    release(address) {
      blocks.delete(address);
      return release.call(this, address);
    },
  });
  onTestFinished(() => {
    Object.assign(WasmBackend.prototype, { encode, countEncoded, allocate, release });
  });
  return Object.assign(seen, { left: () => blocks.size });
}

/** Everything that the bytes of the rows decide, in a number: FNV-1a over words. */
function contents(index, count, dim) {
  const query = rowsOf(1, dim, 9);
  const every = index.search(query, { k: count + 1, exhaustive: true });
  const skipping = index.search(query, { k: 20, certainty: 1 });
  let hash = 0x811c9dc5;
  const add = (words) => words.forEach((word) => { hash = Math.imul(hash ^ word, 0x01000193); });
  for (const { ids, scores } of [every, skipping]) {
    add(ids);
    add(bitsOf(scores));
  }
  for (let id = 0; id < count; ++id) add(bitsOf(index.get(id)));
  return [every.length, hash];
}

/** The same rows in writes that are too small for a worker. */
async function addInPieces(index, rows, count, dim) {
  const piece = Math.floor(2 ** 16 / dim);
  for (let at = 0; at < count; at += piece) {
    const end = Math.min(count, at + piece);
    await index.add(range(end - at, at), rows.subarray(at * dim, end * dim));
  }
}

describe('the encoder of a main thread', () => {
  test('50,000 rows at once: none is encoded here, slices and blocks are bounded', async () => {
    const [many, wide] = [50_000, 128];
    const index = await create({ dim: wide }, { maxBytes: 2 ** 28 });
    const seen = watchEncoding();
    const input = rowsOf(many, wide);
    const ids = range(many);
    let turns = 0;
    let added = false;
    const adding = index.add(ids, input).finally(() => { added = true; });
    while (!added) {
      await new Promise((resolve) => setTimeout(resolve));
      ++turns;
      index.search(input.subarray(0, wide), { k: 3 });
    }
    expect(await adding).toEqual({ sequence: 1, count: many });
    expect(seen).toMatchObject({ here: 0, elsewhere: many, largest: 2 ** 18 / (4 * wide) });
    expect(seen.blocksMost).toBeLessThanOrEqual(blocksMax);
    expect(seen.left()).toBe(0);
    expect(turns).toBeGreaterThan(1);
    for (const id of [0, 511, 512, 4096, many - 1]) {
      expect(index.search(input.subarray(id * wide, (id + 1) * wide), { k: 1 }).ids[0]).toBe(id);
    }
  });

  test('what fits a slice is encoded where it is', async () => {
    const index = await create({ dim }, load);
    const seen = watchEncoding();
    await index.add(range(blockRows), rows.subarray(0, blockRows * dim));
    expect(seen).toMatchObject({ here: blockRows, elsewhere: 0, blocksMost: 0 });
    await index.upsert(range(blockRows + 1), rows.subarray(0, (blockRows + 1) * dim));
    expect(seen).toMatchObject({ here: blockRows, elsewhere: blockRows + 1 });
  });

  test('without threads every row is encoded here, in slices', async () => {
    const index = await create({ dim }, { ...load, threads: false });
    const seen = watchEncoding();
    await index.add(range(count), rows);
    expect(seen).toMatchObject({ here: count, elsewhere: 0 });
  });

  test.each([
    ['cosine', 4, false], ['cosine', 1, true], ['l2', 8, true], ['ip', 3, false], ['l2', 2, false],
  ])('%s, %i bits, calibrated %s: the same bytes as rows encoded here', async (
    metric, bits, calibrated,
  ) => {
    const [left, right] = await Promise.all([1, 2].map(() => create({ dim, metric, bits }, load)));
    const seen = watchEncoding();
    if (calibrated) {
      await Promise.all([left, right].map((index) => index.calibrate(rows.slice(0, 200 * dim))));
    }
    seen.here = 0;
    await left.add(range(count), rows);
    expect(seen).toMatchObject({ here: 0, elsewhere: count });
    await addInPieces(right, rows, count, dim);
    expect(seen).toMatchObject({ here: count, elsewhere: count });
    expect(contents(left, count, dim)).toEqual(contents(right, count, dim));
    // Negative control: the comparison sees one coordinate.
    const other = rows.slice(0, dim);
    other[3] += 0.5;
    await right.upsert([0], other);
    expect(contents(left, count, dim)).not.toEqual(contents(right, count, dim));
  });

  test('a worker that writes encodes its own rows, to the same bytes', async () => {
    const index = await create({ dim }, load);
    const seen = watchEncoding();
    await index.add(range(count), rows);
    expect(seen.elsewhere).toBe(count);
    const worker = await startWorker();
    const query = rowsOf(1, dim, 9);
    const there = await worker.call('fill', { dim }, load, range(count), rows, query);
    expect(there.counts).toEqual({ here: count, elsewhere: 0 });
    const here = index.search(query, { k: count });
    expect(Array.from(there.ids)).toEqual(Array.from(here.ids));
    expect(bitsOf(there.scores)).toEqual(bitsOf(here.scores));
    await worker.terminate();
  });

  test('the caller may change and transfer its arrays when the call has returned', async () => {
    const [left, right] = await Promise.all([1, 2].map(() => create({ dim }, load)));
    await right.add(range(count), rows);
    const mine = rows.slice();
    const ids = range(count);
    const write = left.add(ids, mine);
    mine.fill(7);
    ids.fill(3);
    structuredClone(mine, { transfer: [mine.buffer] });
    await write;
    expect(contents(left, count, dim)).toEqual(contents(right, count, dim));
  });

  test('a bad row is named, the first of two, and nothing is changed', async () => {
    const index = await create({ dim }, load);
    await index.add([7], rows.subarray(0, dim));
    const seen = watchEncoding();
    for (const [bad, later] of [[0, 1], [2 * blockRows + 17, 5 * blockRows], [count - 1]]) {
      const input = rows.slice();
      input[bad * dim + 5] = Number.NaN;
      if (later) input[later * dim + 6] = Infinity;
      const error = await errorOf(() => index.upsert(range(count), input));
      expect([error.code, error.landed]).toEqual(['NOT_FINITE', undefined]);
      expect(error.message).toContain(`coordinate 5 of row ${bad} `);
      expect([index.size, index.sequence]).toEqual([1, 1]);
    }
    expect(seen.here).toBe(0);
    await index.upsert(range(count), rows);
    expect(index.size).toBe(count);
    expect(seen.left()).toBe(0);
  });

  test('writes are applied in the order of the calls, large and small', async () => {
    const index = await create({ dim }, load);
    const writes = [
      index.add(range(count), rows),
      index.upsert([5], rows.subarray(9 * dim, 10 * dim)),
      index.remove(range(100, 1000)),
      index.upsert(range(count), rows),
      index.remove([5]),
      index.add([5], rows.subarray(11 * dim, 12 * dim)),
    ];
    const receipts = await Promise.all(writes);
    expect(receipts.map((receipt) => receipt.count)).toEqual([count, 1, 100, count, 1, 1]);
    for (let i = 1; i < receipts.length; ++i) {
      expect(receipts[i].sequence).toBeGreaterThanOrEqual(receipts[i - 1].sequence);
    }
    expect(index.size).toBe(count);
    expect(Array.from(index.search(rows.subarray(11 * dim, 12 * dim), { k: 2 }).ids).sort())
      .toEqual([11, 5]);
  });

  test('two indexes at once', async () => {
    const [left, right] = await Promise.all([1, 2].map(() => create({ dim }, load)));
    await Promise.all([left.add(range(count), rows), right.add(range(count), rows)]);
    expect(contents(left, count, dim)).toEqual(contents(right, count, dim));
  });

  test('aborted again and again: ABORTED, nothing changed, no memory lost', async () => {
    const index = await create({ dim }, { maxBytes: 2 ** 24 });
    const seen = watchEncoding();
    for (let i = 0; i < 40; ++i) {
      const abort = new AbortController();
      const onProgress = ({ done }) => {
        if (done >= (i % 4) * blockRows) abort.abort();
      };
      const error = await errorOf(
        () => index.add(range(count), rows, { signal: abort.signal, onProgress }));
      expect(error.code).toBe('ABORTED');
      expect(index.size).toBe(0);
    }
    await index.add(range(count), rows);
    expect(index.size).toBe(count);
    await vi.waitUntil(() => seen.left() === 0, patience);
  });

  test('close waits for rows that are on their way', async () => {
    const index = await create({ dim }, load);
    const write = index.add(range(count), rows);
    const closing = index.close();
    expect(await write).toMatchObject({ count });
    await closing;
    expect((await errorOf(() => index.add([1], [[1]]))).code).toBe('CLOSED');
  });

  test('progress tells the rows that are encoded', async () => {
    const index = await create({ dim }, load);
    const told = [];
    const onProgress = ({ done, total }) => told.push([done, total]);
    await index.add(range(count), rows, { onProgress });
    expect(told.every(([done, total], i) => total === count && done >= (told[i - 1]?.[0] ?? 0)))
      .toBe(true);
    expect(told.at(-1)).toEqual([count, count]);
    expect(told.length).toBeGreaterThan(3);
  });
});

describe('the end of the encoder', () => {
  test('ended in the middle, three times: every write goes through, right', async () => {
    const many = 30 * blockRows;
    const manyRows = rowsOf(many, dim);
    const expected = await create({ dim }, load);
    await addInPieces(expected, manyRows, many, dim);
    const wanted = contents(expected, many, dim);
    let encoder;
    for (let round = 0; round < 3; ++round) {
      const index = await create({ dim }, load);
      const seen = watchEncoding();
      encoder ??= catchWorker();
      let next;
      const ended = vi.waitUntil(() => seen.elsewhere > 0, { timeout: 30_000, interval: 1 })
        .then(async () => {
          const worker = await encoder;
          next = catchWorker();
          worker.terminate();
        });
      const write = index.add(range(many), manyRows);
      const behind = index.upsert([3], manyRows.subarray(3 * dim, 4 * dim));
      expect(await write).toMatchObject({ count: many });
      await ended;
      await behind;
      expect(seen.here + seen.elsewhere).toBe(many + 1);
      expect(contents(index, many, dim)).toEqual(wanted);
      await index.clear();
      const before = seen.elsewhere;
      await index.add(range(many), manyRows);
      expect(seen.elsewhere).toBe(before + many);  // by the next one
      encoder = next;
      await vi.waitUntil(() => seen.left() === 0, patience);  // on the proof of its death
    }
  });

  test.runIf(!inNode)('one that cannot be started: this realm encodes', async () => {
    const index = await create({ dim }, { maxBytes: 2 ** 27 + 1 });
    const seen = watchEncoding();
    const { Worker } = globalThis;
    globalThis.Worker = class {
      constructor() {
        throw new Error('no worker');
      }
    };
    try {
      await index.add(range(count), rows);
    } finally {
      globalThis.Worker = Worker;
    }
    expect(seen).toMatchObject({ here: count, elsewhere: 0 });
    expect(index.size).toBe(count);
  });
});
