// The builds of the core differ in the instructions they use, never in a bit of a result; and the
// test of an engine's relaxed SIMD finds the engines that are wrong.
import { describe, expect, test } from 'vitest';
import { computesRight, relaxedSimd } from '../../dist/backend/relaxed_simd.js';
import { create, errorOf, plain } from './support/backends.mjs';
import { newSeed, random, randomRows, range, row, scale } from './support/random.mjs';
import { VectorIndex } from 'vicinal';

const maxBytes = 2 ** 26;
const inPage = typeof document !== 'undefined';

const builds = ['scalar', 'wasm', ...relaxedSimd() === 'right' ? ['relaxed'] : []];

test('Chromium has relaxed SIMD that computes right: the tests below mean it', () => {
  expect(inPage ? relaxedSimd() : 'right').toBe('right');
});

test.each(builds)('simd: %s names its kernels', async (simd) => {
  const index = await create({ dim: 4 }, { maxBytes, simd });
  expect(index.stats().kernel).toBe(simd === 'relaxed' ? 'wasm_relaxed' : simd);
});

test('by default the fastest build is loaded that the engine computes right', async () => {
  const index = await create({ dim: 4 }, { maxBytes });
  expect(index.stats().kernel).toBe(builds.includes('relaxed') ? 'wasm_relaxed' : 'wasm');
});

test('where relaxed SIMD is missing or wrong, asking for it is UNSUPPORTED', async () => {
  const load = { maxBytes, simd: 'relaxed' };
  if (relaxedSimd() === 'right') {
    expect((await create({ dim: 4 }, load)).size).toBe(0);
    return;
  }
  const error = await errorOf(() => VectorIndex.create({ dim: 4 }, load));
  expect(error).toMatchObject({
    code: 'UNSUPPORTED', message: expect.stringContaining('relaxed SIMD'),
  });
});

test('a file that does not go with `simd` is refused', async () => {
  const url = (name) => new URL(`../../dist/${name}.wasm`, import.meta.url);
  const codeOf = async (load) =>
    (await errorOf(() => VectorIndex.create({ dim: 4 }, { maxBytes, ...load }))).code;
  const here = relaxedSimd() === 'right';
  const relaxed = url('vicinal-relaxed');
  expect(await codeOf({ simd: 'relaxed', wasm: url('vicinal') }))
    .toBe(here ? 'BAD_OPTION' : 'UNSUPPORTED');
  if (here) expect(await codeOf({ simd: 'wasm', wasm: relaxed })).toBe('BAD_OPTION');
  else expect(await codeOf({ wasm: relaxed })).toMatch(/CORRUPT|UNSUPPORTED/);
});

/**
 * Hits whose scores show every kernel: whole codes by an exhaustive search; by certainty 0 bounds,
 * which are below about half of the scores and then stand for them.
 */
async function everything(index, queries, dim, count) {
  const results = [];
  for (let i = 0; i < queries.length / dim; ++i) {
    const query = row(queries, dim, i);
    for (const options of [{ exhaustive: true }, { certainty: 0 }, {}]) {
      results.push(plain(index.search(query, { k: count, ...options })));
    }
  }
  return results;
}

describe('the builds agree to the bit', () => {
  const dims = [63, 136, 1032];

  test.each([1, 2, 3, 4, 8])('%i bits', async (bits) => {
    const next = random(newSeed(`${bits} bits`));
    const metrics = ['cosine', 'ip', 'l2'];
    for (const dim of [...dims, ...range(scale).map(() => 1 + Math.floor(next() * 900))]) {
      const metric = metrics[Math.floor(next() * 3)];
      const count = 1 + Math.floor(next() * 100);
      const rows = randomRows(next() * 2 ** 31, count + 2, dim);
      let expected;
      for (const simd of builds) {
        const index = await VectorIndex.create({ dim, bits, metric }, { maxBytes, simd });
        await index.add(range(count), rows.slice(0, count * dim));
        const found = await everything(index, rows.slice(count * dim), dim, count);
        await index.close();
        expect(found, `${simd}, dim ${dim}, ${metric}, ${count} rows`).toEqual(expected ?? found);
        expected ??= found;
      }
    }
  });
});

describe('the test of relaxed SIMD', () => {
  /** An engine as it should be, and the ways in which it could be wrong. */
  function engine({ lookUp = (table, index) => table[index], product = (a, b) => a * b,
    pair = (a, b) => a + b, sum = (before, products) => before + products } = {}) {
    const memory = new ArrayBuffer(128);
    const bytes = new Int8Array(memory);
    const words = new Int32Array(memory);
    return computesRight(memory, () => {
      for (let i = 0; i < 16; ++i) bytes[64 + i] = lookUp(bytes.subarray(0, 16), bytes[16 + i], i);
      for (let i = 0; i < 4; ++i) {
        const at = (lane) => product(bytes[lane], bytes[32 + lane], lane);
        const products = pair(at(4 * i), at(4 * i + 1)) + pair(at(4 * i + 2), at(4 * i + 3));
        words[20 + i] = sum(words[12 + i], products, i);
      }
    });
  }

  const saturate = (value, limit) => Math.max(-limit, Math.min(limit - 1, value));
  const wrong = {
    'a lookup that sees eight entries': { lookUp: (table, index) => table[index % 8] },
    'a lookup that gives 0 above seven': { lookUp: (t, index) => index < 8 ? t[index] : 0 },
    'a lookup of the lane itself': { lookUp: (table, _index, lane) => table[lane] },
    'first factors without sign': { product: (a, b) => (a & 255) * b },
    'second factors of six bits': { product: (a, b) => a * (b & 63) },
    'a lane that takes its neighbour': { product: (a, b, lane) => lane === 15 ? 0 : a * b },
    'products of eight bits': { product: (a, b) => saturate(a * b, 128) },
    'pairs that saturate one bit early': { pair: (a, b) => saturate(a + b, 2 ** 14) },
    'a sum that is not added': { sum: (_before, products) => products },
    'a sum that is doubled, as in Node 20': { sum: (_before, products) => 2 * products },
    'sums of 16 bits': { sum: (before, products) => (before + products) << 16 >> 16 },
    'nothing': { sum: () => 0, lookUp: () => 0 },
  };

  test('it passes an engine that is right', () => {
    expect(engine()).toBe(true);
  });

  test.each(Object.keys(wrong))('it finds %s', (name) => {
    expect(engine(wrong[name])).toBe(false);
  });
});
