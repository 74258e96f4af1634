// npm start: builds an index of 20,000 words and searches it from two threads while it is written
// to.
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { VectorIndex } from 'vicinal';
import { readHalfVectors, readIntVectors } from './vectors.mjs';

const readers = 2;
const phaseMs = 3000;
const batch = 100;
const few = 20;
const k = 10;

const say = (line = '') => console.log(line);
const count = (number) => Math.round(number).toLocaleString('en-US');
const seconds = (from) => `${((performance.now() - from) / 1000).toFixed(2)} s`;

async function load(name) {
  const bytes = await readFile(new URL(`data/glove100-20k.${name}`, import.meta.url));
  return new Uint8Array(bytes).buffer;
}

async function loadWords() {
  const json = async (name) => JSON.parse(new TextDecoder().decode(await load(name)));
  return {
    base: readHalfVectors(await load('base.f16vecs')),
    queries: readHalfVectors(await load('query.f16vecs')),
    truth: readIntVectors(await load('gt100.ivecs')),
    words: await json('words.json'),
    queryWords: await json('query-words.json'),
  };
}

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const range = (first, length) => Array.from({ length }, (_, i) => first + i);

/** A thread that attaches to the index and searches whenever it is told to. */
class Searcher {
  #worker = new Worker(new URL('search-worker.mjs', import.meta.url));

  #ask(message) {
    return new Promise((resolve, reject) => {
      this.#worker.once('message', resolve);
      this.#worker.once('error', reject);
      this.#worker.postMessage(message);
    });
  }

  start(handle, queries, dim) {
    return this.#ask({ start: handle, queries, dim, k });
  }

  /** Searches without pause until the flag is set. */
  run(flag) {
    return this.#ask({ run: flag });
  }

  stop() {
    return this.#ask({ stop: true });
  }
}

/** Runs `work` while the searchers search, and prints what they measured. */
async function phase(title, searchers, work) {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const started = performance.now();
  const running = searchers.map((searcher) => searcher.run(flag));
  await work();
  Atomics.store(flag, 0, 1);
  const results = await Promise.all(running);
  const elapsed = performance.now() - started;
  const times = Float64Array.from(results.flatMap(({ micros }) => Array.from(micros))).sort();
  const at = (part) => times[Math.floor(part * (times.length - 1))].toFixed(0).padStart(5);
  say(`  ${title.padEnd(42)} ${count(times.length / elapsed * 1000).padStart(8)} searches/s`
    + `   p50 ${at(0.5)} us   p99 ${at(0.99)} us`);
  return results;
}

/** Adds the second half in batches, and takes out and puts back a few words after each of them. */
async function write(index, { base, words }) {
  const { dim, rows } = base;
  const half = words.length / 2;
  const part = (first, length) => rows.subarray(first * dim, (first + length) * dim);
  const steps = half / batch;
  for (let step = 0; step < steps; ++step) {
    const next = half + step * batch;
    await index.add(range(next, batch), part(next, batch));
    const first = (step * 7919) % (half - few);
    await index.remove(range(first, few));
    await index.add(range(first, few), part(first, few));
    await pause(phaseMs / steps);
  }
}

function recall(index, { queries, truth }) {
  const hits = index.searchBatch(queries.rows, { k });
  let found = 0;
  for (const [i, { ids }] of hits.entries()) {
    const nearest = new Set(truth[i].subarray(0, k));
    for (const id of ids) found += nearest.has(id) ? 1 : 0;
  }
  return found / (hits.length * k);
}

function showNearest(index, { base, words }) {
  const { dim, rows } = base;
  for (const word of ['ocean', 'violin', 'tuesday', 'einstein', 'bread']) {
    const id = words.indexOf(word);
    const hits = index.search(rows.subarray(id * dim, (id + 1) * dim), { k: 7 });
    const near = Array.from(hits.ids, (other) => words[other]).filter((other) => other !== word);
    say(`  ${word.padEnd(10)} ${near.slice(0, 6).join(', ')}`);
  }
}

async function main() {
  const begun = performance.now();
  const data = await loadWords();
  const { base, queries, words } = data;
  const half = words.length / 2;

  const index = await VectorIndex.create({ dim: base.dim, metric: 'cosine', bits: 4 });
  const { kernel, threads } = index.stats();
  say(`vicinal: ${count(words.length)} words, ${base.dim} dimensions, 4 bits, cosine`);
  say(`(WebAssembly${threads ? ' on shared memory' : ''}, ${kernel} kernels)`);
  say();

  let started = performance.now();
  await index.add(range(0, half), base.rows.subarray(0, half * base.dim));
  const bytesEach = (index.stats().bytes.total / half).toFixed(1);
  say(`Added ${count(half)} words in one step: ${seconds(started)},`
    + ` ${bytesEach} bytes a word (${4 * base.dim} as float32)`);
  say();

  say(`Searching ${queries.count} query words from ${readers} other threads, ${k} nearest each:`);
  const searchers = range(0, readers).map(() => new Searcher());
  const handle = index.share();
  await Promise.all(searchers.map((one) => one.start(handle, queries.rows, base.dim)));
  const idle = () => pause(phaseMs);
  await phase(`writer idle, ${count(half)} words`, searchers, idle);
  started = performance.now();
  const busy = await phase(`writer busy, ${count(half)} to ${count(words.length)} words`,
    searchers, () => write(index, data));
  const wrote = seconds(started);
  await phase(`writer idle, ${count(words.length)} words`, searchers, idle);
  const versions = Math.max(...busy.map((one) => one.versions));
  say();
  const all = count(index.sequence);
  say(`The writer added the other ${count(half)} words in batches of ${batch}; after each it took`);
  say(`${few} words out and put them back: ${all} versions in ${wrote}. A reader met up to`);
  say(`${count(versions)} of them, each as a whole.`);
  say();

  say('Nearest words:');
  showNearest(index, data);
  say();
  const { size, dead } = index.stats();
  say(`recall@${k} of ${queries.count} queries against the exact neighbours: `
    + recall(index, data).toFixed(3));
  say(`${count(size)} words live; ${count(dead)} removed rows wait to be compacted`);

  await Promise.all(searchers.map((one) => one.stop()));
  await index.close();
  say();
  say(`All of it took ${seconds(begun)}. The same in a page: npm run demo`);
}

await main();
