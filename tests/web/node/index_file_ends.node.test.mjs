// An index that lives in a file of Node: how openings, saves, writers and the index itself end.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { VectorIndex } from 'vicinal';
import { InlineWriter } from '../../../dist/backend/inline_writer.js';
import { WasmBackend } from '../../../dist/backend/wasm_backend.js';
import { FileTable } from '../../../dist/files/file_table.js';
import { addOpfsFile } from '../../../dist/files/opfs_index_file.js';
import { errorOf } from '../support/backends.mjs';
import { failing, folder, noSpace, open, openFiles } from '../support/node_files.mjs';
import { randomRows, range, row } from '../support/random.mjs';
import { catchWriters } from '../support/workers.mjs';

const dim = 24;
const shape = { dim, bits: 2 };
const threaded = { maxBytes: 2 ** 26 };
const single = { maxBytes: 2 ** 26, threads: false };
const patience = { timeout: 30_000, interval: 5 };

describe.each([['threads', threaded], ['single', single]])('%s', (_name, load) => {
  test('flush is answered while writes keep coming', async () => {
    const index = await open(folder().file('x.vic'), { ...load, create: shape });
    const most = 20_000;
    let writes = 0;
    let flushed = false;
    const feed = async () => {
      while (!flushed && ++writes < most) await index.clear();  // which is made faster than done
    };
    const feeding = range(100).map(feed);
    await index.flush();
    flushed = true;
    expect(writes).toBeLessThan(most);
    await Promise.all(feeding);
  });

  test('close waits for saves of earlier calls, also onto its own file', async () => {
    const at = folder();
    const file = at.file('x.vic');
    const files = openFiles();
    const index = await VectorIndex.open(file, { ...load, create: shape });
    const adding = index.add(range(3000), randomRows(1, 3000, dim));
    const saves = [index.save(at.file('copy.vic')), index.save(file)];
    const closing = index.close();
    expect((await errorOf(() => index.save(file))).code).toBe('CLOSED');
    await Promise.all([adding, ...saves, closing]);
    expect(openFiles()).toBe(files);
    for (const name of ['x.vic', 'copy.vic']) {
      expect((await open(at.file(name), load)).size).toBe(3000);
    }
  });

  test('a signal stops a save onto its own file, too', async () => {
    const file = folder().file('x.vic');
    const index = await open(file, { ...load, create: shape });
    expect((await errorOf(() => index.save(file, { signal: AbortSignal.abort() }))).code)
      .toBe('ABORTED');
    const stop = new AbortController();
    const saving = errorOf(() => index.save(file, { signal: stop.signal }));
    stop.abort();
    expect((await saving).code).toBe('ABORTED');
  });

  test('a signal at the last word of progress leaves nothing open, and nothing made', async () => {
    const at = folder();
    const file = at.file('x.vic');
    const files = openFiles();
    const opening = () => {
      const stop = new AbortController();
      return errorOf(() => VectorIndex.open(file, {
        ...load, create: shape, signal: stop.signal,
        onProgress({ loadedBytes, totalBytes }) {
          if (loadedBytes === totalBytes) stop.abort();
        },
      }));
    };
    expect((await opening()).code).toBe('ABORTED');
    expect([openFiles(), at.names()]).toEqual([files, []]);
    const index = await VectorIndex.open(file, { ...load, create: shape });
    await index.add([1], [range(dim)]);
    await index.close();
    expect((await opening()).code).toBe('ABORTED');
    expect(openFiles()).toBe(files);
    expect((await open(file, load)).size).toBe(1);
  });
});

