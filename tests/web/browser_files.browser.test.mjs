// Files of browsers: the origin's private file system, file handles and addresses.
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { create, errorOf } from './support/backends.mjs';
import { expectSameBytes, goldenFile, saved } from './support/files.mjs';
import { row } from './support/random.mjs';

const load = { maxBytes: 2 ** 26 };

async function open(source, options = load) {
  const index = await VectorIndex.open(source, options);
  onTestFinished(() => index.close());
  return index;
}

async function names(directory) {
  const found = [];
  for await (const name of (directory ?? await navigator.storage.getDirectory()).keys()) {
    found.push(name);
  }
  return found.sort();
}

afterEach(async () => {
  const root = await navigator.storage.getDirectory();
  for (const name of await names(root)) await root.removeEntry(name, { recursive: true });
});

test('opfs:NAME is written, replaced and opened', async () => {
  const { index, rows, bytes } = await saved(load);
  await index.save('opfs:x.vic');
  await index.save('opfs:deep/er/y.vic');
  for (const source of ['opfs:x.vic', 'opfs:deep/er/y.vic', new URL('opfs:x.vic')]) {
    const opened = await open(source);
    const query = row(rows, 24, 4);
    expect(opened.search(query).ids).toEqual(index.search(query).ids);
    expect(await opened.toBytes()).toEqual(bytes);
  }
  await index.add([5], [row(rows, 24, 0)]);
  await index.save('opfs:x.vic');
  expect((await open('opfs:x.vic')).size).toBe(index.size);
  expect(await names()).toEqual(['deep', 'x.vic']);
});

test('a file handle is written and opened', async () => {
  const { index, bytes } = await saved(load);
  const root = await navigator.storage.getDirectory();
  const handle = await root.getFileHandle('handle.vic', { create: true });
  expect((await errorOf(() => open(handle))).code).toBe('CORRUPT');
  const fresh = await open(handle, { ...load, create: { dim: 5 } });
  expect([fresh.dim, fresh.size]).toEqual([5, 0]);
  expect((await errorOf(() => index.save(handle))).code, 'an index lives there').toBe('IO');
  await fresh.close();
  const done = [];
  await index.save(handle, { onProgress: (at) => done.push(at) });
  expect(done.at(-1)).toEqual({ done: bytes.length, total: bytes.length });
  const again = await open(handle, { ...load, create: { dim: 5 } });
  expect(again.dim).toBe(24);
  await again.close();
  await root.removeEntry('handle.vic');
  expect((await errorOf(() => open(handle))).code).toBe('IO');
  const made = await open(handle, { ...load, create: { dim: 5 } });
  expect(made.dim).toBe(5);
  await made.close();
});

test('a save onto the file that an index lives in keeps it there, by any name', async () => {
  const index = await VectorIndex.open('opfs:own.vic', { ...load, create: { dim: 3 } });
  const root = await navigator.storage.getDirectory();
  for (const own of ['opfs:own.vic', new URL('opfs:own.vic'),
    await root.getFileHandle('own.vic')]) {
    await index.upsert([index.size], [[1, 2, 3]]);
    await index.save(own);
  }
  await index.close();
  expect((await open('opfs:own.vic', { ...load, readOnly: true })).size).toBe(3);
});

test('create makes a file that opfs does not have, and folders on its way', async () => {
  for (const name of ['opfs:new.vic', 'opfs:none/new.vic']) {
    expect((await errorOf(() => open(name))).code).toBe('IO');
    const thrown = new Error('mine');
    expect(await errorOf(() => open(name, {
      ...load, create: { dim: 3 }, onProgress() { throw thrown; },
    }))).toBe(thrown);
    expect((await errorOf(() => open(name))).code, 'it is gone again').toBe('IO');
    const index = await open(name, { ...load, create: { dim: 3 } });
    await index.add([1], [[1, 2, 3]]);
    await index.close();
    expect((await open(name, { ...load, readOnly: true })).size).toBe(1);
  }
  expect(await names()).toEqual(['new.vic', 'none']);
});

