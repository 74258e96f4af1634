// The measuring half of bench/web.mjs, the same in Node and in a page. What is compared takes
// turns, in short slices; an answer that may not be ends the run.
import { VectorIndex } from '../../dist/index.js';
import { FrameLoop } from '../../examples/frames/frame_loop.mjs';
import { percentiles } from './percentiles.mjs';
import { openPeer, peerNames, plainSearch } from './web_peers.mjs';

const inNode = globalThis.process?.versions?.node !== undefined;

const K = 10;
const MAX_BYTES = 2 ** 28;
const SLICE_MS = 250;
const WARM_UP_MS = 400;
/** What a frame adds where there is no other thread: 4,000 rows a second. */
const FRAME_ROWS = 67;

const pause = (ms = 0) => new Promise((resolve) => { setTimeout(resolve, ms); });
const rowOf = (rows, dim, i) => rows.subarray(i * dim, (i + 1) * dim);

async function startWorker() {
  const url = new URL('./web_worker.mjs', import.meta.url);
  const Thread = inNode ? (await import(/* @vite-ignore */ 'node:worker_threads')).Worker : Worker;
  const worker = new Thread(url, { type: 'module' });
  const calls = new Map();
  const listen = (name, listener) =>
    (inNode ? worker.on(name, listener) : worker.addEventListener(name, listener));
  listen('message', (event) => {
    const { call, result, error } = inNode ? event : event.data;
    const { resolve, reject } = calls.get(call);
    if (error) reject(new Error(error));
    else resolve(result);
  });
  listen('error', (error) => {
    for (const { reject } of calls.values()) reject(new Error(`a worker failed: ${error.message}`));
  });
  let last = 0;
  return {
    terminate: () => worker.terminate(),
    call: (name, ...args) => new Promise((resolve, reject) => {
      calls.set(++last, { resolve, reject });
      worker.postMessage({ call: last, name, args });
    }),
  };
}

/** A flag that workers look at, and what ends them. */
function makeFlag() {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  return { flag, set: () => Atomics.store(flag, 0, 1) };
}

/** Searches for `ms`, one after the other; times in microseconds. */
function searchFor(ms, search, queries, dim, times) {
  const count = queries.length / dim;
  const began = performance.now();
  const end = began + ms;
  let now = began;
  for (let i = times.length % count; now < end; i = (i + 1) % count) {
    const start = performance.now();
    search(rowOf(queries, dim, i));
    now = performance.now();
    times.push((now - start) * 1000);
  }
  return now - began;
}

function summary({ times, tookMs }) {
  const searches = times.length;
  return { ...percentiles(times), searches_per_s: searches / tookMs * 1000 };
}

async function openOurs({ base, dim, bits }) {
  const index = await VectorIndex.create({ dim, bits }, { maxBytes: MAX_BYTES });
  const began = performance.now();
  await index.add(Array.from({ length: base.length / dim }, (_, i) => i), base);
  return { name: 'ours', settings: `${bits} bits`, bits, index, kernel: index.stats().kernel,
    build_s: (performance.now() - began) / 1000,
    search: (query, k) => index.search(query, { k }).ids };
}

