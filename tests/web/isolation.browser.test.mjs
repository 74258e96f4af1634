// What a page can and cannot do, on its main thread and without cross-origin isolation.
import { afterEach, describe, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { create, errorOf } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';

const maxBytes = 2 ** 26;

describe('the main thread of an isolated page', () => {
  test('it cannot sleep, and searches beside a busy writer all the same', async () => {
    expect(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)).toThrow();
    const [dim, count] = [16, 2000];
    const rows = randomRows(1, count, dim);
    const index = await create({ dim }, { maxBytes });
    await index.add(range(count), rows);
    let writing = true;
    const writes = (async () => {
      for (let i = 0; i < 60; ++i) await index.upsert(range(200, i * 20), rows.slice(0, 200 * dim));
      writing = false;
    })();
    let searches = 0;
    while (writing) {
      for (let i = 0; i < 50; ++i, ++searches) {
        expect(index.search(row(rows, dim, i), { k: 5 }).length).toBe(5);
      }
      await new Promise((resolve) => { setTimeout(resolve, 0); });
    }
    await writes;
    expect(searches).toBeGreaterThan(0);
    expect(index.stats()).toMatchObject({ threads: true, isolated: true });
  });
});

describe('a page that is not isolated', () => {
  const isolated = Object.getOwnPropertyDescriptor(globalThis, 'crossOriginIsolated');

  afterEach(() => {
    Object.defineProperty(globalThis, 'crossOriginIsolated', isolated);
  });

  function leaveIsolation() {
    Object.defineProperty(globalThis, 'crossOriginIsolated', { value: false, configurable: true });
  }

  test('it gets the thread-less build with the same methods', async () => {
    leaveIsolation();
    const index = await create({ dim: 2 }, { maxBytes, threads: 4 });
    await index.add([1], [[1, 2]]);
    expect((await index.searchAsync([1, 2])).ids[0]).toBe(1);
    expect(index.stats()).toMatchObject({ threads: false, isolated: false });
    expect((await errorOf(() => index.share())).code).toBe('UNSUPPORTED');
  });

  test('threads: true is UNSUPPORTED and says which headers are missing', async () => {
    leaveIsolation();
    const error = await errorOf(() => VectorIndex.create({ dim: 2 }, { threads: true }));
    expect(error).toMatchObject({ code: 'UNSUPPORTED' });
    expect(error.message).toMatch(/Cross-Origin-Opener-Policy/);
  });
});

test('a worker script that is not there is IO', async () => {
  const worker = new URL('./nowhere/worker.js', location.href);
  const error = await errorOf(() => VectorIndex.create({ dim: 2 }, { maxBytes, worker }));
  expect(error.code).toBe('IO');
});

test('the wasm file may be a response whose progress is told', async () => {
  const url = new URL('../../dist/vicinal-scalar.wasm', import.meta.url);
  const seen = [];
  const index = await create({ dim: 2 }, {
    maxBytes, simd: 'scalar', wasm: await fetch(url), onProgress: (progress) => seen.push(progress),
  });
  expect(index.stats().kernel).toBe('scalar');
  expect(seen.at(-1).loadedBytes).toBeGreaterThan(10_000);
});
