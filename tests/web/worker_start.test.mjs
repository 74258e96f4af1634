// Workers that do not do their part: no wait for one is without an end.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { VectorIndex } from 'vicinal';
import { WorkerSearcher } from '../../dist/backend/worker_searcher.js';
import { create, errorOf } from './support/backends.mjs';

const dim = 4;
const maxBytes = 2 ** 26;
const query = [1, 2, 3, 4];
const kFarMs = 120_000;

afterEach(() => vi.useRealTimers());

/** A worker that hears everything and says nothing. */
function silentWorker(more = {}) {
  return {
    posted: [], ended: 0,
    postMessage(message) { this.posted.push(message); },
    addEventListener() {},
    terminate() { ++this.ended; },
    ...more,
  };
}

const without = (name) => {
  const worker = silentWorker();
  delete worker[name];
  return worker;
};

test.each([
  ['terminate', without('terminate')],
  ['addEventListener', without('addEventListener')],
  ['terminate', { postMessage() {} }],
  ['addEventListener', { postMessage() {}, terminate() {}, addEventListener: 7 }],
])('a worker without %s is BAD_OPTION, before anything is loaded', async (name, worker) => {
  const error = await errorOf(() => VectorIndex.create({ dim }, { maxBytes, worker }));
  expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(name) });
});

describe('a writer that never answers', () => {
  async function works() {
    const index = await create({ dim }, { maxBytes });
    await index.add([1], [query]);
    expect(index.search(query).ids[0]).toBe(1);
  }

  test('the signal ends the wait, and the worker', async () => {
    const controller = new AbortController();
    const worker = silentWorker({
      postMessage: () => queueMicrotask(() => controller.abort()),
    });
    const error = await errorOf(() => VectorIndex.create({ dim },
      { maxBytes, worker, signal: controller.signal }));
    expect(error.code).toBe('ABORTED');
    expect(worker.ended).toBe(1);
    await works();
  });

  test('without a signal the wait has an end, too: IO', async () => {
    await works();  // what is loaded does not take a part of the time
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const worker = silentWorker({ terminate: () => new Promise(() => undefined) });
    const failed = errorOf(() => VectorIndex.create({ dim }, { maxBytes, worker }));
    await vi.waitUntil(() => worker.posted.length > 0);
    await vi.advanceTimersByTimeAsync(kFarMs);
    expect(await failed).toMatchObject({ code: 'IO', message: expect.stringMatching(/no answer/) });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a worker that cannot take the message, or cannot be ended, stops nothing', async () => {
    const boom = new Error('boom');
    const worker = silentWorker({
      postMessage() { throw boom; },
      terminate() { throw boom; },
    });
    expect(await errorOf(() => VectorIndex.create({ dim }, { maxBytes, worker }))).toBe(boom);
    await works();
  });
});

// A worker of the tests for searches. What a query's first number tells it: 1 answer, 2 hold the
// answer until the next call, 3 die.
const script = `
const held = [];
const answer = (call) => post({ vicinal: 'found', call, found: { sequence: call } });
const on = (message) => {
  if (message.vicinal === 'serve') post({ vicinal: 'ready' });
  if (message.vicinal === 'search') {
    const what = message.query[0];
    if (what === 3) post({ vicinal: 'died', code: 'IO', message: 'told to' });
    else if (what === 2) held.push(message.call);
    else for (const call of [...held.splice(0), message.call]) answer(call);
  }
  if (message.vicinal === 'stop') {
    post({ vicinal: 'stopped' });
    post({ vicinal: 'died', code: 'IO', message: 'late' });
  }
};
let post;
if (typeof self === 'undefined') {
  const { parentPort } = await import('node:worker_threads');
  post = (message) => parentPort.postMessage(message);
  parentPort.on('message', on);
} else {
  post = (message) => self.postMessage(message);
  self.onmessage = ({ data }) => on(data);
}`;
const silent = 'setInterval(() => undefined, 1e6);';
const addressOf = (code) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

describe('one worker for searches after the other', () => {
  const ask = (searcher, what) => searcher.search(0, new Float32Array([what]), {});

  test('what comes late from one does not touch the calls of the next', async () => {
    const searcher = new WorkerSearcher({}, addressOf(script));
    for (let i = 0; i < 10; ++i) {
      await ask(searcher, 1);
      const stopping = searcher.stop();
      const held = ask(searcher, 2);
      await stopping;
      expect(await ask(searcher, 1)).toEqual({ sequence: 2 });
      expect(await held).toEqual({ sequence: 1 });
    }
    await searcher.stop();
  });

  test('each stop has its end, also when they overlap', async () => {
    const searcher = new WorkerSearcher({}, addressOf(script));
    const ends = [];
    for (let i = 0; i < 5; ++i) ends.push(ask(searcher, 1), searcher.stop());
    expect(await Promise.all(ends)).toHaveLength(10);
  });

  test('a worker that dies fails its calls only, the next call has another', async () => {
    const searcher = new WorkerSearcher({}, addressOf(script));
    const held = errorOf(() => ask(searcher, 2));
    expect(await errorOf(() => ask(searcher, 3))).toMatchObject({ code: 'IO' });
    expect(await held).toMatchObject({ code: 'IO', message: 'told to' });
    expect(await ask(searcher, 1)).toEqual({ sequence: 1 });
    await searcher.stop();
  });

  test('one that never answers is IO in the end', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const searcher = new WorkerSearcher({}, addressOf(silent));
    const failed = errorOf(() => ask(searcher, 1));
    await vi.waitUntil(() => vi.getTimerCount() > 0);
    await vi.advanceTimersByTimeAsync(kFarMs);
    expect(await failed).toMatchObject({ code: 'IO', message: expect.stringMatching(/no answer/) });
    await searcher.stop();
  });
});
