// Small seeded data with exact truth, in the formats that the command line reads.
import { writeFileSync } from 'node:fs';
import path from 'node:path';

const DIM = 32;
const ROWS = 1000;
const QUERIES = 20;
const NEIGHBOURS = 100;
const SEED = 1;

/** mulberry32: 32 bits of state, uniform in [0, 1). */
function uniform(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function randomRows(count, next) {
  return Array.from({ length: count }, () => {
    const row = Float32Array.from({ length: DIM }, () => next() + next() + next() - 1.5);
    const length = Math.hypot(...row);
    return row.map((value) => value / length);
  });
}

function dot(a, b) {
  return a.reduce((sum, value, index) => sum + value * b[index], 0);
}

function nearest(base, query) {
  const scored = base.map((row, id) => ({ id, score: dot(row, query) }));
  scored.sort((a, b) => b.score - a.score || a.id - b.id);
  return Int32Array.from(scored.slice(0, NEIGHBOURS), ({ id }) => id);
}

/** The fvecs or ivecs bytes of equally long rows: per row its length, then its values. */
function vecs(rows) {
  const bytes = new Uint8Array(rows.length * 4 * (1 + rows[0].length));
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const row of rows) {
    view.setInt32(offset, row.length, true);
    bytes.set(new Uint8Array(row.buffer, row.byteOffset, row.byteLength), offset + 4);
    offset += 4 + row.byteLength;
  }
  return bytes;
}

/** Writes base.fvecs, queries.fvecs and truth.ivecs (exact cosine neighbours, best first). */
export function writeVectors(folder) {
  const next = uniform(SEED);
  const base = randomRows(ROWS, next);
  const queries = randomRows(QUERIES, next);
  const truth = queries.map((query) => nearest(base, query));
  writeFileSync(path.join(folder, 'base.fvecs'), vecs(base));
  writeFileSync(path.join(folder, 'queries.fvecs'), vecs(queries));
  writeFileSync(path.join(folder, 'truth.ivecs'), vecs(truth));
}
