// Indexes as bytes, and the golden files.
import { expect } from 'vitest';
import { randomRows, range } from './random.mjs';
import { create } from './backends.mjs';

export const inNode = globalThis.process?.versions?.node !== undefined;

// Literals, so that Vite finds the files.
const golden = {
  plain: new URL('../../data/plain.vic', import.meta.url),
  calibrated: new URL('../../data/calibrated.vic', import.meta.url),
};

/** A golden file's bytes; its case of conformance.json has the name below. */
export async function goldenFile(name) {
  if (!inNode) return new Uint8Array(await (await fetch(golden[name])).arrayBuffer());
  const { readFile } = await import(/* @vite-ignore */ 'node:fs/promises');
  return new Uint8Array(await readFile(golden[name]));
}

export const goldenCases = [
  ['plain', '3 bits, l2'], ['calibrated', 'calibrated, 4 bits, removals'],
];

/** An index of `count` rows whose ids begin at 10, some of them removed, and its bytes. */
export async function saved(load, { count = 60, ...options } = {}) {
  const shape = { dim: 24, bits: 2, ...options };
  const index = await create(shape, load);
  const rows = randomRows(count + 1, count, shape.dim);
  if (count > 0) await index.add(range(count, 10), rows);
  if (count > 9) await index.remove([12, 13]);
  return { index, rows, shape, bytes: await index.toBytes() };
}

/** As toEqual, which takes seconds for a few megabytes. */
export function expectSameBytes(bytes, expected) {
  expect(bytes).toBeInstanceOf(Uint8Array);
  expect(bytes.length).toBe(expected.length);
  const different = bytes.findIndex((byte, i) => byte !== expected[i]);
  expect(different, 'the first byte that differs').toBe(-1);
}

/** A stream of these chunks; `onCancel` hears when it is given up. */
export function streamOf(chunks, onCancel = () => undefined) {
  const left = chunks[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const { done, value } = left.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: onCancel,
  }, { highWaterMark: 0 });
}

export function* pieces(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}