describe('close, when the file lacks what came last,', () => {
  test.each([
    ['FULL', noSpace()],
    ['IO', Object.assign(new Error('the disk is gone'), { code: 'EIO', errno: -5 })],
  ])('is %s, and all is given back', async (code, cause) => {
    const failed = failing();
    const file = folder().file('x.vic');
    const files = openFiles();
    const index = await VectorIndex.open(file, { ...single, create: shape });
    await index.add([1], [range(dim)], { durable: true });
    failed.error = cause;
    await index.add([2], [range(dim)]);
    expect(index.size).toBe(2);
    expect(await errorOf(() => index.close())).toMatchObject({ code, cause });
    failed.error = undefined;
    expect(openFiles()).toBe(files);
    expect((await open(file, single)).size).toBe(1);
  });
});

test('the writer of an index without threads answers between writes', async () => {
  let left = 1000;
  const backend = {
    pump: () => left > 0 ? left-- : 0,
    serveFlush: () => ({ asks: 1, status: { code: 0, a: 0n, b: 0n } }),
  };
  const leftThen = await new Promise((resolve) => {
    const events = { onApplied: () => true, onFlushed: () => resolve(left) };
    new InlineWriter(backend, 1, events, { files: new FileTable(), path: 'x' }).submitted();
  });
  expect(leftThen).toBe(999);
});

describe('a worker', () => {
  test('that does not start leaves the index to the one behind it', async () => {
    const release = vi.spyOn(WasmBackend.prototype, 'releaseIndex');
    onTestFinished(() => release.mockRestore());
    const writers = await catchWriters((worker) => {
      if (writers.length === 2) worker.terminate();
    }, 1);
    const index = await open(folder().file('x.vic'), { ...threaded, create: shape });
    const rows = randomRows(9, 50, dim);
    await index.add(range(40), rows.subarray(0, 40 * dim), { durable: true });
    writers[0].terminate();
    await index.add(range(10, 40), rows.subarray(40 * dim), { durable: true });
    expect(writers).toHaveLength(3);
    expect(release).not.toHaveBeenCalled();
    expect(index.search(row(rows, dim, 7), { k: 1 }).ids[0]).toBe(7);
    await index.close();
    expect(release).toHaveBeenCalledTimes(1);
  });

  test('that follows a file is replaced each time, where it has followed for a while', async () => {
    const file = folder().file('x.vic');
    const index = await open(file, { ...threaded, create: shape });
    const following = new Set();
    const workers = await catchWriters((worker) => worker.on('message', ({ vicinal }) => {
      if (vicinal === 'following') following.add(worker);
    }));
    const follower = await open(file, { ...threaded, readOnly: true });
    for (let turn = 0; turn < 5; ++turn) {
      await vi.waitUntil(() => following.has(workers[turn]), patience);
      workers[turn].terminate();
      await index.add([turn], [range(dim)]);
      await vi.waitUntil(() => follower.has(turn), patience);
      expect(workers).toHaveLength(turn + 2);
    }
  });

  test('that waits for a file of the private file system stops when it is told to', async () => {
    let asked = 0;
    const handle = {
      async createSyncAccessHandle() {
        ++asked;
        throw new DOMException('taken', 'NoModificationAllowedError');
      },
    };
    const error = await errorOf(() =>
      addOpfsFile(new FileTable(), 'opfs:x', handle, () => asked === 3));
    expect([error.code, asked]).toEqual(['ABORTED', 3]);
  });
});

test('an id that comes later and is no number is BAD_ID, not another one', async () => {
  const file = folder().file('x.vic');
  const index = await open(file, { ...threaded, create: { dim: 2, ids: 'bigint' } });
  const largest = 2n ** 53n - 1n;
  await index.add([largest], [[1, 0]]);
  const follower = await open(file, { ...threaded, readOnly: true });
  expect(follower.search([1, 0]).ids[0]).toBe(Number(largest));
  await index.add([2n ** 53n], [[0, 1]]);
  await vi.waitUntil(() => follower.size === 2, patience);
  const error = await errorOf(() => follower.search([0, 1]));
  expect([error.code, error.message]).toEqual(['BAD_ID', expect.stringContaining(`${2n ** 53n}`)]);
  expect((await errorOf(() => follower.searchAsync([0, 1]))).code).toBe('BAD_ID');
});
