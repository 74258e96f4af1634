// A worker of bench/support/web_run.mjs, in Node or in a page: owns an index and writes to it, or
// attaches to one and searches it. It answers calls by name.
import { VectorIndex } from '../../dist/index.js';

const FILL_ROWS = 2000;
const FLAT_ROWS = 500;
/** 4,000 rows a second. */
const PACED_ROWS = 100;
const PACED_MS = 25;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const range = (first, length) => Array.from({ length }, (_, i) => first + i);

let index;
let base;
let reader;
/** The row that is replaced next. */
let next = 0;

async function upsert(most) {
  const { dim } = index;
  const count = Math.min(most, base.length / dim - next);
  await index.upsert(range(next, count), base.subarray(next * dim, (next + count) * dim));
  next = (next + count) % (base.length / dim);
  return count;
}

const functions = {
  /** Makes an index of these rows. */
  async own(options, load, rows) {
    index = await VectorIndex.create(options, load);
    base = rows;
    do await upsert(FILL_ROWS); while (next > 0);
    return { handle: index.share(), kernel: index.stats().kernel };
  },

  /** Replaces rows, one after the other, until the flag is set: how many. */
  async write(pace, flag) {
    let rows = 0;
    let due = performance.now();
    while (Atomics.load(flag, 0) === 0) {
      rows += await upsert(pace === 'flat' ? FLAT_ROWS : PACED_ROWS);
      if (pace === 'flat') continue;
      due += PACED_MS;
      await pause(Math.max(0, due - performance.now()));
    }
    return rows;
  },

  async attach(handle) {
    reader = await VectorIndex.attach(handle);
  },

  /** Searches without pause until the flag is set: how long each took, in microseconds. */
  search(queries, k, flag) {
    const { dim } = reader;
    const count = queries.length / dim;
    const times = [];
    let sequence = 0;
    for (let i = 0; Atomics.load(flag, 0) === 0; i = (i + 1) % count) {
      const start = performance.now();
      const hits = reader.search(queries.subarray(i * dim, (i + 1) * dim), { k });
      times.push((performance.now() - start) * 1000);
      if (hits.length !== k || hits.sequence < sequence) throw new Error('a wrong answer');
      sequence = hits.sequence;
    }
    return Float64Array.from(times);
  },

  async end() {
    await reader?.close();
    await index?.close();
  },
};

function answer(post) {
  return async ({ call, name, args }) => {
    try {
      post({ call, result: await functions[name](...args) });
    } catch (error) {
      post({ call, error: String(error?.stack ?? error) });
    }
  };
}

if (typeof self === 'undefined') {
  const { parentPort } = await import(/* @vite-ignore */ 'node:worker_threads');
  parentPort.on('message', answer((message) => parentPort.postMessage(message)));
} else {
  const serve = answer((message) => self.postMessage(message));
  self.addEventListener('message', ({ data }) => serve(data));
}
