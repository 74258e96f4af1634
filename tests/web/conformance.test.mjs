// The same results, to the bit, as the native core: tests/data/README.md says how the file is made.
import { describe, expect, test } from 'vitest';
import { backends, bitsOf, create } from './support/backends.mjs';
import { SplitMix, range } from './support/random.mjs';

const { default: cases } = await import('../data/conformance.json')
  .catch((error) => ({ default: error }));

function floats(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function vectors(source, dim) {
  if (typeof source === 'string') return floats(source);
  const random = new SplitMix(source.seed);
  return Float32Array.from({ length: source.count * dim }, () => random.coordinate());
}

test('the file of expected results is there', () => {
  expect(Array.isArray(cases), String(cases)).toBe(true);
  expect(cases.length).toBeGreaterThan(0);
});

describe.each(backends)('conformance, $name', ({ load }) => {
  test.each(Array.isArray(cases) ? cases : [{ name: 'no cases' }])('$name', async (one) => {
    const { dim } = one.options;
    const index = await create(one.options, load);
    if (one.sample) await index.calibrate(vectors(one.sample, dim));
    const rows = vectors(one.rows, dim);
    await index.add(one.row_ids ?? range(rows.length / dim), rows);
    if (one.removed) await index.remove(one.removed);
    const queries = vectors(one.queries, dim);
    const expected = bitsOf(floats(one.scores));
    let at = 0;
    for (const [i, hits] of index.searchBatch(queries, { k: one.k }).entries()) {
      expect(Array.from(hits.ids), `query ${i}`).toEqual(one.ids[i]);
      expect(Array.from(bitsOf(hits.scores)), `query ${i}`)
        .toEqual(Array.from(expected.subarray(at, at + hits.length)));
      at += hits.length;
    }
    expect(at).toBe(expected.length);
  });
});
