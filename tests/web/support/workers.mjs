// Workers of the tests, the same in Node and in a page: a script that answers calls by name.
import { onTestFinished } from 'vitest';

export const inNode = typeof process !== 'undefined' && process.versions?.node !== undefined;

async function nodeWorker() {
  const { Worker } = await import(/* @vite-ignore */ 'node:worker_threads');
  const worker = new Worker(new URL('./reader_worker.mjs', import.meta.url));
  return {
    post: (message) => worker.postMessage(message),
    listen: (listener) => worker.on('message', listener),
    fail: (listener) => worker.on('error', listener),
    terminate: () => worker.terminate(),
  };
}

function pageWorker() {
  const worker = new Worker(new URL('./reader_worker.mjs', import.meta.url), { type: 'module' });
  return {
    post: (message) => worker.postMessage(message),
    listen: (listener) => worker.addEventListener('message', (event) => listener(event.data)),
    fail: (listener) => worker.addEventListener('error', (event) => listener(event.message)),
    terminate: () => worker.terminate(),
  };
}

/** A worker whose functions are called by `call(name, ...arguments)`. */
export async function startWorker() {
  const worker = inNode ? await nodeWorker() : pageWorker();
  const calls = new Map();
  let last = 0;
  worker.listen(({ call, result, error }) => {
    const { resolve, reject } = calls.get(call);
    calls.delete(call);
    if (error) reject(Object.assign(new Error(error.message), error));
    else resolve(result);
  });
  worker.fail((error) => {
    for (const { reject } of calls.values()) reject(error);
  });
  return {
    call(name, ...args) {
      return new Promise((resolve, reject) => {
        calls.set(++last, { resolve, reject });
        worker.post({ call: last, name, args });
      });
    },
    terminate: () => worker.terminate(),
  };
}

/** The next worker that this realm starts, by `run` or whoever. */
export async function catchWorker(run = async () => undefined) {
  if (inNode) {
    const started = new Promise((resolve) => process.once('worker', resolve));
    await run();
    return started;
  }
  const { Worker } = globalThis;
  const started = new Promise((resolve) => {
    globalThis.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        globalThis.Worker = Worker;
        resolve(this);
      }
    };
  });
  await run();
  return started;
}

/**
 * The writers that this realm starts from now on, to the end of the test.
 * @param each called with each of them, but for the first `kept`.
 */
export function catchWriters(each, kept = 0) {
  return catchPosts('write', each, kept);
}

/** As catchWriters, the workers that this realm gives a job of that kind. */
export async function catchPosts(kind, each = () => undefined, kept = 0) {
  const { Worker } = inNode
    ? await import(/* @vite-ignore */ 'node:worker_threads') : globalThis;
  const { prototype } = Worker;
  const post = prototype.postMessage;
  const caught = [];
  prototype.postMessage = function postMessage(message, ...more) {
    post.call(this, message, ...more);
    if (message?.vicinal !== kind) return;
    caught.push(this);
    if (caught.length > kept) each(this);
  };
  onTestFinished(() => {
    prototype.postMessage = post;
  });
  return caught;
}

/** Every worker that this realm starts while `run(workers)` runs, and what that came to. */
export async function catchWorkers(run) {
  const workers = [];
  if (inNode) {
    const note = (worker) => workers.push(worker);
    process.on('worker', note);
    try {
      return { workers, result: await run(workers) };
    } finally {
      process.off('worker', note);
    }
  }
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      workers.push(this);
    }
  };
  try {
    return { workers, result: await run(workers) };
  } finally {
    globalThis.Worker = Worker;
  }
}