/** Our library, the others, and a plain loop, nobody writing: one row each. */
export async function measureAlone({ base, queries, dim, bits, seconds, buildMs, variants }) {
  const all = [];
  // At 8 bits, too: more of the true neighbours, as graphs find them.
  for (const each of variants.includes('ours') ? new Set([bits, 8]) : []) {
    all.push(await openOurs({ base, dim, bits: each }));
  }
  for (const name of peerNames.filter((peer) => variants.includes(peer))) {
    const peer = await openPeer(name, { base, dim, buildMs, spare: spareRows(seconds) });
    all.push({ ...peer }, ...(peer.also ?? []).map((other) => ({ ...peer, ...other })));
  }
  const able = all.filter(({ error }) => error === undefined);
  for (const each of able) {
    searchFor(WARM_UP_MS, (query) => each.search(query, K), queries, dim, []);
    Object.assign(each, { times: [], tookMs: 0 });
  }
  for (let round = 0; round < seconds * 1000 / SLICE_MS; ++round) {
    for (const each of able) {
      each.tookMs += searchFor(SLICE_MS, (query) => each.search(query, K), queries, dim,
        each.times);
    }
    await pause();
  }
  const count = queries.length / dim;
  const truth = Array.from({ length: count },
    (_, i) => new Set(plainSearch(base, base.length / dim, dim, rowOf(queries, dim, i), K)));
  const recallOf = ({ search }) => {
    let found = 0;
    for (let i = 0; i < count; ++i) {
      for (const id of search(rowOf(queries, dim, i), K)) found += truth[i].has(id) ? 1 : 0;
    }
    return found / (K * count);
  };
  const rows = all.map((each) => {
    const { name, error, settings, kernel, build_s: build } = each;
    if (error !== undefined) return { variant: name, error };
    return { variant: name, settings, ...(kernel ? { bits: each.bits, kernel } : {}),
      ...summary(each), recall: recallOf(each), build_s: build };
  });
  for (const { index } of all) await index?.close();
  return rows;
}

/** The writer at work while `run` runs: { result, rows, tookMs }. */
async function beside(owner, writer, run) {
  const { flag, set } = makeFlag();
  const began = performance.now();
  const writing = writer === 'off' ? 0 : owner.call('write', writer, flag);
  const result = await run();
  set();
  const rows = await writing;
  return { result, rows, tookMs: performance.now() - began };
}

/** Runs every setting in turns of a second, `seconds` each; `run` is given what it adds up in. */
async function inTurns(owner, settings, seconds, run) {
  for (const setting of settings) {
    Object.assign(setting, { times: [], tookMs: 0, rows: 0, wroteMs: 0 });
    await beside(owner, setting.writer, () => run({ ...setting, times: [] }, WARM_UP_MS));
  }
  const turns = Math.max(1, Math.round(seconds));
  for (let turn = 0; turn < turns; ++turn) {
    for (const setting of settings) {
      const ms = seconds * 1000 / turns;
      const { result, rows, tookMs } = await beside(owner, setting.writer, () => run(setting, ms));
      setting.tookMs += result;
      setting.rows += rows;
      setting.wroteMs += tookMs;
    }
  }
  return settings.map(({ rows, wroteMs, ...setting }) => ({ ...setting, ...summary(setting),
    rows_written_per_s: rows / wroteMs * 1000 }));
}

function settingRow({ workers, writer, times: _times, tookMs: _took, ...row }, kernel) {
  return { variant: 'ours', kernel, workers, writer, ...row };
}

async function startOwner({ base, dim, bits }) {
  const owner = await startWorker();
  const { handle, kernel } = await owner.call('own', { dim, bits }, { maxBytes: MAX_BYTES }, base);
  return { owner, handle, kernel };
}

/** This thread searches without pause while a worker writes: one row for each writer. */
export async function measureBeside({ base, queries, dim, bits, seconds, writers }) {
  const { owner, handle, kernel } = await startOwner({ base, dim, bits });
  const reader = await VectorIndex.attach(handle);
  let sequence = 0;
  const search = (query) => {
    const hits = reader.search(query, { k: K });
    if (hits.length !== K || hits.sequence < sequence) throw new Error('a wrong answer');
    ({ sequence } = hits);
  };
  const rows = await inTurns(owner, writers.map((writer) => ({ workers: 0, writer })), seconds,
    async ({ times }, ms) => {
      let tookMs = 0;
      // In slices: messages of the owner want to be heard.
      for (let left = ms; left > 0; left -= SLICE_MS) {
        tookMs += searchFor(Math.min(left, SLICE_MS), search, queries, dim, times);
        await pause();
      }
      return tookMs;
    });
  await reader.close();
  await owner.call('end');
  await owner.terminate();
  return rows.map((row) => settingRow(row, kernel));
}

