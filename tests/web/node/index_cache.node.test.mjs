// Many index files behind one budget, in Node.
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { IndexCache, VectorIndex } from 'vicinal';
import { errorOf } from '../support/backends.mjs';
import { folder, open, openFiles } from '../support/node_files.mjs';
import { randomRows, range, row } from '../support/random.mjs';

const dim = 16;
const kLarge = 2 ** 29;

/** A file whose ids tell which it is: (i + 1) * 1000 and on. */
async function makeFiles(made, count, rows = 200) {
  const files = [];
  for (let i = 0; i < count; ++i) {
    const file = made.file(`${i}.vic`);
    const index = await VectorIndex.create({ dim }, { threads: false });
    await index.add(range(rows, (i + 1) * 1000), randomRows(i + 1, rows, dim));
    await index.save(file);
    await index.close();
    files.push(file);
  }
  return files;
}

function cacheOf(maxBytes, options) {
  const cache = new IndexCache(maxBytes, options);
  onTestFinished(() => cache.close());
  return cache;
}

const whose = (reader) => {
  const [hit] = reader.search(row(randomRows(9, 1, dim), dim, 0), { k: 1 });
  return Math.floor(hit.id / 1000) - 1;
};

async function bytesOfOne(file, options) {
  const cache = cacheOf(kLarge, options);
  await cache.session().get(file);
  return cache.stats().bytes;
}

describe.each([['threads', {}], ['single', { threads: false }]])('%s', (_name, load) => {
  test('a file is opened once, however many want it, and hits are synchronous', async () => {
    const [file] = await makeFiles(folder(), 1);
    const cache = cacheOf(kLarge, load);
    const sessions = range(5).map(() => cache.session());
    const readers = await Promise.all(sessions.map((session) => session.get(file)));
    for (const reader of readers) expect(whose(reader)).toBe(0);
    expect(sessions[0].hit(pathToFileURL('/elsewhere'))).toBeUndefined();
    for (let i = 0; i < 300; ++i) expect(whose(sessions[i % 5].hit(file))).toBe(0);
    expect(cache.stats()).toMatchObject({ opens: 1, misses: 5, hits: 300, indexes: 1,
      sessions: 5, failures: 0, evictions: 0 });
  });

  test('what was used last stays, what is in hand does not go, and the budget holds', async () => {
    const files = await makeFiles(folder(), 3);
    const one = await bytesOfOne(files[0], load);
    const cache = cacheOf(Math.floor(2.5 * one), load);
    const [a, b, c] = range(3).map(() => cache.session());
    const first = await a.get(files[0]);
    await b.get(files[1]);
    const full = await errorOf(() => c.get(files[2]));
    expect(full.code).toBe('FULL');
    expect(whose(first)).toBe(0);
    b.close();
    expect(whose(await c.get(files[2]))).toBe(2);
    expect(whose(first)).toBe(0);
    expect(cache.stats()).toMatchObject({ evictions: 1, failures: 1, indexes: 2, sessions: 2 });
    expect(cache.stats().bytes).toBeLessThanOrEqual(cache.stats().maxBytes);
    expect(c.hit(files[1])).toBeUndefined();
    expect(whose(await c.get(files[1]))).toBe(1);  // in the place of the one that it had
    expect(cache.stats().evictions).toBe(2);
    expect(whose(first)).toBe(0);
  });

  test('an error is told to each who waits, and not remembered', async () => {
    const made = folder();
    const file = made.file('0.vic');
    const cache = cacheOf(kLarge, load);
    const errors = await Promise.all(range(3).map(() => errorOf(() => cache.session().get(file))));
    expect(errors.map(({ code }) => code)).toEqual(['IO', 'IO', 'IO']);
    expect(cache.stats()).toMatchObject({ failures: 1, indexes: 0, bytes: 0 });
    await makeFiles(made, 1);
    expect(whose(await cache.session().get(file))).toBe(0);
    fs.writeFileSync(made.file('text'), 'this is no index at all');
    expect((await errorOf(() => cache.session().get(made.file('text')))).code).toBe('CORRUPT');
  });

  test('a file that was replaced is opened anew when it is dropped', async () => {
    const files = await makeFiles(folder(), 2);
    const cache = cacheOf(kLarge, load);
    const session = cache.session();
    const before = await session.get(files[0]);
    fs.renameSync(files[1], files[0]);
    expect(cache.drop(files[0])).toBe(true);
    expect(cache.drop(files[0])).toBe(false);
    expect(whose(before)).toBe(0);
    expect(whose(await session.get(files[0]))).toBe(1);
    expect(cache.stats()).toMatchObject({ indexes: 1, opens: 2 });
  });

  test('close ends indexes, sessions and what is being opened', async () => {
    const files = await makeFiles(folder(), 2);
    const before = openFiles();
    const cache = cacheOf(kLarge, load);
    const session = cache.session();
    const reader = await session.get(files[0]);
    const opening = errorOf(() => cache.session().get(files[1]));
    await cache.close();
    expect((await opening).code).toBe('CLOSED');
    expect(() => reader.search(new Float32Array(dim))).toThrow(/closed/);
    expect((await errorOf(() => session.get(files[0]))).code).toBe('CLOSED');
    expect((await errorOf(() => cache.session())).code).toBe('CLOSED');
    expect(cache.stats()).toMatchObject({ indexes: 0, bytes: 0, sessions: 0 });
    await vi.waitFor(() => expect(openFiles()).toBe(before), 10_000);
  });

  test('what was dropped while it was opened is opened anew, and ended by close', async () => {
    const files = await makeFiles(folder(), 2);
    const cache = cacheOf(kLarge, load);
    const opening = cache.session().get(files[0]);
    expect(cache.drop(files[0])).toBe(false);
    fs.renameSync(files[1], files[0]);
    expect(whose(await opening)).toBe(1);
    const before = openFiles();
    const late = errorOf(() => cache.session().get(files[1]));
    cache.drop(files[1]);
    await cache.close();
    expect(['IO', 'CLOSED']).toContain((await late).code);
    await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before), 10_000);
  });

  test('nothing goes for what has no room even so', async () => {
    const made = folder();
    const files = await makeFiles(made, 2);
    const large = made.file('large.vic');
    const index = await VectorIndex.create({ dim }, { threads: false });
    await index.add(range(50_000), randomRows(3, 50_000, dim));
    await index.save(large);
    await index.close();
    const cache = cacheOf(3 * await bytesOfOne(files[0], load), load);
    const session = cache.session();
    for (let turn = 0; turn < 2; ++turn) {
      for (const file of files) await session.get(file);
      expect((await errorOf(() => session.get(large))).code).toBe('FULL');
    }
    expect(cache.stats()).toMatchObject({ evictions: 0, indexes: 2, hits: 2, opens: 2 });
  });

  test('an index of the cache cannot be closed or written to by its user', async () => {
    const [file] = await makeFiles(folder(), 1);
    const session = cacheOf(kLarge, load).session();
    const reader = await session.get(pathToFileURL(file));
    for (const name of ['close', 'add', 'clear', Symbol.dispose, Symbol.asyncDispose]) {
      expect(reader[name], String(name)).toBeUndefined();
    }
    expect([reader.dim, reader.bits, reader.metric, reader.size]).toEqual([dim, 4, 'cosine', 200]);
    expect(reader.searchBatch([new Float32Array(dim)], { k: 2 })[0].length).toBe(2);
    expect((await reader.searchAsync(new Float32Array(dim), { k: 3 })).length).toBe(3);
    expect(reader.get(1001).length).toBe(dim);
    expect(reader.filter([1, 2]).size).toBe(2);
    const snapshot = reader.snapshot();
    expect(snapshot.size).toBe(200);
    await snapshot.close();
    expect(session.hit(pathToFileURL(file))).toBe(reader);
    expect(reader.stats().size).toBe(200);
  });
});

