// User code inside a call: iterators, getters and callbacks that close the reader or give away the
// memory of the input. The call is CLOSED, a typed error, or right; nothing stays open behind it.
import { describe, expect, test } from 'vitest';
import { VectorIndex, VicinalError } from 'vicinal';
import { backends, create, errorOf, withThreads } from './support/backends.mjs';
import { randomRows, range } from './support/random.mjs';

const dim = 8;
const query = [1, 2, 3, 4, 5, 6, 7, 8];

async function filled(load, count = 50) {
  const index = await create({ dim }, load);
  await index.add(range(count), randomRows(1, count, dim));
  return index;
}

/** Places of a search where code of the caller runs, as (query, options) that run `hook`. */
const places = {
  filter: (hook) => [query, { filter: (function* ids() { hook(); yield 1; })() }],
  coordinate: (hook) => [{ ...query, length: dim, get 3() { hook(); return 4; } }, {}],
  length: (hook) => [{ ...query, get length() { hook(); return dim; } }, {}],
  k: (hook) => [query, { get k() { hook(); return 3; } }],
  minScore: (hook) => [query, { get minScore() { hook(); return -5; } }],
  after: (hook) => [query, { get after() { hook(); return { id: 1, score: 1 }; } }],
  afterId: (hook) => [query, { after: { get id() { hook(); return 1; }, score: 1 } }],
  signal: (hook) => [query, { get signal() { hook(); } }],
  aborted: (hook) => [query, {
    signal: {
      get aborted() { hook(); return false; }, addEventListener() {}, removeEventListener() {},
    },
  }],
};
const searches = {
  search: (reader, [vector, options]) => reader.search(vector, options),
  searchBatch: (reader, [vector, options]) => reader.searchBatch([query, vector], options),
  searchAsync: (reader, [vector, options]) => reader.searchAsync(vector, options),
};
const searchCases = Object.keys(searches).flatMap((method) =>
  Object.keys(places).map((place) => [method, place]));

describe.each(backends)('closing inside a call, $name', ({ load }) => {
  test.each(searchCases)('%s of a snapshot, closed by its %s', async (method, place) => {
    const index = await filled(load);
    const before = index.stats().readers;
    const snapshot = index.snapshot();
    let closing;
    const input = places[place](() => { closing ??= snapshot.close(); });
    let outcome;
    try {
      outcome = await searches[method](snapshot, input);
    } catch (error) {
      expect(error).toBeInstanceOf(VicinalError);
      expect(error.code).toBe('CLOSED');
    }
    // What does not look at this place at all is answered as ever.
    if (outcome !== undefined) expect(closing).toBeUndefined();
    await closing;
    await snapshot.close();
    expect(index.stats().readers).toBe(before);
    expect(index.search(query).length).toBe(10);
  });

  test.each(searchCases)('%s of an index, closed by its %s', async (method, place) => {
    const index = await filled(load);
    let closing;
    const input = places[place](() => { closing ??= index.close(); });
    try {
      await searches[method](index, input);
      expect(closing).toBeUndefined();
    } catch (error) {
      expect([error.code, error.message]).toEqual(['CLOSED', expect.any(String)]);
    }
    await closing;
  });

  const writes = {
    ids: (hook) => [(function* ids() { hook(); yield 100; })(), [query]],
    idLength: (hook) => [{ get length() { hook(); return 1; }, 0: 100 }, [query]],
    rows: (hook) => [[100], { length: 1, get 0() { hook(); return query; } }],
    coordinate: (hook) => [[100], [{ ...query, length: dim, get 2() { hook(); return 3; } }]],
    durable: (hook) => [[100], [query], { get durable() { hook(); return false; } }],
    signal: (hook) => [[100], [query], { get signal() { hook(); } }],
    aborted: (hook) => [[100], [query], {
      signal: {
        get aborted() { hook(); return false; }, addEventListener() {}, removeEventListener() {},
      },
    }],
    onProgress: (hook) => [[100], [query], { onProgress: hook }],
  };

  test.each(Object.keys(writes))('a write, closed by its %s', async (place) => {
    for (const method of ['add', 'upsert', 'remove']) {
      const index = await filled(load, 5);
      let closing;
      const [ids, rows, options] = writes[place](() => { closing ??= index.close(); });
      try {
        if (method === 'remove') await index.remove(ids, options);
        else await index[method](ids, rows, options);
      } catch (error) {
        expect([error.code, error.message]).toEqual(['CLOSED', expect.any(String)]);
      }
      await closing;
      await index.close();
      expect((await errorOf(() => index.search(query))).code).toBe('CLOSED');
    }
  });

  test('ids and filters whose iterator closes the reader', async () => {
    const index = await filled(load);
    const snapshot = index.snapshot();
    const before = index.stats().readers;
    expect(snapshot.filter((function* ids() { snapshot.close(); yield 1; })()).size).toBe(1);
    expect((await errorOf(() => snapshot.has(1))).code).toBe('CLOSED');
    for (const id of [{ toString() { index.close(); return ''; } }, Object.create(null)]) {
      expect((await errorOf(() => index.has(id))).code).toBe('BAD_ID');
      expect((await errorOf(() => index.get(id))).code).toBe('BAD_ID');
    }
    expect(index.stats().readers).toBe(before - 1);
  });
});

