// The table of bad input: each row is refused with the error it names, and nothing has changed.
import { afterAll, describe, expect, test } from 'vitest';
import { Filter, VectorIndex, VicinalError } from 'vicinal';
import { backends, create, errorOf } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';

const dim = 6;
const good = [1, 2, 3, 4, 5, 6];

async function fill(index) {
  const rows = randomRows(1, 20, dim);
  await index.add(range(20), rows);
  return { index, rows };
}

async function filled(load) {
  return fill(await create({ dim }, load));
}

function withValue(value, at = 2) {
  return good.map((x, i) => (i === at ? value : x));
}

const vectors = [
  ['a short row', [[1, 2, 3]], 'DIMENSION', /3 .*6/],
  ['a long row', [[...good, 7]], 'DIMENSION', /7 .*6/],
  ['a short flat array', new Float32Array(5), 'DIMENSION', /5 .*6/],
  ['two rows for one id', new Float32Array(12), 'DIMENSION', /12 .*6/],
  ['two vectors for one id', [good, good], 'DIMENSION', /2 vectors for 1/],
  ['no vector', [], 'DIMENSION', /0 vectors for 1/],
  ['NaN', [withValue(NaN)], 'NOT_FINITE', /coordinate 2 of row 0/],
  ['infinity', Float64Array.from(withValue(-Infinity)), 'NOT_FINITE', /coordinate 2 of row 0/],
  ['a magnitude of 1e16', [withValue(-1e16)], 'NOT_FINITE', /coordinate 2 of row 0/],
  ['a double beyond float32', [withValue(1e300)], 'NOT_FINITE', /coordinate 2 of row 0/],
  ['null', [withValue(null)], 'NOT_FINITE', /coordinate 2 of row 0/],
  ['a string', [withValue('4')], 'NOT_FINITE', /coordinate 2 of row 0/],
  ['a hole', [[1, 2, , 4, 5, 6]], 'NOT_FINITE', /coordinate 2 of row 0/],
  ['a plain flat array', good, 'DIMENSION', /6 vectors for 1 .*Float32Array/],
  ['undefined', undefined, 'BAD_OPTION', /vectors/],
  ['a row that is none', [7], 'BAD_OPTION', /row 0/],
  ['bigints', new BigInt64Array(6), 'BAD_OPTION', /BigInt64Array/],
  ['a DataView', new DataView(new ArrayBuffer(24)), 'BAD_OPTION', /DataView/],
];

const ids = [-1, 1.5, 2 ** 53, NaN, Infinity, -1n, 2n ** 53n, 2n ** 64n, '5', null, undefined, {}];

const indexOptions = [
  [undefined, 'options'], [null, 'options'], [{}, 'dim'], [{ dim: 0 }, 'dim'],
  [{ dim: 1.5 }, 'dim'], [{ dim: 16385 }, 'dim'], [{ dim: NaN }, 'dim'], [{ dim: '8' }, 'dim'],
  [{ dim, bits: 5 }, 'bits'], [{ dim, bits: '4' }, 'bits'], [{ dim, metric: 'dot' }, 'metric'],
  [{ dim, seed: -1 }, 'seed'], [{ dim, seed: 2n ** 64n }, 'seed'], [{ dim, seed: 0.5 }, 'seed'],
  [{ dim, ids: 'uuid' }, 'ids'], [{ dim, originals: 'yes' }, 'originals'],
  [{ dim, partitions: 0 }, 'partitions'], [{ dim, partitions: 'many' }, 'partitions'],
];

const loadOptions = [
  [{ maxBytes: 0 }, 'maxBytes'], [{ maxBytes: NaN }, 'maxBytes'], [{ maxBytes: '1' }, 'maxBytes'],
  [{ threads: -1 }, 'threads'], [{ threads: 'yes' }, 'threads'], [{ simd: 'avx' }, 'simd'],
  [{ backend: 'gpu' }, 'backend'], [{ worker: 7 }, 'worker'], [{ wasm: 7 }, 'wasm'], [7, 'load'],
  [{ signal: 7 }, 'signal'], [{ onProgress: 7 }, 'onProgress'],
];

