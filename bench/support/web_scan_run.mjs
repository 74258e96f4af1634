// The measuring half of bench/web_scan.mjs, the same in Node and in a page: its answer is
// cloneable.
import { VectorIndex } from '../../dist/index.js';
import { mixture } from './mixture.mjs';
import { percentiles } from './percentiles.mjs';
import { plainSearch } from './web_peers.mjs';

const K = 10;
const CLUSTERS = 200;
const QUERIES = 64;
const ADD_ROWS = 10_000;
/** Rounds of all variants, one after the other; a slow variant searches less often in each. */
const ROUNDS = 12;
const SLICE_MS = 250;
const WARM_UP_MS = 700;

/** Rows of unit length, so that the plain loop ranks by cosine as well. */
function normalise(rows, dim) {
  for (let at = 0; at < rows.length; at += dim) {
    let square = 0;
    for (let i = 0; i < dim; ++i) square += rows[at + i] ** 2;
    const scale = 1 / Math.sqrt(square);
    for (let i = 0; i < dim; ++i) rows[at + i] *= scale;
  }
}

function searchFor(ms, search, queries, dim, times) {
  const end = performance.now() + ms;
  for (let i = 0; performance.now() < end; ++i) {
    const at = i % QUERIES * dim;
    const query = queries.subarray(at, at + dim);
    const start = performance.now();
    search(query);
    times.push((performance.now() - start) * 1000);
  }
}

/** `made` without those that this engine or build lacks. */
async function openVariants(names, options, maxBytes) {
  const variants = [];
  for (const simd of names) {
    try {
      variants.push({ name: simd, index: await VectorIndex.create(options, { simd, maxBytes }) });
    } catch (error) {
      if (error.code !== 'UNSUPPORTED') throw error;
    }
  }
  return variants;
}

/**
 * Searches of `n` rows: rows of { variant, kernel, p50_us, p99_us, searches, recall }, recall being
 * the share of the plain loop's answer.
 */
export async function measureScan({ n, dim, bits, seed, variants: names }) {
  const rows = mixture(seed, n + QUERIES, dim, CLUSTERS);
  normalise(rows, dim);
  const queries = rows.slice(n * dim);
  const base = rows.subarray(0, n * dim);
  const maxBytes = 2 ** 28;
  const variants = await openVariants(names.filter((name) => name !== 'plain'), { dim, bits },
    maxBytes);
  for (const variant of variants) {
    const { index } = variant;
    for (let at = 0; at < n; at += ADD_ROWS) {
      const count = Math.min(ADD_ROWS, n - at);
      await index.add(Array.from({ length: count }, (_, i) => at + i),
        base.subarray(at * dim, (at + count) * dim));
    }
    variant.kernel = index.stats().kernel;
    variant.search = (query) => index.search(query, { k: K }).ids;
  }
  if (names.includes('plain')) {
    const search = (query) => plainSearch(base, n, dim, query, K);
    variants.push({ name: 'plain', kernel: 'none', search });
  }
  for (const variant of variants) {
    searchFor(WARM_UP_MS, variant.search, queries, dim, []);
    variant.times = [];
  }
  for (let round = 0; round < ROUNDS; ++round) {
    for (const { search, times } of variants) searchFor(SLICE_MS, search, queries, dim, times);
  }
  const truth = Array.from({ length: QUERIES },
    (_, i) => new Set(plainSearch(base, n, dim, queries.subarray(i * dim, (i + 1) * dim), K)));
  const results = variants.map(({ name, kernel, search, times }) => {
    let found = 0;
    for (let i = 0; i < QUERIES; ++i) {
      for (const id of search(queries.subarray(i * dim, (i + 1) * dim))) found += truth[i].has(id);
    }
    return { variant: name, kernel, ...percentiles(times), searches: times.length,
      recall: found / (K * QUERIES) };
  });
  for (const { index } of variants) await index?.close();
  return results;
}

/** Rows a second that `add` takes in: { variant, dim, rows_per_s }, the best of three. */
export async function measureAdd({ dim, bits, rows: count, seed, variants: names }) {
  const rows = mixture(seed, count, dim, CLUSTERS);
  const variants = await openVariants(names, { dim, bits }, 2 ** 28);
  const ids = Array.from({ length: count }, (_, i) => i);
  for (const variant of variants) variant.best_ms = Infinity;
  for (let round = 0; round < 4; ++round) {
    for (const variant of variants) {
      const start = performance.now();
      await variant.index.upsert(ids, rows);
      if (round > 0) variant.best_ms = Math.min(variant.best_ms, performance.now() - start);
    }
  }
  for (const { index } of variants) await index.close();
  return variants.map(({ name, best_ms: ms }) => (
    { variant: name, rows_per_s: Math.round(count / ms * 1000) }));
}