describe.each(withThreads)('closing an attached reader, $name', ({ load }) => {
  test.each(searchCases)('%s, closed by its %s', async (method, place) => {
    const index = await filled(load);
    const before = index.stats().readers;
    const reader = await VectorIndex.attach(index.share());
    let closing;
    const input = places[place](() => { closing ??= reader.close(); });
    await Promise.resolve().then(() => searches[method](reader, input))
      .then(() => expect(closing).toBeUndefined(), (error) => expect(error.code).toBe('CLOSED'));
    await closing;
    await reader.close();
    expect(index.stats().readers).toBe(before);
  });
});

const transfer = (view) => structuredClone(view.buffer, { transfer: [view.buffer] });
const canResize = typeof ArrayBuffer.prototype.resize === 'function';

describe.each(backends)('input that moves inside a call, $name', ({ load }) => {
  const count = 40_000;

  /** A write of `count` rows whose first onProgress does `move` to the array; what is stored. */
  async function stored(view, move) {
    const index = await create({ dim, bits: 8 }, load);
    let calls = 0;
    await index.add(range(count), view, {
      onProgress({ done }) {
        if (calls++ === 0) move(view, done);
      },
    });
    return { index, calls };
  }

  async function same(view, move) {
    const rows = randomRows(3, count, dim);
    view.set(rows);
    const { index, calls } = await stored(view, move);
    expect(calls).toBeGreaterThan(1);
    const whole = await create({ dim, bits: 8 }, load);
    await whole.add(range(count), rows);
    expect(index.size).toBe(count);
    for (let id = 0; id < count; id += 997) expect(index.get(id)).toEqual(whole.get(id));
    expect(index.get(count - 1)).toEqual(whole.get(count - 1));
  }

  test('onProgress that transfers the array changes nothing', async () => {
    await same(new Float32Array(count * dim), transfer);
  });

  test('onProgress that overwrites the array changes nothing', async () => {
    await same(new Float64Array(count * dim), (view) => view.fill(7));
  });

  test.skipIf(!canResize)('onProgress that shrinks the array changes nothing', async () => {
    for (const bytes of [0, 4000, 4 * dim * 100 + 2]) {
      const buffer = new ArrayBuffer(4 * count * dim, { maxByteLength: 4 * count * dim });
      await same(new Float32Array(buffer), () => buffer.resize(bytes));
    }
  });

  test('an option that transfers the array is a typed error, never other rows', async () => {
    const view = new Float32Array(randomRows(4, 10, dim));
    const index = await filled(load);
    const gone = (options) => errorOf(() => index.add(range(10, 100), view, options));
    expect((await gone({ get signal() { transfer(view); } })).code).toBe('BAD_OPTION');
    const late = new Float32Array(randomRows(4, 10, dim));
    const signal = {
      get aborted() { if (late.length > 0) transfer(late); return false; },
      addEventListener() {}, removeEventListener() {},
    };
    expect((await errorOf(() => index.add(range(10, 100), late, { signal }))).code)
      .toBe('BAD_OPTION');
    expect(index.size).toBe(50);
  });

  test('a query whose neighbour transfers it is answered for what it was', async () => {
    const index = await filled(load);
    const plain = index.search(query, { k: 50 });
    const first = new Float32Array(query);
    const second = {
      ...query,
      length: dim,
      get 5() {
        if (first.length > 0) transfer(first);
        return 6;
      },
    };
    const [a, b] = index.searchBatch([first, second], { k: 50 });
    expect(first.length).toBe(0);
    expect([a.ids, b.ids]).toEqual([plain.ids, plain.ids]);
  });
});