/** A good value of every option, by the argument of create that it belongs to. */
const places = {
  index: { metric: 'l2', bits: 2, originals: 'none', partitions: 'none', ids: 'bigint', seed: 1 },
  load: {
    maxBytes: 2 ** 28, signal: new AbortController().signal, onProgress() {}, threads: 2,
    simd: 'scalar', backend: 'wasm', wasm: new ArrayBuffer(8), worker: 'file:///worker.js',
  },
};
const misplaced = [
  ...Object.entries(places.index).map(([name, value]) =>
    [name, { dim }, { [name]: value }, /expected among those of the index/]),
  ...Object.entries(places.load).map(([name, value]) =>
    [name, { dim, [name]: value }, {}, /expected among those of loading/]),
  ['dim', { dim: undefined }, { dim }, /dim/],
];

const later = [{ dim, partitions: 100 }];

const searchOptions = [
  [{ k: -1 }, 'BAD_OPTION'], [{ k: 1.5 }, 'BAD_OPTION'], [{ k: NaN }, 'BAD_OPTION'],
  [{ k: '3' }, 'BAD_OPTION'], [{ k: Infinity }, 'BAD_OPTION'], [{ k: null }, 'BAD_OPTION'],
  [{ minScore: NaN }, 'BAD_OPTION'], [{ minScore: '1' }, 'BAD_OPTION'],
  [{ certainty: -1 }, 'BAD_OPTION'], [{ certainty: NaN }, 'BAD_OPTION'],
  [{ recall: 0 }, 'BAD_OPTION'], [{ recall: 1.1 }, 'BAD_OPTION'], [{ probes: 0 }, 'BAD_OPTION'],
  [{ probes: 'some' }, 'BAD_OPTION'], [{ rerank: -1 }, 'BAD_OPTION'],
  [{ rerank: 40 }, 'BAD_OPTION'], [{ minSequence: NaN }, 'BAD_OPTION'],
  [{ minSequence: 1e9 }, 'WOULD_BLOCK'], [{ after: 7 }, 'BAD_OPTION'],
  [{ after: { id: -1, score: 0 } }, 'BAD_ID'], [{ after: { id: 1, score: NaN } }, 'BAD_OPTION'],
  [{ after: { id: 1 } }, 'BAD_OPTION'], [{ filter: 7 }, 'BAD_OPTION'],
  [{ filter: [1, -1] }, 'BAD_ID'], [{ filter: ['1'] }, 'BAD_ID'], [null, 'BAD_OPTION'],
];

test.each(indexOptions)('create(%o) is BAD_OPTION and names %s', async (options, name) => {
  const error = await errorOf(() => VectorIndex.create(options));
  expect(error).toBeInstanceOf(VicinalError);
  expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(name) });
});

test.each(loadOptions)('loading with %o is BAD_OPTION and names %s', async (load, name) => {
  const error = await errorOf(() => VectorIndex.create({ dim }, load));
  expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(name) });
});

test.each(misplaced)('%s among the options of the other kind is BAD_OPTION',
  async (name, options, load, message) => {
    const error = await errorOf(() => VectorIndex.create(options, load));
    expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(name) });
    expect(error.message).toMatch(message);
  });

test('one object may have the options of both kinds, for both', async () => {
  const both = { dim, bits: 2, maxBytes: 2 ** 28, threads: false };
  const index = await create(both, both);
  expect(index.bits).toBe(2);
  expect(index.stats().threads).toBe(false);
});

test('new tells how an index is made', async () => {
  for (const argument of [undefined, null, 7, { dim }]) {
    const error = await errorOf(() => new VectorIndex(argument));
    expect(error).toBeInstanceOf(VicinalError);
    expect(error.message).toContain('VectorIndex.create');
  }
});

test.each(later)('create(%o) is UNSUPPORTED for now', async (options) => {
  expect((await errorOf(() => VectorIndex.create(options))).code).toBe('UNSUPPORTED');
});

