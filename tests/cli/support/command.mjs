// Runs the command line tool, and makes the files that it reads.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const COMMAND = process.env.VICINAL_COMMAND ?? path.join(ROOT, 'build', 'native', 'vicinal');

const data = (name) => path.join(ROOT, 'tests', 'data', `glove100-2k.${name}`);
export const BASE = data('base.fvecs');
export const QUERIES = data('query.fvecs');
export const TRUTH = data('gt100.ivecs');

/** A folder that is removed when the test file ends; `file(name)` is a path in it. */
export function temporaryFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'vicinal-cli-'));
  return {
    folder,
    file: (name) => path.join(folder, name),
    write(name, content) {
      writeFileSync(path.join(folder, name), content);
      return path.join(folder, name);
    },
    names: () => readdirSync(folder),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** @returns { status, stdout, stderr } */
export function runCommand(args, { input, env = {}, cwd } = {}) {
  const { status, signal, stdout, stderr, error } = spawnSync(COMMAND, args.map(String), {
    input, cwd, env: { ...process.env, ...env }, encoding: 'utf8', maxBuffer: 256 << 20,
  });
  if (error) throw error;
  return { status: status ?? signal, stdout, stderr };
}

/** Runs with --json; the one object on standard output, and the exit status. */
export function runJson(args, options) {
  const { status, stdout, stderr } = runCommand([...args, '--json'], options);
  if (!/^\{.*\}\n$/.test(stdout)) throw new Error(`not one JSON line: ${stdout}\n${stderr}`);
  return { status, json: JSON.parse(stdout), stdout, stderr };
}

/** As runJson, for a command that has to succeed. @returns the object */
export function succeed(args, options) {
  const { status, json } = runJson(args, options);
  if (status !== 0) throw new Error(`${args.join(' ')}: ${status}: ${JSON.stringify(json)}`);
  return json;
}

/** As runJson, for a command that has to fail. @returns { status, code, message } */
export function fail(args, options) {
  const { status, json } = runJson(args, options);
  if (json.error === undefined) throw new Error(`${args.join(' ')} did not fail`);
  return { status, ...json.error };
}

/** Starts a command whose standard input stays open. `ended` resolves to { status, stdout }. */
export function startCommand(args) {
  const child = spawn(COMMAND, args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text; });
  child.stdin.on('error', () => {}); // it may be gone before it has read everything
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status: status ?? signal, stdout }));
  });
  return { child, ended };
}

/** The rows of an fvecs file as arrays of numbers. */
export function readFvecs(file) {
  return readRecords(file, (view, at) => view.getFloat32(at, true));
}

export function readIvecs(file) {
  return readRecords(file, (view, at) => view.getInt32(at, true));
}

function readRecords(file, load) {
  const bytes = readFileSync(file);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const rows = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getInt32(at, true);
    rows.push(Array.from({ length }, (_, i) => load(view, at + 4 + 4 * i)));
    at += 4 + 4 * length;
  }
  return rows;
}

/** Rows as bytes, each element `width` of them; behind their length unless told not to. */
function records(rows, width, store, { prefix = true } = {}) {
  return Buffer.concat(rows.map((row) => {
    const head = prefix ? 4 : 0;
    const bytes = Buffer.alloc(head + width * row.length);
    if (prefix) bytes.writeInt32LE(row.length);
    row.forEach((value, i) => store(bytes, value, head + width * i));
    return bytes;
  }));
}

const storeFloat = (bytes, value, at) => bytes.writeFloatLE(value, at);
const storeHalf = (bytes, value, at) => bytes.writeUInt16LE(halfOf(value), at);

export const fvecs = (rows) => records(rows, 4, storeFloat);
export const f16vecs = (rows) => records(rows, 2, storeHalf);
export const bvecs = (rows) => records(rows, 1, (bytes, value, at) => bytes.writeUInt8(value, at));
export const ivecs = (rows) =>
  records(rows, 4, (bytes, value, at) => bytes.writeInt32LE(value, at));

/** The bits of a value that a half float holds exactly. */
export function halfOf(value) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude === Infinity) return sign | 0x7c00;
  const exponent = magnitude === 0 ? -15 : Math.floor(Math.log2(magnitude));
  if (exponent < -14) return sign | (magnitude * 2 ** 24);
  return sign | (exponent + 15) << 10 | (magnitude * 2 ** (10 - exponent) - 1024);
}

/** An npy file. `version` 1 to 3; `shape` and `order` may lie. */
export function npy(rows, { type = '<f4', version = 1, order = 'False', shape } = {}) {
  const written = shape ?? `(${rows.length}, ${rows[0]?.length ?? 0})`;
  const text = `{'descr': '${type}', 'fortran_order': ${order}, 'shape': ${written}, }`;
  const lengthBytes = version === 1 ? 2 : 4;
  const padding = 63 - (8 + lengthBytes + text.length) % 64;
  const dictionary = `${text}${' '.repeat(padding)}\n`;
  const head = Buffer.alloc(8 + lengthBytes);
  head.write('\x93NUMPY', 'latin1');
  head.writeUInt8(version, 6);
  head.writeUIntLE(dictionary.length, 8, lengthBytes);
  const data = type === '<f2' ? records(rows, 2, storeHalf, { prefix: false })
    : records(rows, 4, storeFloat, { prefix: false });
  return Buffer.concat([head, Buffer.from(dictionary), data]);
}

/** Words of 64 bits, little-endian. */
export function u64(ids) {
  const bytes = Buffer.alloc(8 * ids.length);
  ids.forEach((id, i) => bytes.writeBigUInt64LE(BigInt(id), 8 * i));
  return bytes;
}

/** Rows of small whole numbers, which every format holds exactly; the same for the same seed. */
export function wholeRows(count, dim, seed = 1) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  };
  return Array.from({ length: count }, () => Array.from({ length: dim }, next));
}

/**
 * An index file without what a writer stores there before it writes anything: a meta slot's turn,
 * and in the live page who it is.
 */
export function withoutTurns(bytes) {
  return Buffer.concat([bytes.subarray(0, 4096), bytes.subarray(4 * 4096)]);
}
