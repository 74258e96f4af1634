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
  const { exports } = instance;
  exports.__wasm_call_ctors();
  const textAt = (address) => {
    const bytes = new Uint8Array(memory.buffer, address >>> 0, 1024);
    return String.fromCharCode(...bytes.subarray(0, bytes.indexOf(0)));
  };
  return {
    best: () => textAt(exports.best()),
    defects: () => exports.defects(),
    defectKernel: (defect) => textAt(exports.defect_kernel(defect)),
    compare: (seed) => textAt(exports.compare(seed)),
    compareDefect: (seed, defect) => textAt(exports.compare_defect(seed, defect)),
  };
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
    for (const seed of range(scale).map(() => newSeed(kernel))) {
      expect(checks.compare(seed)).toBe('');
    }
  });

  // One of them: the native test finds them all.
  test('the comparison finds a kernel that is wrong on purpose', async () => {
    const checks = await start(url);
    const seed = newSeed(`defect in ${kernel}`);
    const defect = seed % checks.defects();
    expect(checks.compareDefect(seed, defect).split(',')[0], `defect ${defect}`)
      .toBe(checks.defectKernel(defect));
  });
});
