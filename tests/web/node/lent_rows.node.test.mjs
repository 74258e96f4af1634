// What lent_rows.ts does where memory or workers give out, against a core and an encoder that do
// what they are told.
import { expect, test } from 'vitest';
import { LentRows, kBlockBytes } from '../../../dist/write/lent_rows.js';
import { VicinalError } from '../../../dist/errors.js';

const dim = 1024;
const blockRows = kBlockBytes / (4 * dim);
const kOk = { code: 0, a: 0n, b: 0n };
const kFull = { code: 10, a: 1n, b: 0n };
const ticks = () => new Promise((resolve) => setTimeout(resolve));

/** Memory of so many blocks; which rows were encoded, and by whom. */
function world(room = 100) {
  const free = Array.from({ length: room }, (_, i) => 64 * (i + 1));
  const blocks = new Map();
  const calls = [];
  const seen = { here: [], counted: 0, released: [], freed: [], backs: 0 };
  const backend = {
    allocate(bytes) {
      const address = free.pop();
      if (address === undefined) throw new VicinalError('FULL', `no memory for ${bytes} bytes`);
      expect(bytes).toBe(kBlockBytes);
      blocks.set(address, new Float32Array(blockRows * dim));
      return address;
    },
    release(address) {
      expect(blocks.delete(address)).toBe(true);
      seen.freed.push(address);
      free.push(address);
    },
    coordinates: (address) => blocks.get(address),
    staging: () => backend.area,
    area: new Float32Array(16 * dim),
    stagingRows: () => 16,
    encode(_message, first, rows) {
      for (let i = 0; i < rows; ++i) {
        expect(backend.area[i * dim]).toBe(first + i);
        seen.here.push(first + i);
      }
    },
    countEncoded(_message, rows) {
      seen.counted += rows;
    },
    releaseMessage: (message) => seen.released.push(message),
  };
  let death;
  const encoder = {
    encode: (rows, onPosted) => new Promise((resolve, reject) => {
      calls.push({ rows, onPosted, resolve, reject });
    }),
    deathOf: () => death?.promise,
  };
  const lent = new LentRows(backend, encoder, dim, () => { ++seen.backs; });
  return {
    lent, calls, seen, blocks, backend,
    /** The worker of the calls so far ends; proof() makes it known. */
    end() {
      const error = new VicinalError('IO', 'ended');
      death = {};
      death.promise = new Promise((resolve) => { death.resolve = resolve; });
      for (const call of calls.splice(0)) {
        call.onPosted();
        call.reject(error);
      }
      return death.resolve;
    },
  };
}

function filling(count, message = 8) {
  return {
    message, count, read: 0, encoded: 0, before: 0,
    rows: {
      read(first, rows, target) {
        for (let i = 0; i < rows; ++i) target[i * dim] = first + i;
      },
    },
  };
}

test('at most 8 blocks are lent, and the next rows are copied when one is back', async () => {
  const { lent, calls, seen, blocks } = world();
  const job = filling(20 * blockRows);
  expect(lent.worthwhile(job.count)).toBe(true);
  expect(lent.worthwhile(blockRows)).toBe(false);
  expect(lent.fill(job)).toBe('wait');
  expect([calls.length, blocks.size, job.read]).toEqual([8, 8, 8 * blockRows]);
  expect(lent.fill(job)).toBe('wait');
  expect(calls.length).toBe(8);
  calls.shift().resolve(kOk);
  await ticks();
  expect([seen.backs, seen.counted, job.encoded]).toEqual([1, blockRows, blockRows]);
  expect(lent.fill(job)).toBe('wait');
  expect([calls.length, blocks.size, job.read]).toEqual([8, 8, 9 * blockRows]);
  while (job.encoded < job.count) {
    for (const call of calls.splice(0)) call.resolve(kOk);
    await ticks();
    expect(lent.fill(job)).toBe(job.encoded < job.count ? 'wait' : 'whole');
  }
  expect([seen.counted, seen.here, blocks.size]).toEqual([job.count, [], 0]);
});