test('a save that is stopped or fails leaves what was there', async () => {
  const { index, bytes } = await saved(load, { count: 20_000 });
  const stopped = async (name) => {
    const stop = new AbortController();
    const onProgress = () => stop.abort();
    return (await errorOf(() => index.save(name, { signal: stop.signal, onProgress }))).code;
  };
  expect(await stopped('opfs:x.vic')).toBe('ABORTED');
  expect(await names()).toEqual([]);
  await index.save('opfs:x.vic');
  expect(await stopped('opfs:x.vic')).toBe('ABORTED');
  expect((await open('opfs:x.vic')).size).toBe(index.size);
  expectSameBytes(await (await open('opfs:x.vic')).toBytes(), bytes);
  const root = await navigator.storage.getDirectory();
  await root.getDirectoryHandle('folder', { create: true });
  expect((await errorOf(() => index.save('opfs:folder'))).code).toBe('IO');
  expect((await errorOf(() => open('opfs:folder'))).code).toBe('IO');
  for (const name of ['opfs:', 'opfs:a//b', 'opfs:../x']) {
    expect((await errorOf(() => index.save(name))).code).toBe('BAD_OPTION');
    expect((await errorOf(() => open(name))).code).toBe('BAD_OPTION');
  }
});

test('a full disk, a handle without createWritable and a path are told apart', async () => {
  const { index } = await saved(load);
  const root = await navigator.storage.getDirectory();
  const real = await root.getFileHandle('x.vic', { create: true });
  let aborted = 0;
  const full = {
    kind: 'file', name: 'full.vic', getFile: () => real.getFile(),
    createWritable: async () => ({
      write: async () => { throw new DOMException('no room', 'QuotaExceededError'); },
      abort: async () => { ++aborted; },
    }),
  };
  expect(await errorOf(() => index.save(full))).toMatchObject({
    code: 'FULL', cause: { name: 'QuotaExceededError' },
  });
  expect(aborted).toBe(1);
  const old = { kind: 'file', name: 'old.vic', getFile: () => real.getFile() };
  expect((await errorOf(() => index.save(old))).code).toBe('UNSUPPORTED');
  const error = await errorOf(() => index.save('some/path.vic'));
  expect(error.code).toBe('UNSUPPORTED');
  expect(error.message).toContain('opfs:NAME');
});

test('without a private file system a whole file is kept in IndexedDB', async () => {
  const { storage } = navigator;
  Object.defineProperty(navigator, 'storage', { configurable: true, value: {} });
  try {
    await keepInIndexedDb();
  } finally {
    Object.defineProperty(navigator, 'storage', { configurable: true, value: storage });
    indexedDB.deleteDatabase('vicinal');
  }
});

async function keepInIndexedDb() {
  const { index, rows, bytes } = await saved(load);
  expect((await errorOf(() => open('opfs:deep/x.vic'))).code).toBe('IO');
  expect((await errorOf(() => index.save('opfs:../x.vic'))).code).toBe('BAD_OPTION');
  const fresh = await open('opfs:deep/x.vic', { ...load, create: { dim: 24, bits: 2 } });
  expect((await errorOf(() => fresh.add([1], row(rows, 24, 0), { durable: true }))).code)
    .toBe('UNSUPPORTED');
  await index.save('opfs:deep/x.vic');
  const opened = await open('opfs:deep/x.vic');
  expectSameBytes(await opened.toBytes(), bytes);
  await index.add([5], [row(rows, 24, 0)]);
  const stop = new AbortController();
  expect((await errorOf(() => index.save('opfs:deep/x.vic', {
    signal: stop.signal, onProgress: () => stop.abort(),
  }))).code).toBe('ABORTED');
  expect((await open('opfs:deep/x.vic')).size).toBe(opened.size);
  await index.save('opfs:deep/x.vic');
  expect((await open('opfs:deep/x.vic')).size).toBe(index.size);
}

test('an address is fetched, a relative one as fetch takes it', async () => {
  const url = new URL('../data/plain.vic', import.meta.url);
  const bytes = await goldenFile('plain');
  const seen = [];
  for (const source of [url, url.href, url.pathname]) {
    const opened = await open(source, { ...load, onProgress: (at) => seen.push(at) });
    expect(await opened.toBytes()).toEqual(bytes);
  }
  expect(seen.at(-1)).toEqual({ loadedBytes: bytes.length, totalBytes: bytes.length });
  expect((await errorOf(() => open('blob:nothing'))).code).toBe('IO');
  const index = await create({ dim: 2 }, load);
  expect(index.size).toBe(0);
});
