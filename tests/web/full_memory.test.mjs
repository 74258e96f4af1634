// What the core answers when its memory is full to the last block: FULL or nothing, never a trap.
// Whatever allocates is tried again and again while blocks are given back one by one, so that each
// of its allocations is the refused one at some time.
import { describe, expect, onTestFinished, test } from 'vitest';
import { ThreadInstance } from '../../dist/backend/thread_instance.js';
import { WasmBackend } from '../../dist/backend/wasm_backend.js';
import singleFactory from '../../dist/vicinal-single.js';
import { randomRows, range } from './support/random.mjs';

const shape = {
  dim: 24, metric: 'cosine', bits: 4, originals: 'none', seed: 0n, ids: 'number',
};
const request = {
  k: 200, minScore: -Infinity, certainty: 3, filter: undefined, after: undefined, minSequence: 0,
};
const rowCount = 300;
const rows = randomRows(1, rowCount, shape.dim);
const query = rows.slice(0, shape.dim);
const queries = rows.slice(0, 40 * shape.dim);
/** Calls that may do with what earlier ones have left. */
const kMayFit = ['stats', 'refresh', 'has', 'remove'];
const kWrites = ['add', 'upsert', 'remove'];
const wordsOf = (ids) => Uint32Array.from(ids.flatMap((id) => [id, 0]));

const inNode = typeof process !== 'undefined' && process.versions?.node !== undefined;

// Literals, so that Vite finds the files.
const urls = {
  threads: new URL('../../dist/vicinal.wasm', import.meta.url),
  scalar: new URL('../../dist/vicinal-scalar.wasm', import.meta.url),
  single: new URL('../../dist/vicinal-single.wasm', import.meta.url),
};

async function moduleOf(name) {
  if (!inNode) return WebAssembly.compile(await (await fetch(urls[name])).arrayBuffer());
  const { readFile } = await import(/* @vite-ignore */ 'node:fs/promises');
  return WebAssembly.compile(await readFile(urls[name]));
}

async function threadCore(name) {
  const memory = new WebAssembly.Memory({ initial: 128, maximum: 128, shared: true });
  const instance = await ThreadInstance.create('full', memory, await moduleOf(name));
  return { backend: instance.backend, heap: instance.heap };
}

async function singleCore() {
  const module = await moduleOf('single');
  const { grow } = WebAssembly.Memory.prototype;
  const core = await singleFactory({
    instantiateWasm(imports, receive) {
      WebAssembly.instantiate(module, imports).then(receive);
      return {};
    },
  });
  // As a browser without more memory would answer.
  WebAssembly.Memory.prototype.grow = () => {
    throw new RangeError('no more memory');
  };
  onTestFinished(() => { WebAssembly.Memory.prototype.grow = grow; });
  return { backend: new WasmBackend(core, () => core.HEAPU8.buffer, false) };
}

const cores = [
  ['threads', () => threadCore('threads')],
  ['scalar', () => threadCore('scalar')],
  ['single', singleCore],
];

/** Takes every block that is left. The last ones are small: they are given back first. */
function fill(backend) {
  const small = [[16384, 12], [1024, 32], [64, 64]].flatMap(([bytes, count]) =>
    range(count).map(() => backend.allocate(bytes)));
  const large = [];
  for (let bytes = 2 ** 22; bytes >= 64; bytes /= 2) {
    for (;;) {
      const block = orFull(() => backend.allocate(bytes));
      if (block === undefined) break;
      large.push(block);
    }
  }
  return [...large, ...small];
}

/** What `run` returns, undefined when it is refused for want of memory; anything else is thrown. */
function orFull(run) {
  try {
    return run() ?? true;
  } catch (error) {
    if (error.code !== 'FULL') throw error;
    expect(error.message).toMatch(/memory/);
    return undefined;
  }
}

function write(backend, index, kind, first) {
  const message = backend.createMessage(index, kind, rowCount, wordsOf(range(rowCount, first)));
  try {
    for (let at = 0; kind !== 'remove' && at < rowCount;) {
      const count = Math.min(backend.stagingRows(message), rowCount - at);
      backend.staging(message).set(rows.subarray(at * shape.dim, (at + count) * shape.dim));
      backend.encode(message, at, count);
      at += count;
    }
    if (!backend.submit(message)) throw new Error('the ring is full');
    while (backend.outcome(message) === undefined) backend.pump(index, 1000);
    const { status } = backend.outcome(message);
    expect([0, 10]).toContain(status.code);  // done, or FULL
    return status.code === 0 ? true : undefined;
  } finally {
    backend.releaseMessage(message);
  }
}

/** What a save writes. */
function fileOf(backend, reader) {
  const save = backend.createSave(reader);
  const file = new Uint8Array(backend.saveBytes(save));
  for (let slice = backend.nextSlice(save); slice; slice = backend.nextSlice(save)) {
    file.set(slice.bytes, slice.offset);
  }
  backend.releaseSave(save);
  return file;
}

