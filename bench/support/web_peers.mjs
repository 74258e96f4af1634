// Other libraries behind one face, the same in Node and in a page: rows of unit length in, ids out.
//
// Each is built by its own insertion, one row after the other, until the time for it is up. Their
// packages lie in build/peers (bench/data/fetch_peers.mjs).
const inNode = globalThis.process?.versions?.node !== undefined;

const PEERS = new URL('../../build/peers/', import.meta.url);

async function bytesOf(url) {
  if (!inNode) return (await fetch(url)).arrayBuffer();
  const { readFile } = await import(/* @vite-ignore */ 'node:fs/promises');
  return readFile(url);
}

/** The ten best by inner product, kept in order: what a page does without a library. */
export function plainSearch(rows, count, dim, query, k) {
  const ids = new Int32Array(k).fill(-1);
  const scores = new Float32Array(k).fill(-Infinity);
  for (let row = 0; row < count; ++row) {
    let score = 0;
    for (let i = 0, at = row * dim; i < dim; ++i) score += rows[at + i] * query[i];
    if (score <= scores[k - 1]) continue;
    let place = k - 1;
    for (; place > 0 && scores[place - 1] < score; --place) {
      scores[place] = scores[place - 1];
      ids[place] = ids[place - 1];
    }
    scores[place] = score;
    ids[place] = row;
  }
  return ids;
}

/**
 * Each opens an empty index for `most` rows: { settings, add(id, row), search(query, k), also },
 * the last being other settings and searches of the same index.
 */
const openers = {
  'plain-js': async ({ dim, most }) => {
    const rows = new Float32Array(most * dim);
    let count = 0;
    return {
      settings: 'float32, every row',
      add(id, row) {
        rows.set(row, id * dim);
        count = Math.max(count, id + 1);
      },
      search: (query, k) => plainSearch(rows, count, dim, query, k),
    };
  },

  'hnswlib-wasm': async ({ dim, most }) => {
    const { loadHnswlib } = await import(new URL('hnswlib-wasm/dist/hnswlib.js', PEERS));
    const library = await loadHnswlib();
    const index = new library.HierarchicalNSW('ip', dim, '');
    index.initIndex(most, 16, 100, 1);
    const settings = (ef) => `M 16, efConstruction 100, efSearch ${ef}`;
    const searchWith = (ef) => (query, k) => {
      index.setEfSearch(ef);
      return index.searchKnn(query, k, undefined).neighbors;
    };
    return {
      settings: settings(64),
      add(id, row) { index.addPoint(row, id, false); },
      search: searchWith(64),
      also: [{ settings: settings(16), search: searchWith(16) }],
    };
  },

  edgevec: async ({ dim }) => {
    const library = await import(new URL('edgevec/edgevec.js', PEERS));
    await library.default({ module_or_path: await bytesOf(new URL('edgevec/edgevec_bg.wasm',
      PEERS)) });
    const config = new library.EdgeVecConfig(dim);
    // Rows are of unit length: l2 ranks as cosine does, whose results are the farthest rows.
    Object.assign(config, { metric: 'l2', m: 16, m0: 32, ef_construction: 64, ef_search: 64 });
    const index = new library.EdgeVec(config);
    const ids = new Map();
    return {
      settings: 'HNSW, M 16, efConstruction 64, efSearch 64',
      add(id, row) { ids.set(index.insert(row), id); },
      search: (query, k) => index.search(query, k).map((hit) => ids.get(hit.id)),
    };
  },

  'voy-search': async () => {
    const library = await import(new URL('voy-search/voy_search_bg.js', PEERS));
    const { instance } = await WebAssembly.instantiate(
      await bytesOf(new URL('voy-search/voy_search_bg.wasm', PEERS)),
      { './voy_search_bg.js': library });
    library.__wbg_set_wasm(instance.exports);  // once in a realm: it keeps views of the memory
    const index = new library.Voy();
    const resource = (id, row) => ({ id: String(id), title: '', url: '', embeddings: [...row] });
    return {
      settings: 'k-d tree',
      add(id, row) { index.add({ embeddings: [resource(id, row)] }); },
      search: (query, k) => index.search(query, k).neighbors.map(({ id }) => Number(id)),
    };
  },
};

export const peerNames = Object.keys(openers);

const opened = new Map();

/**
 * A peer with every row of `base` in it: { name, settings, add, search, build_s }, or { name,
 * error } where it cannot run, or takes longer than `buildMs` to build. Made once in a realm.
 * @param spare how many rows may be added later.
 */
export async function openPeer(name, options) {
  if (!opened.has(name)) opened.set(name, await build(name, options));
  return opened.get(name);
}

async function build(name, { base, dim, buildMs, spare }) {
  const count = base.length / dim;
  try {
    const peer = await openers[name]({ dim, most: count + spare });
    const began = performance.now();
    for (let id = 0; id < count; ++id) {
      peer.add(id, base.subarray(id * dim, (id + 1) * dim));
      if (performance.now() - began > buildMs) {
        return { name, error: `${id} of ${count} rows were added in ${buildMs / 1000} s` };
      }
    }
    return { name, ...peer, build_s: (performance.now() - began) / 1000 };
  } catch (error) {
    return { name, error: String(error?.message ?? error) };
  }
}