/** Workers search without pause while another writes: one row for each pair of the two. */
export async function measureWorkers({ base, queries, dim, bits, seconds, writers, workers }) {
  const { owner, handle, kernel } = await startOwner({ base, dim, bits });
  const readers = await Promise.all(Array.from({ length: Math.max(...workers) }, startWorker));
  await Promise.all(readers.map((reader) => reader.call('attach', handle)));
  const settings = writers.flatMap((writer) =>
    workers.map((count) => ({ workers: count, writer })));
  const rows = await inTurns(owner, settings, seconds, async ({ workers: count, times }, ms) => {
    const { flag, set } = makeFlag();
    const began = performance.now();
    const searching = readers.slice(0, count)
      .map((reader) => reader.call('search', queries, K, flag));
    await pause(ms);
    set();
    const tookMs = performance.now() - began;
    for (const found of await Promise.all(searching)) {
      for (const time of found) times.push(time);
    }
    return tookMs;
  });
  await Promise.all(readers.map((reader) => reader.call('end')));
  await owner.call('end');
  await Promise.all([owner, ...readers].map((worker) => worker.terminate()));
  return rows.map((row) => settingRow(row, kernel));
}

const nextFrame = inNode ? (callback) => setTimeout(callback, 16)
  : (callback) => requestAnimationFrame(callback);

/** A search in each frame for `ms`; `work` is what the frame does beside it. */
async function runFrames(reader, queries, dim, ms, work = () => undefined) {
  const vectors = Array.from({ length: queries.length / dim }, (_, i) => rowOf(queries, dim, i));
  const loop = new FrameLoop(reader, vectors, { k: K, nextFrame, onFrame: work });
  loop.start();
  await pause(ms);
  loop.stop();
  return loop.figures;
}

function frameRow({ frames, longTasks, lateFrames, longestFrameMs, longestTaskMs }) {
  return { frames, long_frames: longTasks, late_frames: lateFrames,
    longest_frame_ms: longestFrameMs, longest_task_ms: longestTaskMs };
}

/** Frames of this thread while a worker writes: one row for each writer. */
export async function measureFrames({ base, queries, dim, bits, seconds, writers }) {
  const { owner, handle, kernel } = await startOwner({ base, dim, bits });
  const reader = await VectorIndex.attach(handle);
  const rows = [];
  await runFrames(reader, queries, dim, WARM_UP_MS);
  for (const writer of writers) {
    const { result, rows: written, tookMs } = await beside(owner, writer,
      () => runFrames(reader, queries, dim, seconds * 1000));
    rows.push({ variant: 'ours', kernel, workers: 0, writer, ...frameRow(result),
      rows_written_per_s: written / tookMs * 1000 });
  }
  await reader.close();
  await owner.call('end');
  await owner.terminate();
  return rows;
}

/** Rows that the others get in their frames, at most. */
const spareRows = (seconds) => Math.ceil(seconds * 120 * FRAME_ROWS);

/** Frames that search and, for want of another thread, add: one row for each of the others. */
export async function measurePeerFrames({ base, queries, dim, seconds, buildMs, variants }) {
  const rows = [];
  const spare = spareRows(seconds);
  const count = base.length / dim;
  for (const name of peerNames.filter((peer) => variants.includes(peer))) {
    const peer = await openPeer(name, { base, dim, buildMs, spare });
    if (peer.error !== undefined) {
      rows.push({ variant: name, error: peer.error });
      continue;
    }
    const reader = {
      size: count,
      search: (query) => ({ sequence: 0, ids: peer.search(query, K) }),
    };
    let added = 0;
    const figures = await runFrames(reader, queries, dim, seconds * 1000, () => {
      for (let i = 0; i < FRAME_ROWS && added < spare; ++i, ++added) {
        peer.add(count + added, rowOf(base, dim, added % count));
      }
    });
    rows.push({ variant: name, workers: 0, writer: 'same-thread', ...frameRow(figures),
      rows_written_per_s: added / seconds });
  }
  return rows;
}