test('without memory for a block rows are encoded here, and nobody waits', async () => {
  const { lent, calls, seen } = world(1);
  const job = filling(3 * blockRows);
  expect(lent.worthwhile(job.count)).toBe(true);
  expect(lent.fill(job)).toBe('wait');  // one block, and one is enough
  expect(calls.length).toBe(1);
  calls.shift().resolve(kOk);
  await ticks();
  expect(lent.fill(job)).toBe('wait');
  calls.shift().resolve(kFull);  // the worker has no memory
  await ticks();
  expect(lent.fill(job)).toBe('again');
  expect(seen.here).toEqual(Array.from({ length: blockRows }, (_, i) => blockRows + i));
  expect(lent.fill(job)).toBe('wait');
  calls.shift().resolve(kOk);
  await ticks();
  expect(lent.fill(job)).toBe('whole');
  const none = world(0);
  expect(none.lent.worthwhile(job.count)).toBe(false);
  const taken = world(1);
  expect(taken.lent.worthwhile(job.count)).toBe(true);
  taken.lent.releaseMessage(1);  // gives blocks back that nobody uses
  taken.backend.allocate(kBlockBytes);
  const other = filling(2 * blockRows);
  expect(taken.lent.fill(other)).toBe('again');
  expect(taken.lent.fill(other)).toBe('whole');
  expect(taken.seen.here.length).toBe(other.count);
});

test('what a dead worker was lent is nobody\'s before the proof of its death', async () => {
  const { lent, calls, seen, blocks, end } = world();
  const job = filling(3 * blockRows);
  lent.fill(job);
  calls.shift().resolve(kOk);
  await ticks();
  const proof = end();
  await ticks();
  expect(lent.fill(job)).toBe('again');
  expect(lent.fill(job)).toBe('whole');
  expect(seen.here.length).toBe(2 * blockRows);
  expect(seen.counted).toBe(blockRows);
  lent.releaseMessage(job.message);
  const next = filling(2 * blockRows, 9);
  const kept = [...blocks.keys()];
  expect(kept.length).toBe(2);
  expect(lent.fill(next)).toBe('wait');
  for (const call of calls.splice(0)) {
    expect(kept).not.toContain(call.rows.vectors);
    call.resolve(kOk);
  }
  await ticks();
  expect(lent.fill(next)).toBe('whole');
  lent.releaseMessage(next.message);
  await ticks();
  expect([seen.released, [...blocks.keys()]]).toEqual([[9], kept]);
  proof(true);
  await ticks();
  expect([seen.released, blocks.size]).toEqual([[9, 8], 0]);
});

test('a write that was given up keeps its message until its rows are back', async () => {
  const { lent, calls, seen, blocks } = world();
  const job = filling(2 * blockRows);
  lent.fill(job);
  lent.releaseMessage(job.message);
  expect(seen.released).toEqual([]);
  calls.shift().resolve(kOk);
  await ticks();
  expect(seen.released).toEqual([]);
  calls.shift().resolve({ code: 2, a: 3n, b: 4n });  // a bad row concerns nobody any more
  await ticks();
  expect([seen.released, seen.counted, blocks.size]).toEqual([[8], 0, 0]);
});

test('after three ends without an answer between them nothing is lent any more', async () => {
  const { lent, calls, seen, end } = world();
  const job = filling(40 * blockRows);
  /** What is to be done now; how the last step ends. */
  const goOn = () => {
    let step = 'again';
    for (let i = 0; step === 'again' && i < 100; ++i) step = lent.fill(job);
    return step;
  };
  for (let i = 0; i < 2; ++i) {
    expect(goOn()).toBe('wait');
    end();
    await ticks();
  }
  expect(goOn()).toBe('wait');
  calls.shift().resolve(kOk);  // it counts anew
  await ticks();
  for (let i = 0; i < 3; ++i) {
    expect(goOn()).toBe('wait');
    expect(calls.length).toBeGreaterThan(0);
    end();
    await ticks();
  }
  expect([goOn(), calls.length]).toEqual(['whole', 0]);
  expect(seen.here.length + seen.counted).toBe(job.count);
  expect(new Set(seen.here).size).toBe(seen.here.length);
  expect(lent.worthwhile(100 * blockRows)).toBe(false);
});
