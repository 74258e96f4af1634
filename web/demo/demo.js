// The demo page: a worker adds words, the main thread searches, and both show what they do.
import { VectorIndex } from './dist/index.js';
import { readHalfVectors } from './vectors.mjs';

const batch = 100;
const betweenBatchesMs = 30;
const shuffled = 5000;
const k = 12;
const searchesPerFrame = 8;
const remembered = 2000;
const frames = 300;

const element = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString('en-US');
const micros = (number) =>
  (number < 1000 ? `${number.toFixed(0)} us` : `${(number / 1000).toFixed(1)} ms`);
const range = (first, length) => Array.from({ length }, (_, i) => first + i);
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function fetchData(name) {
  const response = await fetch(`data/glove100-20k.${name}`);
  if (!response.ok) throw new Error(`${name}: HTTP ${response.status}`);
  return response;
}

async function fetchVectors(name) {
  return readHalfVectors(await (await fetchData(name)).arrayBuffer());
}

class Page {
  #times = [];
  #slowest = [];
  #searches = 0;
  #shown = '';
  #busy = false;

  constructor(words, vectors, queries) {
    this.words = words;
    this.numbers = new Map(words.map((word, i) => [word, i]));
    this.vectors = vectors;
    this.queries = queries;
  }

  part(first, length) {
    const { dim, rows } = this.vectors;
    return rows.subarray(first * dim, (first + length) * dim);
  }

  async start() {
    this.index = await VectorIndex.create({ dim: this.vectors.dim, bits: 4 });
    const { threads, kernel } = this.index.stats();
    const where = threads ? 'on shared memory' : 'on this thread only: the page is not isolated';
    element('build').textContent = `WebAssembly ${where}, ${kernel} kernels.`;
    element('word').addEventListener('input', () => this.showHits());
    element('shuffle').addEventListener('click', () => this.whileBusy(() => this.shuffle()));
    element('restart').addEventListener('click', () => this.whileBusy(() => this.fill()));
    requestAnimationFrame(() => this.frame());
    await this.whileBusy(() => this.fill());
  }

  async whileBusy(work) {
    if (this.#busy) return;
    this.#busy = true;
    for (const id of ['shuffle', 'restart']) element(id).disabled = true;
    try {
      await work();
    } catch (error) {
      element('answer').textContent = `${error.code ?? error.name}: ${error.message}`;
    }
    for (const id of ['shuffle', 'restart']) element(id).disabled = false;
    this.#busy = false;
  }

  async fill() {
    await this.index.clear();
    for (let at = 0; at < this.words.length; at += batch) {
      await this.index.add(range(at, batch), this.part(at, batch));
      await pause(betweenBatchesMs);
    }
  }

  async shuffle() {
    for (let i = 0; i < shuffled; i += batch) {
      const first = Math.floor(Math.random() * (this.words.length - batch));
      await this.index.remove(range(first, batch));
      await this.index.upsert(range(first, batch), this.part(first, batch));
      await pause(betweenBatchesMs);
    }
  }

  search(vector) {
    const started = performance.now();
    const hits = this.index.search(vector, { k });
    const time = (performance.now() - started) * 1000;
    this.#times[this.#searches++ % remembered] = time;
    return { hits, time };
  }

  /** A few searches in each frame, on the thread that draws. */
  frame() {
    const { dim, rows, count: total } = this.queries;
    let slowest = 0;
    for (let i = 0; i < searchesPerFrame; ++i) {
      const at = Math.floor(Math.random() * total);
      slowest = Math.max(slowest, this.search(rows.subarray(at * dim, (at + 1) * dim)).time);
    }
    this.#slowest.push(slowest);
    if (this.#slowest.length > frames) this.#slowest.shift();
    if (this.index.sequence !== this.#shown) this.showHits();
    this.showFigures();
    this.draw();
    requestAnimationFrame(() => this.frame());
  }

  showHits() {
    this.#shown = this.index.sequence;
    const word = element('word').value.trim().toLowerCase();
    const number = this.numbers.get(word);
    const list = element('hits');
    if (number === undefined) {
      const near = this.words.filter((other) => word !== '' && other.startsWith(word)).slice(0, 12);
      element('suggestions').replaceChildren(...near.map((other) => new Option(other)));
      element('answer').textContent = 'Not one of the 20,000 words.';
      list.replaceChildren();
      return;
    }
    const { hits, time } = this.search(this.part(number, 1));
    element('answer').textContent = `${micros(time)}, version ${count(hits.sequence)}`;
    list.replaceChildren(...Array.from(hits, ({ id, score }) => {
      const item = document.createElement('li');
      const value = document.createElement('span');
      value.textContent = score.toFixed(3);
      item.append(this.words[id], value);
      return item;
    }));
  }

  showFigures() {
    const { size, sequence, bytes } = this.index.stats();
    const sorted = Float64Array.from(this.#times).sort();
    const at = (part) => micros(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
    element('size').textContent = `${count(size)} words`;
    element('progress').style.width = `${(100 * size) / this.words.length}%`;
    element('searches').textContent = count(this.#searches);
    element('sequence').textContent = count(sequence);
    element('memory').textContent = `${(bytes.total / 1e6).toFixed(1)} MB`;
    element('p50').textContent = at(0.5);
    element('p99').textContent = at(0.99);
  }

  draw() {
    const canvas = element('latency');
    const context = canvas.getContext('2d');
    const { width, height } = canvas;
    const usual = this.#slowest.toSorted((a, b) => a - b)[this.#slowest.length >> 1];
    const most = Math.max(100, 3 * usual);
    const style = getComputedStyle(document.documentElement);
    const [within, beyond] = ['--accent', '--beyond'].map((name) => style.getPropertyValue(name));
    context.clearRect(0, 0, width, height);
    const step = width / frames;
    this.#slowest.forEach((time, i) => {
      const tall = Math.min(height, (height * time) / most);
      context.fillStyle = time > most ? beyond : within;
      context.fillRect(i * step, height - tall, step - 1, tall);
    });
    element('scale').textContent = `top: ${micros(most)}; slower ones are cut`;
  }
}

try {
  const [words, vectors, queries] = await Promise.all([
    fetchData('words.json').then((response) => response.json()),
    fetchVectors('base.f16vecs'),
    fetchVectors('query.f16vecs'),
  ]);
  await new Page(words, vectors, queries).start();
} catch (error) {
  element('answer').textContent = `The demo could not start: ${error.message}`;
}
