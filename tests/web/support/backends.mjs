// The back ends that every test of the surface runs on, and indexes that are closed after their
// test.
import { VectorIndex } from 'vicinal';
import { onTestFinished } from 'vitest';

// A budget that fits beside the other memories of a test process.
const maxBytes = 2 ** 28;

export const backends = [
  { name: 'threads', load: { maxBytes } },
  { name: 'scalar', load: { maxBytes, simd: 'scalar' } },
  { name: 'single', load: { maxBytes, threads: false } },
];

export const withThreads = backends.filter(({ name }) => name !== 'single');

/** An index that is closed when the test is over. */
export async function create(options, load) {
  const index = await VectorIndex.create(options, load);
  onTestFinished(() => index.close());
  return index;
}

/** The error that `run` throws or its promise rejects with. */
export async function errorOf(run) {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

/** Same rows, same scores to the bit. */
export function plain(hits) {
  return { ids: Array.from(hits.ids), scores: Array.from(bitsOf(hits.scores)) };
}

export function bitsOf(floats) {
  return new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
}
