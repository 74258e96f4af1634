// Relaxed SIMD behind a flag of Node: where it is wrong, it is not used, asked for or not.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const flag = '--experimental-wasm-relaxed-simd';
const url = (path) => JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url).href);

// The dot is (-3 * 5) * 4 + 1, computed by a module of its own; 125 is -3 in LEB128.
const program = `
  import { VectorIndex, VicinalError } from ${url('index.js')};
  import { relaxedSimd } from ${url('backend/relaxed_simd.js')};
  const splat = (value) => [65, value, 253, 15];
  const body = [0, ...splat(125), ...splat(5), 65, 1, 253, 17, 253, 147, 2, 253, 27, 0, 11];
  const code = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0,
    7, 5, 1, 1, 102, 0, 0, 10, body.length + 2, 1, body.length, ...body]);
  const dot = WebAssembly.validate(code)
    ? new WebAssembly.Instance(new WebAssembly.Module(code)).exports.f() : undefined;
  const kernels = {};
  for (const simd of ['auto', 'relaxed']) {
    try {
      const index = await VectorIndex.create({ dim: 4 }, { simd, maxBytes: 2 ** 24 });
      await index.add([7], [[1, 2, 3, 4]]);
      kernels[simd] = index.search([1, 2, 3, 4]).ids[0] === 7 && index.stats().kernel;
      await index.close();
    } catch (error) {
      kernels[simd] = error.code + ' ' + error.message;
    }
  }
  console.log(JSON.stringify({ dot, found: relaxedSimd(), kernels }));`;

function run(flags, source) {
  const { stdout, stderr, status } = spawnSync(process.execPath,
    [...flags, '--input-type=module', '--eval', source], { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

// What browsers do under a content security policy, and where a process has too many memories.
const refusing = `
  import { VectorIndex } from ${url('index.js')};
  import { relaxedSimd } from ${url('backend/relaxed_simd.js')};
  const refuse = () => { throw new Error('refused'); };
  const real = { Module: WebAssembly.Module, Instance: WebAssembly.Instance };
  WebAssembly.validate = () => true;
  const seen = [];
  for (const name of ['Module', 'Instance']) {
    WebAssembly[name] = class extends real[name] { constructor() { super(refuse()); } };
    seen.push(relaxedSimd());
    const asked = await VectorIndex.create({ dim: 4 }, { simd: 'relaxed' }).catch((e) => e.code);
    WebAssembly[name] = real[name];
    seen.push(asked);
  }
  console.log(JSON.stringify(seen));`;

test('where the test of relaxed SIMD may not be run, it is not used', () => {
  expect(run([], refusing)).toEqual(['missing', 'UNSUPPORTED', 'missing', 'UNSUPPORTED']);
});

function expectedOf(dot) {
  if (dot === undefined) return ['missing', 'wasm', /^UNSUPPORTED .* has no relaxed SIMD$/];
  if (dot !== -59) return ['wrong', 'wasm', /^UNSUPPORTED .* computes wrong results$/];
  return ['right', 'wasm_relaxed', /^wasm_relaxed$/];
}

test.each([['without the flag', []], ['with it', [flag]]])(
  'relaxed SIMD is used only where it computes right, %s', (_name, flags) => {
    const { dot, found, kernels } = run(acceptsFlag() ? flags : [], program);
    const [state, byDefault, asked] = expectedOf(dot);
    expect(found).toBe(state);
    expect(kernels.auto).toBe(byDefault);
    expect(kernels.relaxed).toMatch(asked);
  });

/** Engines that have it without a flag may have dropped the flag. */
function acceptsFlag() {
  return spawnSync(process.execPath, [flag, '--eval', '0']).status === 0;
}
