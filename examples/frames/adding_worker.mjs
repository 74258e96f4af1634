// A worker that owns an index and adds to it without pause. When it has as many rows as it may, it
// replaces them, the oldest first, so that it never stops writing.
import { VectorIndex } from '../../dist/index.js';

/** Writes under way at once: the next is there when the one before it is done. */
const kUnderWay = 2;

/** Resolves when the worker may write: at once, unless it is paused. */
let mayWrite = Promise.resolve();
let goOn = () => undefined;

/** `count` vectors around a moving centre: what is near changes with every batch. */
function makeRows(count, dim) {
  const centre = Float32Array.from({ length: dim }, () => Math.random() - 0.5);
  return Float32Array.from({ length: count * dim },
    (_, i) => centre[i % dim] + (Math.random() - 0.5) / 2);
}

async function write(index, { dim, batch, rowsMax }, first) {
  for (let at = first * batch; ; at = (at + kUnderWay * batch) % rowsMax) {
    await mayWrite;
    const ids = Array.from({ length: batch }, (_, i) => at + i);
    await index.upsert(ids, makeRows(batch, dim));
  }
}

async function start({ maxBytes, ...options }) {
  const index = await VectorIndex.create({ dim: options.dim }, { maxBytes });
  self.postMessage({ handle: index.share() });
  const writing = Array.from({ length: kUnderWay }, (_, i) => write(index, options, i));
  await Promise.all(writing);
}

self.addEventListener('message', ({ data }) => {
  if (data.start) {
    start(data.start).catch(({ message }) => self.postMessage({ failed: message }));
  }
  if (data.paused) mayWrite = new Promise((resolve) => { goOn = resolve; });
  else if (data.paused === false) goOn();
});
