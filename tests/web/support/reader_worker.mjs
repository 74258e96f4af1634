// A worker of the tests: attaches to a shared index, searches, and looks for what may not be.
import { WasmBackend } from '../../../dist/backend/wasm_backend.js';
import { VectorIndex } from '../../../dist/index.js';
import { writeUnderPressure } from './pressure.mjs';

let reader;

/** One search over a group index: every group that shows, shows whole. */
function checkGroups(groupRows, query, rowsMax) {
  const hits = reader.search(query, { k: rowsMax });
  const counts = new Map();
  for (const id of hits.ids) {
    const group = Math.floor(id / groupRows);
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  for (const [group, count] of counts) {
    if (count !== groupRows) {
      throw new Error(`version ${hits.sequence} has ${count} of ${groupRows} rows of ${group}`);
    }
  }
  return { sequence: hits.sequence, groups: [...counts.keys()] };
}

const functions = {
  async attach(handle) {
    reader = await VectorIndex.attach(handle);
    return { size: reader.size, sequence: reader.sequence, dim: reader.dim };
  },
  search(query, options) {
    const { ids, scores, sequence } = reader.search(query, options);
    return { ids, scores, sequence };
  },
  async searchAsync(query, options) {
    return (await reader.searchAsync(query, options)).ids;
  },
  has: (id) => reader.has(id),
  stats: () => reader.stats(),
  /** Searches until the flag is set; sequences may only rise. */
  watchGroups(flag, groupRows, query, rowsMax) {
    let searches = 0;
    let last = -1;
    const versions = new Set();
    do {
      const { sequence } = checkGroups(groupRows, query, rowsMax);
      if (sequence < last) throw new Error(`version ${sequence} after ${last}`);
      last = sequence;
      versions.add(sequence);
      ++searches;
    } while (Atomics.load(flag, 0) === 0);
    return { searches, versions: versions.size, last };
  },
  /** Attaches and closes; every reader must see the row. */
  async attachOften(handle, times, id) {
    for (let i = 0; i < times; ++i) {
      const other = await VectorIndex.attach(handle);
      if (!other.has(id)) throw new Error(`row ${id} is missing`);
      await other.close();
    }
    return times;
  },
  /** Attaches and never closes: the thread is going to be ended. */
  async attachAndLeave(handle, query) {
    const other = await VectorIndex.attach(handle);
    return other.search(query).length;
  },
  /** Attaches, keeps a version, and never comes back: counts its searches in the flag. */
  async searchForever(handle, flag, query) {
    reader = await VectorIndex.attach(handle);
    const kept = reader.snapshot();
    for (;;) {
      if (reader.search(query).length + kept.search(query).length === 0) throw new Error('none');
      Atomics.add(flag, 0, 1);
      Atomics.notify(flag, 0);
    }
  },
  /** An index of this worker's own: who encoded its rows, and what it finds. */
  async fill(options, load, ids, rows, query) {
    const counts = { here: 0, elsewhere: 0 };
    const { encode, countEncoded } = WasmBackend.prototype;
    WasmBackend.prototype.encode = function (message, first, rows, before) {
      counts.here += rows;
      return encode.call(this, message, first, rows, before);
    };
    WasmBackend.prototype.countEncoded = function (message, rows) {
      counts.elsewhere += rows;
      return countEncoded.call(this, message, rows);
    };
    const index = await VectorIndex.create(options, load);
    await index.add(ids, rows);
    const hits = index.search(query, { k: ids.length });
    await index.close();
    return { counts, ids: hits.ids, scores: hits.scores };
  },
  writeUnderPressure,
  /** An index of this worker's own, for others; and one write that may never end. */
  async own(options, load, ids, rows) {
    const index = await VectorIndex.create(options, load);
    await index.add(ids, rows);
    void index.upsert(ids, rows).catch(() => undefined);
    return index.share();
  },
  close: () => reader.close(),
};

function answer(post) {
  return async ({ call, name, args }) => {
    try {
      post({ call, result: await functions[name](...args) });
    } catch (error) {
      post({ call, error: { message: error.message, code: error.code, name: error.name } });
    }
  };
}

if (typeof self === 'undefined') {
  const { parentPort } = await import(/* @vite-ignore */ 'node:worker_threads');
  parentPort.on('message', answer((message) => parentPort.postMessage(message)));
} else {
  const serve = answer((message) => self.postMessage(message));
  self.addEventListener('message', (event) => serve(event.data));
}
