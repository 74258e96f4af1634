// Every kernel of the WebAssembly builds against its scalar twin, bit by bit, run by the engine
// itself: tests/wasm/kernel_check.cpp.
import { describe, expect, test } from 'vitest';
import { relaxedSimd } from '../../dist/backend/relaxed_simd.js';
import { newSeed, range, scale } from './support/random.mjs';

const kPages = 1024;
const inNode = typeof process !== 'undefined' && process.versions?.node !== undefined;

async function bytesOf(url) {
  if (!inNode) return (await fetch(url)).arrayBuffer();
  const { readFile } = await import(/* @vite-ignore */ 'node:fs/promises');
  return readFile(url);
}

/** The module's functions; texts as strings. */
async function start(url) {
  const memory = new WebAssembly.Memory({ initial: kPages, maximum: kPages, shared: true });
  const module = await WebAssembly.compile(await bytesOf(url));
  const env = { memory };
  for (const { name, kind } of WebAssembly.Module.imports(module)) {
    if (kind === 'function') env[name] = () => { throw new Error(`the module calls ${name}`); };
  }
  const instance = await WebAssembly.instantiate(module, { env });
  const { best, compare, __wasm_call_ctors: construct } = instance.exports;
  construct();
  const textAt = (address) => {
    const bytes = new Uint8Array(memory.buffer, address >>> 0, 1024);
    return String.fromCharCode(...bytes.subarray(0, bytes.indexOf(0)));
  };
  return { best: () => textAt(best()), compare: (...args) => textAt(compare(...args)) };
}

// The addresses stay literal: bundlers match the text.
const modules = [{
  kernel: 'wasm', url: new URL('../../build/wasm/tests/wasm/wasm.wasm', import.meta.url),
}];
if (relaxedSimd() === 'right') {
  modules.push({ kernel: 'wasm_relaxed',
    url: new URL('../../build/wasm/tests/wasm/relaxed.wasm', import.meta.url) });
}

describe.each(modules)('$kernel', ({ kernel, url }) => {
  test('every kernel gives the bits of its scalar twin', async () => {
    const checks = await start(url);
    expect(checks.best()).toBe(kernel);
    for (const seed of [20240917, ...range(scale).map(() => newSeed(kernel))]) {
      expect(checks.compare(seed, 0)).toBe('');
    }
  });

  test('the comparison finds a kernel that is wrong', async () => {
    const checks = await start(url);
    expect(checks.compare(20240917, 1)).toMatch(/^quantise, /);
  });
});
