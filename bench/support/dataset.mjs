// The rows and queries of a benchmark: files, or made data.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { mixture } from './mixture.mjs';

const kClusters = 200;

/** The first `most` rows of an fvecs file: { dim, rows }. */
async function readFvecs(file, most) {
  const bytes = await readFile(file);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const dim = view.getInt32(0, true);
  const stride = 4 * (dim + 1);
  const count = Math.min(most, Math.floor(bytes.length / stride));
  const rows = new Float32Array(count * dim);
  for (let row = 0, at = 0; row < count; ++row) {
    if (view.getInt32(row * stride, true) !== dim) throw new Error(`${file}: row ${row} differs`);
    for (let i = 0; i < dim; ++i) rows[at++] = view.getFloat32(row * stride + 4 * (i + 1), true);
  }
  return { dim, rows };
}

/**
 * { name, dim, base, queries }, rows of unit length. `data` and `queries`: fvecs files; without
 * them a mixture of `n` rows and 64 queries of `dim` coordinates.
 */
export async function dataset({ data, queries: queryFile, n, dim, seed }) {
  if (data === undefined) {
    const made = normalised(mixture(seed, n + 64, dim, kClusters), dim);
    return { name: 'mixture', dim, base: made.slice(0, n * dim), queries: made.slice(n * dim) };
  }
  if (queryFile === undefined) throw new Error('--data needs --queries');
  const base = await readFvecs(data, n);
  const queries = await readFvecs(queryFile, 64);
  if (queries.dim !== base.dim) throw new Error('--queries: of another dimension than --data');
  return { name: path.basename(data), dim: base.dim, base: normalised(base.rows, base.dim),
    queries: normalised(queries.rows, base.dim) };
}

function normalised(rows, dim) {
  for (let at = 0; at < rows.length; at += dim) {
    let square = 0;
    for (let i = 0; i < dim; ++i) square += rows[at + i] ** 2;
    const scale = square > 0 ? 1 / Math.sqrt(square) : 0;
    for (let i = 0; i < dim; ++i) rows[at + i] *= scale;
  }
  return rows;
}