test('a hit sees what was written, also where the count of rows is the same', async () => {
  const file = folder().file('x.vic');
  const writer = await open(file, { create: { dim } });
  await writer.add(range(10), randomRows(1, 10, dim));
  await writer.flush();
  const cache = cacheOf(kLarge);
  const session = cache.session();
  expect((await session.get(file)).has(5)).toBe(true);
  await writer.remove([5]);
  await writer.add([77], randomRows(2, 1, dim));
  await writer.flush();
  await vi.waitFor(() => {
    const reader = session.hit(file);
    expect([reader.size, reader.has(5), reader.has(77)]).toEqual([10, false, true]);
  }, 10_000);
  expect(cache.stats().opens).toBe(1);
});

test('an index that grows pushes others out', async () => {
  const made = folder();
  const [other] = await makeFiles(made, 1, 60_000);
  const file = made.file('grows.vic');
  const writer = await open(file, { create: { dim } });
  await writer.add([1], randomRows(1, 1, dim));
  await writer.flush();
  const full = await VectorIndex.create({ dim }, { threads: false });
  await full.add(range(20_001), randomRows(2, 20_001, dim));
  const grown = full.stats().bytes.total;
  await full.close();
  const large = await bytesOfOne(other);
  expect(large).toBeGreaterThan(2 * grown);
  const cache = cacheOf(large + grown / 2);
  const session = cache.session();
  await session.get(other);
  await session.get(file);
  expect(cache.stats()).toMatchObject({ indexes: 2, evictions: 0 });
  await writer.add(range(20_000, 10), randomRows(2, 20_000, dim));
  await writer.flush();
  await vi.waitFor(() => {
    expect(session.hit(file).size).toBe(20_001);
    expect(cache.stats().indexes).toBe(1);
  }, 20_000);
  expect(cache.stats().evictions).toBe(1);
});

test('a signal ends the wait of one, not the opening for others', async () => {
  const [file] = await makeFiles(folder(), 1);
  const cache = cacheOf(kLarge);
  const controller = new AbortController();
  const aborted = errorOf(() => cache.session().get(file, { signal: controller.signal }));
  const opened = cache.session().get(file);
  controller.abort();
  expect((await aborted).code).toBe('ABORTED');
  expect(whose(await opened)).toBe(0);
  expect(cache.stats().opens).toBe(1);
  expect((await errorOf(() => cache.session().get(file, { signal: controller.signal }))).code)
    .toBe('ABORTED');
  const session = cache.session();
  const early = errorOf(() => session.get(folder().file('slow')));
  await session.get(file);
  expect(['ABORTED', 'IO']).toContain((await early).code);
});

test('bad input is told before anything is opened', async () => {
  for (const maxBytes of [0, -1, 0.5, NaN, '1', undefined, null]) {
    expect((await errorOf(() => new IndexCache(maxBytes))).code).toBe('BAD_OPTION');
  }
  expect((await errorOf(() => new IndexCache(1000, { simd: 'x' }))).code).toBe('BAD_OPTION');
  const session = cacheOf(1000).session();
  for (const source of ['', 5, undefined, null]) {
    expect((await errorOf(() => session.get(source))).code).toBe('BAD_OPTION');
    expect(() => session.hit(source)).toThrow(/source/);
  }
});