function fileCalls(backend, reader) {
  const file = fileOf(backend, reader);
  return {
    save() {
      const save = backend.createSave(reader);
      try {
        while (backend.nextSlice(save) !== undefined);
        return true;
      } finally {
        backend.releaseSave(save);
      }
    },
    load() {
      const load = backend.createLoad(2 ** 24, false);
      try {
        backend.loadRoom(load).set(file);
        backend.takeBytes(load, file.length);
        backend.releaseIndex(backend.finishLoad(load).index);
        return true;
      } finally {
        backend.releaseLoad(load);
      }
    },
  };
}

/** Every call that may allocate, by name; each gives back what it has made. */
function calls(backend, index, reader) {
  const filter = wordsOf(range(5000));
  let first = 10_000;
  const opened = (open) => () => {
    const made = open();
    backend.closeReader(made);
    return true;
  };
  return {
    createIndex() {
      backend.releaseIndex(backend.createIndex(shape, 2 ** 20));
      return true;
    },
    openReader: opened(() => backend.openReader(index)),
    snapshotReader: opened(() => backend.snapshotReader(reader)),
    coldSearch() {
      const fresh = backend.openReader(index);
      try {
        return backend.search(fresh, query, request);
      } finally {
        backend.closeReader(fresh);
      }
    },
    coldGet() {
      const fresh = backend.openReader(index);
      try {
        return backend.get(fresh, wordsOf([7]), shape.dim);
      } finally {
        backend.closeReader(fresh);
      }
    },
    filteredSearch() {
      const fresh = backend.openReader(index);
      try {
        return backend.search(fresh, query, { ...request, filter });
      } finally {
        backend.closeReader(fresh);
      }
    },
    coldBatch() {
      const fresh = backend.openReader(index);
      try {
        return backend.searchBatch(fresh, queries, 40, request);
      } finally {
        backend.closeReader(fresh);
      }
    },
    compiledSearch() {
      const fresh = backend.openReader(index);
      try {
        const compiled = backend.compileFilter(fresh, filter);
        return backend.search(fresh, query, request, compiled);
      } finally {
        backend.closeReader(fresh);
      }
    },
    ...fileCalls(backend, reader),
    stats: () => backend.stats(index),
    refresh: () => backend.refresh(reader),
    has: () => backend.has(reader, wordsOf([3])),
    add: () => write(backend, index, 'add', first += rowCount),
    upsert: () => write(backend, index, 'upsert', 0),
    remove: () => write(backend, index, 'remove', first),
  };
}

describe.each(cores)('a full memory, %s', (_name, open) => {
  // As the writer's worker: it has no reader of the index.
  test('a writer without a reader answers its messages all the same', async () => {
    const { backend } = await open();
    const index = backend.createIndex(shape, 2 ** 24);
    expect(write(backend, index, 'upsert', 0)).toBe(true);
    const message = backend.createMessage(index, 'remove', rowCount, wordsOf(range(rowCount)));
    expect(backend.submit(message)).toBe(true);
    const blocks = fill(backend);
    expect(backend.pump(index, 1000)).toBe(1);
    expect(backend.outcome(message)).toBeDefined();
    for (const block of blocks) backend.release(block);
    backend.releaseMessage(message);
    expect(write(backend, index, 'remove', 0)).toBe(true);
    backend.releaseIndex(index);
  });

  test('no call traps, wherever it is refused, and all succeed when there is room', async () => {
    const { backend } = await open();
    const index = backend.createIndex(shape, 2 ** 24);
    expect(write(backend, index, 'upsert', 0)).toBe(true);
    const reader = backend.openReader(index);
    const { ids } = backend.search(reader, query, request);
    for (const [name, call] of Object.entries(calls(backend, index, reader))) {
      const blocks = fill(backend);
      const room = blocks.length;
      let refused = 0;
      for (; orFull(call) === undefined; ++refused) {
        expect(blocks.length, name).toBeGreaterThan(0);
        backend.release(blocks.pop());
        // Reads that have their memory go on; more rows may need more of it.
        const found = orFull(() => backend.search(reader, query, request));
        if (!kWrites.includes(name)) expect(found?.ids, name).toEqual(ids);
      }
      expect(room).toBeGreaterThan(100);
      if (!kMayFit.includes(name)) expect(refused, name).toBeGreaterThan(0);
      for (const block of blocks) backend.release(block);
      expect(orFull(call), name).toBeDefined();
    }
    backend.closeReader(reader);
  });
});

test('a realm is refused where the memory is full, and enters when there is room', async () => {
  const { backend, heap } = await threadCore('threads');
  const blocks = fill(backend);
  let refused = 0;
  for (;;) {
    try {
      (await ThreadInstance.attach(heap)).leave();
      break;
    } catch (error) {
      expect(error.code).toBe('FULL');
      ++refused;
      backend.release(blocks.pop());
    }
  }
  expect(refused).toBeGreaterThan(0);
  for (let i = 0; i < 200; ++i) (await ThreadInstance.attach(heap)).leave();
});
