// The page: its main thread searches in each frame, a worker adds without pause.
import { VectorIndex } from '../../dist/index.js';
import { FrameLoop } from './frame_loop.mjs';

const dim = 128;
const settings = { dim, batch: 500, rowsMax: 100_000, maxBytes: 2 ** 28 };

const element = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString('en-US');
const milliseconds = (number) => `${number.toFixed(1)} ms`;

function show({ frames, rows, versions, hits, ...times }) {
  element('frames').textContent = count(frames);
  element('rows').textContent = count(rows);
  element('versions').textContent = count(versions);
  element('search').textContent = milliseconds(times.longestSearchMs);
  element('task').textContent = milliseconds(times.longestTaskMs);
  element('frame').textContent = milliseconds(times.longestFrameMs);
  element('late').textContent = count(times.lateFrames);
  element('hits').textContent = Array.from(hits, ({ id, score }) =>
    `${String(id).padStart(6)}  ${score.toFixed(3)}`).join('\n');
}

/** The worker's index, read from here. */
async function attach(worker) {
  const { data } = await new Promise((resolve, reject) => {
    worker.addEventListener('message', resolve, { once: true });
    worker.addEventListener('error', ({ message }) => reject(new Error(message)), { once: true });
  });
  if (data.failed) throw new Error(data.failed);
  return VectorIndex.attach(data.handle);
}

async function start() {
  const worker = new Worker(new URL('adding_worker.mjs', import.meta.url), { type: 'module' });
  const attached = attach(worker);
  worker.postMessage({ start: settings });
  const reader = await attached;
  const queries = Array.from({ length: 64 },
    () => Float32Array.from({ length: dim }, () => Math.random() - 0.5));
  const loop = () => new FrameLoop(reader, queries, { onFrame: show });
  let running = loop();
  running.start();
  element('paused').addEventListener('change', ({ target }) => {
    worker.postMessage({ paused: target.checked });
  });
  element('again').addEventListener('click', () => {
    running.stop();
    running = loop();
    running.start();
  });
  element('state').textContent = `A worker writes batches of ${settings.batch} rows of ${dim}`
    + ` dimensions; ${reader.stats().kernel} kernels.`;
}

try {
  await start();
} catch (error) {
  element('state').textContent = `The page could not start: ${error.message}`;
}
