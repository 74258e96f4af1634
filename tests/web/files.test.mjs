// An index as bytes, in and out: what every platform can do. Paths are in node/, files of browsers
// in browser_files.browser.test.mjs.
import { describe, expect, onTestFinished, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { backends, bitsOf, create, errorOf, plain } from './support/backends.mjs';
import {
  expectSameBytes, goldenCases, goldenFile, pieces, saved, streamOf,
} from './support/files.mjs';
import { SplitMix, newSeed, random, randomRows, range, row, scale } from './support/random.mjs';
import cases from '../data/conformance.json';

const dim = 24;

async function open(source, options) {
  const index = await VectorIndex.open(source, options);
  onTestFinished(() => index.close());
  return index;
}

const codeOf = async (source, options) =>
  (await errorOf(() => open(source, options))).code;

/** What a save or an opening must leave as it was. */
function held(index) {
  const { readers, ringDepth, bytes: { segments, shared } } = index.stats();
  return { readers, ringDepth, segments, shared };
}

/** Everything that a search can tell, of both. */
function expectSame(index, other, rows) {
  expect([index.dim, index.metric, index.bits, index.size])
    .toEqual([other.dim, other.metric, other.bits, other.size]);
  for (let i = 0; i < 5; ++i) {
    const query = row(rows, index.dim, i);
    expect(plain(index.search(query, { k: 100 }))).toEqual(plain(other.search(query, { k: 100 })));
  }
}

describe.each(backends)('files, $name', ({ load }) => {
  test('an index is what it was from every kind of source', async () => {
    const { index, rows, bytes } = await saved(load);
    const around = new Uint8Array(bytes.length + 11);
    around.set(bytes, 7);
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 8), 3, bytes.length);
    shared.set(bytes);
    const sources = [
      bytes, bytes.buffer, around.subarray(7, 7 + bytes.length),
      new DataView(around.buffer, 7, bytes.length), shared,
      new Blob([bytes]), new File([bytes], 'x.vic'),
      new Response(bytes), new Response(new Blob([bytes])),
      streamOf([bytes]), streamOf(pieces(bytes, 1)), streamOf(pieces(bytes, 700)),
      streamOf([new Uint8Array(0), bytes.slice(0, 64), bytes.slice(64).buffer]),
      URL.createObjectURL(new Blob([bytes])), new URL(URL.createObjectURL(new Blob([bytes]))),
    ];
    for (const source of sources) {
      const opened = await open(source, { ...load, readOnly: true });
      expectSame(opened, index, rows);
      expectSameBytes(await opened.toBytes(), bytes);
      await opened.close();
    }
  });

  test.each(['cosine', 'ip', 'l2'])('%s, all bits, survive the way out and in', async (metric) => {
    for (const bits of [1, 2, 3, 4, 8]) {
      const seed = 2n ** 63n + 5n;
      const { index, rows, bytes } = await saved(load, { metric, bits, seed, ids: 'bigint' });
      const opened = await open(bytes, { ...load, ids: 'bigint', readOnly: true });
      expectSame(opened, index, rows);
      expectSameBytes(await opened.toBytes(), bytes);
      await index.close();
    }
  });

  test.each(goldenCases)('the golden file %s gives the results of the native core',
    async (file, name) => {
      const one = cases.find((at) => at.name === name);
      const bytes = await goldenFile(file);
      const index = await open(bytes, load);
      const queries = vectors(one.queries, one.options.dim);
      const ids = [];
      const scores = [];
      for (const hits of index.searchBatch(queries, { k: one.k })) {
        ids.push(Array.from(hits.ids));
        scores.push(...bitsOf(hits.scores));
      }
      expect(ids).toEqual(one.ids);
      expect(scores).toEqual(Array.from(bitsOf(floats(one.scores))));
      expectSameBytes(await index.toBytes(), bytes);
      // And what is built here is the same file.
      const built = await create(one.options, load);
      if (one.sample) await built.calibrate(vectors(one.sample, one.options.dim));
      await built.add(range(one.rows.count), vectors(one.rows, one.options.dim));
      if (one.removed.length > 0) await built.remove(one.removed);
      expectSameBytes(await built.toBytes(), bytes);
    });

  test('an index that was opened is written to and saved again', async () => {
    const { rows, bytes } = await saved(load);
    const index = await open(bytes, load);
    expect((await errorOf(() => index.add([10], [row(rows, dim, 0)]))).code).toBe('DUPLICATE_ID');
    await index.add([5], [row(rows, dim, 3)]);
    await index.remove([10]);
    const again = await open(await index.toBytes(), load);
    expect(again.size).toBe(58);
    expect(again.has(5)).toBe(true);
    expect(again.has(10)).toBe(false);
    const empty = await open(await (await saved(load, { count: 0 })).index.toBytes(), load);
    expect(empty.size).toBe(0);
    await empty.add([1], [row(rows, dim, 0)]);
    expect(empty.search(row(rows, dim, 0)).ids[0]).toBe(1);
  });

  test('an index of many slices and parts comes whole, with its progress', async () => {
    const { index, rows, bytes } = await saved(load, { count: 60_000, bits: 8 });
    expect(bytes.length).toBeGreaterThan(2_000_000);
    for (const [source, total] of [[bytes, bytes.length], [new Blob([bytes]), bytes.length],
      [streamOf(pieces(bytes, 300_000)), bytes.length]]) {
      const seen = [];
      const opened = await open(source, { ...load, onProgress: (at) => seen.push(at) });
      expectSame(opened, index, rows);
      expect(seen.length).toBeGreaterThan(1);
      expect(seen.at(-1)).toEqual({ loadedBytes: bytes.length, totalBytes: total });
      expect(seen.every((at, i) => i === 0 || at.loadedBytes > seen[i - 1].loadedBytes)).toBe(true);
    }
    const done = [];
    expectSameBytes(await index.toBytes({ onProgress: (at) => done.push(at) }), bytes);
    expect(done.length).toBeGreaterThan(5);
    expect(done.at(-1)).toEqual({ done: bytes.length, total: bytes.length });
  });

  test('what was written before a save is in it, what comes after is not', async () => {
    const index = await create({ dim, bits: 8 }, load);
    const rows = randomRows(1, 20_000, dim);
    const first = index.add(range(20_000), rows);
    const save = index.toBytes();
    const second = index.add([50_000], [row(rows, dim, 0)]);
    const bytes = await save;
    await Promise.all([first, second]);
    const opened = await open(bytes, load);
    // The later write may be quicker than the save's begin.
    expect([20_000, 20_001]).toContain(opened.size);
    const at = [];
    const query = row(rows, dim, 7);
    const slow = index.toBytes({ onProgress: () => at.push(index.search(query).ids[0]) });
    const removed = index.remove(range(10_000));
    expect((await open(await slow, load)).size % 10_000).toBe(1);
    await removed;
    expect(at.length).toBeGreaterThan(0);
  });

  test('every truncation and sampled bit flips are CORRUPT and leak nothing', async () => {
    const { index, bytes } = await saved(load, { count: 12 });
    const before = held(index);
    for (let size = 0; size < bytes.length; ++size) {
      expect(await codeOf(bytes.subarray(0, size), load), `${size}`).toBe('CORRUPT');
    }
    const next = random(newSeed('bit flips'));
    for (let i = 0; i < 150 * scale; ++i) {
      const bit = Math.floor(next() * bytes.length * 8);
      const damaged = bytes.slice();
      damaged[bit >>> 3] ^= 1 << (bit & 7);
      expect(await codeOf(damaged, load), `bit ${bit}`).toBe('CORRUPT');
    }
    expect(await codeOf(new Uint8Array([...bytes, 0]), load)).toBe('CORRUPT');
    expect(await codeOf(streamOf(pieces(bytes.subarray(0, 200), 9)), load)).toBe('CORRUPT');
    expect(await codeOf(new TextEncoder().encode('x'.repeat(5000)), load)).toBe('CORRUPT');
    expect(await codeOf(new Response(null), load)).toBe('CORRUPT');
    expect(held(index)).toEqual(before);
  });

  test('a newer version is VERSION', async () => {
    expect(await codeOf(kNewer, load)).toBe('VERSION');
    expect(await codeOf(streamOf(pieces(kNewer, 10)), load)).toBe('VERSION');
  });

  test('ids above 2^53 - 1 need ids: bigint, which the file cannot tell', async () => {
    const index = await create({ dim, ids: 'bigint' }, load);
    const rows = randomRows(1, 2, dim);
    const large = 2n ** 64n - 1n;
    await index.add([7n, large], rows);
    const bytes = await index.toBytes();
    const error = await errorOf(() => open(bytes, load));
    expect(error.code).toBe('BAD_ID');
    expect(error.message).toContain(`${large}`);
    const opened = await open(bytes, { ...load, ids: 'bigint' });
    expect(opened.search(row(rows, dim, 1), { k: 1 }).ids[0]).toBe(large);
    const also = await open(bytes, { ...load, create: { dim: 3, ids: 'bigint' } });
    expect(also.has(large)).toBe(true);
    await index.remove([large]);
    expect((await open(await index.toBytes(), load)).search(row(rows, dim, 0)).ids[0]).toBe(7);
  });

  test('readOnly: reads and saves go on, every write is READ_ONLY', async () => {
    const { rows, bytes } = await saved(load);
    const index = await open(bytes, { ...load, readOnly: true });
    const writes = [
      () => index.add([1], [row(rows, dim, 0)]), () => index.upsert([10], [row(rows, dim, 0)]),
      () => index.add([], []), () => index.remove([10]), () => index.clear(),
      () => index.compact(), () => index.calibrate(new Float32Array(40 * dim)),
    ];
    for (const write of writes) expect((await errorOf(write)).code).toBe('READ_ONLY');
    expect(index.search(row(rows, dim, 0), { k: 1 }).ids[0]).toBe(10);
    expect((await index.searchAsync(row(rows, dim, 0), { k: 1 })).ids[0]).toBe(10);
    await index.flush();
    expectSameBytes(await index.toBytes(), bytes);
    await index.close();
    expect((await errorOf(() => index.toBytes())).code).toBe('CLOSED');
  });

  test('a source that fails, throws or is not one is told with its reason', async () => {
    const { index, bytes } = await saved(load);
    const before = held(index);
    const failing = new ReadableStream({
      pull(controller) {
        if (this.sent) throw new Error('the line is dead');
        this.sent = true;
        controller.enqueue(bytes.slice(0, 500));
      },
    }, { highWaterMark: 0 });
    const failed = await errorOf(() => open(failing, load));
    expect(failed).toMatchObject({ code: 'IO', cause: { message: 'the line is dead' } });
    let cancelled = 0;
    const thrown = new Error('no progress wanted');
    const throwing = { ...load, onProgress() { throw thrown; } };
    expect(await errorOf(() => open(streamOf(pieces(bytes, 100), () => ++cancelled), throwing)))
      .toBe(thrown);
    expect(cancelled).toBe(1);
    expect(await errorOf(() => open(bytes, throwing))).toBe(thrown);
    expect(await errorOf(() => index.toBytes({ onProgress() { throw thrown; } }))).toBe(thrown);
    expect(await codeOf(streamOf(['text']), load)).toBe('BAD_OPTION');
    expect(await codeOf(new Response('x', { status: 404 }), load)).toBe('IO');
    expect(await codeOf('http://127.0.0.1:9/', load)).toBe('IO');
    const used = new Response(bytes);
    await used.arrayBuffer();
    expect(await codeOf(used, load)).toBe('BAD_OPTION');
    const locked = streamOf([bytes]);
    locked.getReader();
    expect(await codeOf(locked, load)).toBe('BAD_OPTION');
    for (const source of [undefined, null, 7, {}, [], Symbol('x'), () => bytes]) {
      expect(await codeOf(source, load)).toBe('BAD_OPTION');
    }
    for (const options of [{ readOnly: 1 }, { ids: 'text' }, { create: { dim: 0 } },
      { ids: 'number', create: { dim: 2, ids: 'bigint' } }, { maxBytes: 0 }]) {
      expect(await codeOf(bytes, { ...load, ...options })).toBe('BAD_OPTION');
    }
    expect(held(index)).toEqual(before);
  });

  test('memory that is transferred or changed meanwhile is a typed error', async () => {
    const { bytes } = await saved(load, { count: 30_000, bits: 8 });
    const gone = bytes.slice();
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    expect(await codeOf(gone, load)).toBe('BAD_OPTION');
    expect(await codeOf(gone.buffer, load)).toBe('BAD_OPTION');
    const later = bytes.slice();
    const onProgress = () => {
      if (later.length > 0) structuredClone(later.buffer, { transfer: [later.buffer] });
    };
    expect(await codeOf(later, { ...load, onProgress })).toBe('BAD_OPTION');
    const changed = bytes.slice();
    expect(await codeOf(changed, { ...load, onProgress: () => changed.fill(7) })).toBe('CORRUPT');
  });

  test('a signal stops the opening and the save, and what they hold is given back', async () => {
    const { index, bytes } = await saved(load, { count: 30_000, bits: 8 });
    const before = held(index);
    const reason = new Error('enough');
    expect(await errorOf(() => open(bytes, { ...load, signal: AbortSignal.abort(reason) })))
      .toMatchObject({ code: 'ABORTED', cause: reason });
    const stop = new AbortController();
    const onProgress = () => stop.abort(reason);
    expect(await codeOf(bytes, { ...load, signal: stop.signal, onProgress })).toBe('ABORTED');
    // In the middle of a wait that has no end.
    let cancelled = 0;
    const waiting = new ReadableStream({
      pull(controller) {
        if (!this.sent) controller.enqueue(bytes.slice(0, 1000));
        this.sent = true;
      },
      cancel: () => { ++cancelled; },
    }, { highWaterMark: 0 });
    const late = new AbortController();
    const opening = errorOf(() => open(waiting, {
      ...load, signal: late.signal, onProgress: () => setTimeout(() => late.abort(), 5),
    }));
    expect((await opening).code).toBe('ABORTED');
    expect(cancelled).toBe(1);
    const save = new AbortController();
    expect(await errorOf(() => index.toBytes({
      signal: save.signal, onProgress: () => save.abort(reason),
    }))).toMatchObject({ code: 'ABORTED', cause: reason });
    expect((await errorOf(() => index.toBytes({ signal: AbortSignal.abort() }))).code)
      .toBe('ABORTED');
    expect(held(index)).toEqual(before);
  });

  test('close waits for a save of an earlier call, later ones are CLOSED', async () => {
    const { index, bytes } = await saved(load, { count: 20_000, bits: 8 });
    const save = index.toBytes();
    const closing = index.close();
    expect((await errorOf(() => index.toBytes())).code).toBe('CLOSED');
    expect((await errorOf(() => index.save('opfs:x'))).code).toBe('CLOSED');
    expectSameBytes(await save, bytes);
    await closing;
    // Another index's end does not disturb an opening.
    const { index: other } = await saved(load);
    const opening = open(bytes, load);
    await other.close();
    expect((await opening).size).toBe(19_998);
  });

  test('a file beyond maxBytes is FULL when its head is read', async () => {
    const { index, bytes } = await saved(load, { count: 30_000, bits: 8 });
    const before = held(index);
    let taken = 0;
    const counted = (function* () {
      for (const piece of pieces(bytes, 1000)) {
        taken += piece.length;
        yield piece;
      }
    })();
    const error = await errorOf(() => open(streamOf(counted), { ...load, maxBytes: 1_000_000 }));
    expect(error.code).toBe('FULL');
    expect(error.message).toContain(`${bytes.length} bytes`);
    expect(taken).toBe(1000);
    expect((await open(bytes, load)).size).toBe(29_998);
    expect(held(index)).toEqual(before);
  });

  test('targets that are none, or are elsewhere, are refused', async () => {
    const { index } = await saved(load);
    for (const target of [undefined, null, 7, {}, '', 'http://127.0.0.1/x', index]) {
      const { code } = await errorOf(() => index.save(target));
      expect(code === 'BAD_OPTION' || (target === '' && code === 'UNSUPPORTED')).toBe(true);
    }
    expect((await errorOf(() => index.save('opfs:x', null))).code).toBe('BAD_OPTION');
  });
});

function floats(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function vectors(source, width) {
  if (typeof source === 'string') return floats(source);
  const numbers = new SplitMix(source.seed);
  return Float32Array.from({ length: source.count * width }, () => numbers.coordinate());
}

/** A sound header of format version 77. */
const kNewer = Uint8Array.from(
  atob('VklDSU5BTApNAAAAQAAAAGQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    + 'AAAAAAAAAAAAAABXFFV5EKS0YA=='),
  (character) => character.charCodeAt(0));