test.each([{ backend: 'native' }, { threads: false, simd: 'scalar' },
  { threads: false, simd: 'relaxed' }])(
  'loading with %o is UNSUPPORTED', async (load) => {
    expect((await errorOf(() => VectorIndex.create({ dim }, load))).code).toBe('UNSUPPORTED');
  });

describe.each(backends)('bad input, $name', ({ load }) => {
  // One index takes all that is refused: it must not change.
  let common;

  afterAll(async () => (await common)?.index.close());

  async function refuses(run, code, message = /./) {
    common ??= VectorIndex.create({ dim }, load).then(fill);
    const { index, rows } = await common;
    const { sequence } = index;
    const error = await errorOf(() => run(index, rows));
    expect(error).toBeInstanceOf(VicinalError);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect([index.size, index.sequence]).toEqual([20, sequence]);
    expect(index.search(row(rows, dim, 5), { k: 1 }).ids[0]).toBe(5);
    return index;
  }

  test.each(vectors)('rows: %s', async (_name, rows, code, message) => {
    await refuses((index) => index.add([100], rows), code, message);
    await refuses((index) => index.upsert([3], rows), code, message);
  });

  test('a bad row is named, also far behind in a large batch', async () => {
    const rows = randomRows(2, 5000, dim);
    rows[4321 * dim + 5] = NaN;
    await refuses((index) => index.add(range(5000, 100), rows), 'NOT_FINITE',
      /coordinate 5 of row 4321/);
  });

  test('queries are refused like rows', async () => {
    for (const [, rows, code] of vectors.filter(([, value]) => value?.length === 1)) {
      await refuses((index) => index.search(rows[0]), code);
      await refuses((index) => index.searchAsync(rows[0]), code);
      await refuses((index) => index.searchBatch([good, rows[0]]), code);
    }
    await refuses((index) => index.search(undefined), 'BAD_OPTION', /the query/);
    await refuses((index) => index.search([good]), 'DIMENSION', /the query has 1 .*6/);
    await refuses((index) => index.search([1, 2]), 'DIMENSION', /the query has 2 .*6/);
    await refuses((index) => index.search(new Float32Array(5)), 'DIMENSION', /query has 5 .*6/);
    await refuses((index) => index.searchBatch([good, [1]]), 'DIMENSION', /query 1 has 1 .*6/);
    await refuses((index) => index.searchBatch(good), 'BAD_OPTION', /query 0 .*Float32Array/);
    await refuses((index) => index.search(withValue(null)), 'NOT_FINITE', /2 of the query/);
    await refuses((index) => index.search(new BigUint64Array(6)), 'BAD_OPTION');
    await refuses((index) => index.search(withValue(NaN)), 'NOT_FINITE', /ordinate 2 of the query/);
    await refuses((index) => index.searchAsync(withValue(NaN)), 'NOT_FINITE', /2 of the query/);
    await refuses((index) => index.searchBatch(new Float32Array(13)), 'DIMENSION', /13.*6/);
    await refuses((index) => index.searchBatch(7), 'BAD_OPTION');
    await refuses((index) => index.searchBatch([good, withValue(NaN)]), 'NOT_FINITE',
      /2 of query 1/);
  });

  test.each(ids)('id %o is BAD_ID', async (id) => {
    await refuses((index) => index.add([id], [good]), 'BAD_ID', /position 0/);
    await refuses((index) => index.add([100, id], [good, good]), 'BAD_ID', /position 1/);
    await refuses((index) => index.remove([1, id]), 'BAD_ID', /position 1/);
    await refuses((index) => index.has(id), 'BAD_ID');
    await refuses((index) => index.get(id), 'BAD_ID');
    await refuses((index) => index.filter([id]), 'BAD_ID');
  });

  test('ids that are no list are BAD_OPTION', async () => {
    for (const list of [7, null, undefined, {}, new DataView(new ArrayBuffer(8))]) {
      await refuses((index) => index.add(list, [good]), 'BAD_OPTION', /ids/);
    }
  });

  test.each([2 ** 31, 2 ** 32, 2 ** 40, 2 ** 53 - 1])(
    'lists that claim %i entries are a typed error', async (length) => {
      const typed = async (run) => refuses(async (index) => {
        const error = await errorOf(() => run(index));
        if (!['BAD_ID', 'FULL', 'DIMENSION', 'NOT_FINITE', 'BAD_OPTION'].includes(error.code)) {
          throw error;
        }
        throw new VicinalError('FULL', 'as expected');
      }, 'FULL');
      await typed((index) => index.add({ length }, [good]));
      await typed((index) => index.remove({ length }));
      await typed((index) => index.filter({ length }));
      await typed((index) => index.add([100], { length }));
      await typed((index) => index.add([100], [{ length }]));
      await typed((index) => index.search({ length }));
      await typed((index) => index.searchBatch({ length }));
    });

  test('lists whose length changes or is none are a typed error', async () => {
    const changing = (...values) => ({ get length() { return values.shift(); }, 0: 100 });
    for (const value of [-1, 1.5, NaN, '1', undefined, Infinity, 2n]) {
      await refuses((index) => index.add(changing(value), [good]), 'BAD_OPTION', /ids/);
      await refuses((index) => index.searchBatch(changing(value)), 'BAD_OPTION', /queries/);
      await refuses((index) => index.remove(new Proxy([1], {
        get: (target, key) => (key === 'length' ? value : target[key]),
      })), 'BAD_OPTION', /ids/);
    }
    const { index } = await common;
    expect(index.search(good, { filter: changing(1, 1.5, -1) }).length).toBe(0);
  });

  test('a duplicate id is named, in the batch and in the index', async () => {
    await refuses((index) => index.add([100, 7], [good, good]), 'DUPLICATE_ID', /\b7\b/);
    await refuses((index) => index.add([100, 101, 100], [good, good, good]), 'DUPLICATE_ID',
      /\b100\b/);
  });

  test.each(searchOptions)('search(query, %o) is %s', async (options, code) => {
    await refuses((index) => index.search(good, options), code);
    await refuses((index) => index.searchAsync(good, options), code);
    await refuses((index) => index.searchBatch([good], options), code);
  });

  test('what is no signal and no callback is BAD_OPTION, and null is none', async () => {
    for (const signal of [7, {}, 'now', { aborted: false }]) {
      await refuses((index) => index.add([100], [good], { signal }), 'BAD_OPTION', /signal/);
      await refuses((index) => index.clear({ signal }), 'BAD_OPTION', /signal/);
      await refuses((index) => index.searchAsync(good, { signal }), 'BAD_OPTION', /signal/);
    }
    for (const onProgress of [7, {}, 'now']) {
      await refuses((index) => index.upsert([1], [good], { onProgress }), 'BAD_OPTION',
        /onProgress/);
    }
    const { index } = await filled(load);
    await index.add([100], [good], { signal: null, onProgress: null });
    expect((await index.searchAsync(good, { k: 1, signal: null })).length).toBe(1);
  });

  test('a filter that is no list is named', async () => {
    for (const filter of [7, 'ids', () => true, {}]) {
      await refuses((index) => index.search(good, { filter }), 'BAD_OPTION', /filter/);
    }
  });

  test('options without effect on a flat index are accepted', async () => {
    const { index } = await filled(load);
    const hits = index.search(good, { recall: 0.9, probes: 'all', rerank: 0, minSequence: 1 });
    expect(hits.length).toBe(10);
    expect(hits.reranked).toBe(false);
  });

  test('durable: true is UNSUPPORTED in memory', async () => {
    await refuses((index) => index.add([100], [good], { durable: true }), 'UNSUPPORTED');
    await refuses((index) => index.add([100], [good], null), 'BAD_OPTION');
  });

  test('a detached view is a typed error, a view with an offset or shared memory is right',
    async () => {
      const { index, rows } = await filled(load);
      const gone = new Float32Array(good);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      await refuses((one) => one.search(gone), 'BAD_OPTION', /detached/);
      await refuses((one) => one.add([100], gone), 'BAD_OPTION', /detached/);
      await refuses((one) => one.add([100], [gone]), 'BAD_OPTION', /detached/);
      const goneIds = new Float64Array([100]);
      structuredClone(goneIds.buffer, { transfer: [goneIds.buffer] });
      await refuses((one) => one.add(goneIds, new Float32Array(0)), 'BAD_OPTION', /detached/);
      const shared = new Float32Array(new SharedArrayBuffer(4 * 20 * dim + 8), 8);
      shared.set(rows);
      for (let i = 0; i < 20; ++i) {
        expect(index.search(row(shared, dim, i), { k: 1 }).ids[0]).toBe(i);
      }
      await index.upsert(range(20), shared);
      expect(index.search(row(rows, dim, 9), { k: 1 }).ids[0]).toBe(9);
    });

  test('a view counts as long as it is, whatever it says of itself', async () => {
    const lie = (view, length) => Object.defineProperty(view, 'length', { value: length });
    const { index, rows } = await filled(load);
    const long = lie(new Float32Array(1000).fill(1), dim);
    const short = lie(new Float32Array(dim - 1).fill(1), dim);
    for (const view of [long, short]) {
      await refuses((one) => one.search(view), 'DIMENSION');
      await refuses((one) => one.searchBatch([good, view]), 'DIMENSION');
      await refuses((one) => one.add([100], view), 'DIMENSION');
      await refuses((one) => one.add([100], [view]), 'DIMENSION');
    }
    await refuses((one) => one.searchBatch(lie(new Float32Array(dim + 1), dim)), 'DIMENSION');
    const modest = lie(new Float32Array(row(rows, dim, 7)), 1);
    expect(index.search(modest, { k: 1 }).ids[0]).toBe(7);
  });

  test('what a caller\'s iterator or getter throws passes unchanged', async () => {
    const { index, rows } = await filled(load);
    const boom = new Error('boom');
    function* throwing() {
      yield 1;
      throw boom;
    }
    const vector = { length: dim, get 0() { throw boom; } };
    expect(await errorOf(() => index.search(good, { filter: throwing() }))).toBe(boom);
    expect(await errorOf(() => index.searchAsync(good, { filter: throwing() }))).toBe(boom);
    expect(await errorOf(() => index.filter(throwing()))).toBe(boom);
    expect(await errorOf(() => index.search(vector))).toBe(boom);
    expect(await errorOf(() => index.add([100], [vector]))).toBe(boom);
    expect(await errorOf(() => index.remove(throwing()))).toBe(boom);
    expect(index.size).toBe(20);
    expect(index.search(row(rows, dim, 5), { k: 1 }).ids[0]).toBe(5);
  });

  test('a filter or a query that searches the same reader disturbs nothing', async () => {
    const { index, rows } = await filled(load);
    function* nosy() {
      for (let i = 0; i < 20; ++i) {
        expect(index.search(row(rows, dim, i), { k: 1, filter: [i] }).ids[0]).toBe(i);
        yield i;
      }
    }
    const query = new Proxy(Array.from(row(rows, dim, 4)), {
      get(target, key) {
        index.search(row(rows, dim, 8), { k: 3 });
        return target[key];
      },
    });
    const plain = index.search(row(rows, dim, 4), { k: 20 });
    const nested = index.search(query, { k: 20, filter: nosy() });
    expect(Array.from(nested.ids)).toEqual(Array.from(plain.ids));
  });

  test('a filter is a Filter and can be used by every reader', async () => {
    const { index } = await filled(load);
    const filter = index.filter([3, 4]);
    expect(filter).toBeInstanceOf(Filter);
    expect(filter.size).toBe(2);
    const snapshot = index.snapshot();
    expect(snapshot.search(good, { filter }).length).toBe(2);
    expect(index.search(good, { filter }).length).toBe(2);
  });
});
