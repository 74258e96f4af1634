import { describe, expect, test } from 'vitest';
import { backends, create, errorOf, plain } from './support/backends.mjs';
import { newSeed, random, randomRows, range, row } from './support/random.mjs';

const dim = 12;

async function filled(load, count = 100, options = {}) {
  const index = await create({ dim, ...options }, load);
  const rows = randomRows(count, count, dim);
  await index.add(range(count), rows);
  return { index, rows };
}

function everything(index, query) {
  return plain(index.search(query, { k: 1e6, exhaustive: true }));
}

describe.each(backends)('writing, $name', ({ load }) => {
  test('one batch and row by row give the same results', async () => {
    const count = 150;
    const { index, rows } = await filled(load, count);
    const other = await create({ dim }, load);
    for (let i = 0; i < count; ++i) await other.add([i], row(rows, dim, i));
    for (let i = 0; i < count; i += 10) {
      const query = row(rows, dim, i);
      expect(everything(other, query)).toEqual(everything(index, query));
    }
  });

  test('every form of ids and vectors means the same', async () => {
    const rows = randomRows(1, 3, dim);
    const list = range(3).map((i) => Array.from(row(rows, dim, i)));
    const shifted = new Float32Array(3 * dim + 1);
    shifted.set(rows, 1);
    const forms = [
      [[7, 8, 9], rows], [[7, 8, 9], Float64Array.from(rows)], [[7, 8, 9], list],
      [new Uint16Array([7, 8, 9]), list.map((one) => Float32Array.from(one))],
      [new Float64Array([7, 8, 9]), list.map((one) => ({ length: dim, ...one }))],
      [[7n, 8n, 9n], shifted.subarray(1)], [new BigUint64Array([7n, 8n, 9n]), rows],
      [{ length: 3, 0: 7, 1: 8, 2: 9 }, { length: 3, ...list }],
    ];
    const results = [];
    for (const [ids, vectors] of forms) {
      const index = await create({ dim }, load);
      expect(await index.add(ids, vectors)).toEqual({ sequence: 1, count: 3 });
      results.push(everything(index, rows.subarray(0, dim)));
    }
    for (const result of results) expect(result).toEqual(results[0]);
    expect(results[0].ids.toSorted()).toEqual([7, 8, 9]);
  });

  test('upsert replaces and adds in one step', async () => {
    const { index } = await filled(load);
    const rows = randomRows(9, 2, dim);
    const before = index.sequence;
    expect(await index.upsert([5, 500], rows)).toEqual({ sequence: before + 1, count: 2 });
    expect(index.size).toBe(101);
    expect(index.search(row(rows, dim, 0), { k: 1 }).ids[0]).toBe(5);
    expect(index.search(row(rows, dim, 1), { k: 1 }).ids[0]).toBe(500);
    expect(everything(index, row(rows, dim, 0)).ids.filter((id) => id === 5)).toEqual([5]);
  });

  test('removed rows never appear; removing unknown ids is no error', async () => {
    const { index, rows } = await filled(load);
    expect(await index.remove([3, 4, 4000])).toMatchObject({ removed: 2, count: 2 });
    expect(await index.remove([3])).toMatchObject({ removed: 0 });
    expect(index.size).toBe(98);
    for (const id of [3, 4]) {
      expect(index.has(id)).toBe(false);
      expect(everything(index, row(rows, dim, id)).ids).not.toContain(id);
      expect(index.search(row(rows, dim, id), { filter: [3, 4] }).length).toBe(0);
    }
    await index.add([3], row(rows, dim, 3));
    expect(index.search(row(rows, dim, 3), { k: 1 }).ids[0]).toBe(3);
  });

  test('clear leaves an empty index that takes rows again', async () => {
    const { index, rows } = await filled(load);
    expect(await index.clear()).toMatchObject({ count: 100 });
    expect(index.size).toBe(0);
    expect(index.search(row(rows, dim, 0)).length).toBe(0);
    await index.add(range(100), rows);
    expect(index.search(row(rows, dim, 50), { k: 1 }).ids[0]).toBe(50);
  });

  test('an empty batch changes nothing', async () => {
    const { index } = await filled(load);
    const { sequence } = index;
    expect(await index.add([], [])).toEqual({ sequence, count: 0 });
    expect(await index.upsert([], new Float32Array(0))).toEqual({ sequence, count: 0 });
    expect(await index.remove([])).toEqual({ sequence, count: 0, removed: 0 });
    expect(index.sequence).toBe(sequence);
  });

  test('writes that are not awaited are applied in the order of the calls', async () => {
    const index = await create({ dim }, load);
    const rows = randomRows(newSeed('order'), 4000, dim);
    const receipts = await Promise.all([
      index.add(range(4000), rows), index.remove([1, 2]), index.add([1], row(rows, dim, 1)),
      index.upsert([2], row(rows, dim, 3)), index.clear(), index.add([9], row(rows, dim, 9)),
    ]);
    const sequences = receipts.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(everything(index, row(rows, dim, 9)).ids).toEqual([9]);
    expect(receipts.map(({ count }) => count)).toEqual([4000, 2, 1, 1, 4000, 1]);
  });

  test('a thousand writes at once all arrive', async () => {
    const index = await create({ dim }, load);
    const rows = randomRows(4, 1000, dim);
    await Promise.all(range(1000).map((i) => index.add([i], row(rows, dim, i))));
    expect(index.size).toBe(1000);
    await index.flush();
    expect(index.stats().ringDepth).toBe(0);
  });

  test('the caller may change or transfer its arrays once the call has returned', async () => {
    const count = 20_000;
    const index = await create({ dim }, load);
    const rows = randomRows(6, count, dim);
    const expected = rows.slice();
    const ids = Float64Array.from(range(count));
    const write = index.add(ids, rows);
    rows.fill(NaN);
    ids.fill(-1);
    structuredClone(rows.buffer, { transfer: [rows.buffer] });
    expect(await write).toMatchObject({ count });
    for (let i = 0; i < count; i += 997) {
      expect(index.search(row(expected, dim, i), { k: 1 }).ids[0]).toBe(i);
    }
  });

  test('a large write leaves the event loop its turns and tells its progress', async () => {
    const count = 30_000;
    const index = await create({ dim: 64 }, load);
    const seen = [];
    let turns = 0;
    let running = true;
    const tick = () => {
      ++turns;
      if (running) setTimeout(tick, 0);
    };
    setTimeout(tick, 0);
    await index.add(range(count), randomRows(7, count, 64),
      { onProgress: ({ done, total }) => seen.push([done, total]) });
    running = false;
    expect(turns).toBeGreaterThan(1);
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.at(-1)).toEqual([count, count]);
    const done = seen.map(([rows]) => rows);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
  });

  test('a signal before the commit stops a write and changes nothing', async () => {
    const { index, rows } = await filled(load);
    const { sequence } = index;
    const stopped = AbortSignal.abort('enough');
    const early = await errorOf(() => index.add([1000], row(rows, dim, 0), { signal: stopped }));
    expect(early).toMatchObject({ code: 'ABORTED', cause: 'enough' });
    const controller = new AbortController();
    const late = await errorOf(() => index.add(range(30_000, 1000), randomRows(1, 30_000, dim), {
      signal: controller.signal, onProgress: () => controller.abort(),
    }));
    expect(late.code).toBe('ABORTED');
    expect([index.size, index.sequence]).toEqual([100, sequence]);
    await index.add([1000], row(rows, dim, 0));
    expect(index.size).toBe(101);
  });

  test('what onProgress throws stops the write; the index stays usable', async () => {
    const { index, rows } = await filled(load);
    const boom = new Error('boom');
    const error = await errorOf(() => index.add([1000], row(rows, dim, 0), {
      onProgress() { throw boom; },
    }));
    expect(error).toBe(boom);
    expect(index.size).toBe(100);
    await index.add([1000], row(rows, dim, 0));
    expect(index.size).toBe(101);
  });

  test('a callback of a write may write and search', async () => {
    const { index, rows } = await filled(load);
    const inner = [];
    await index.add([1000], row(rows, dim, 0), {
      onProgress() {
        inner.push(index.add([2000], row(rows, dim, 1)));
        expect(index.search(row(rows, dim, 7), { k: 1 }).ids[0]).toBe(7);
      },
    });
    await Promise.all(inner);
    expect([index.has(1000), index.has(2000), index.size]).toEqual([true, true, 102]);
  });

  test('random batches equal one index that was built at once', async () => {
    const next = random(newSeed('batches'));
    const count = 500;
    const { index, rows } = await filled(load, count);
    const other = await create({ dim }, load);
    for (let i = 0; i < count;) {
      const size = Math.min(1 + Math.floor(next() * 60), count - i);
      await other.add(range(size, i), rows.subarray(i * dim, (i + size) * dim));
      i += size;
    }
    expect(everything(other, row(rows, dim, 0))).toEqual(everything(index, row(rows, dim, 0)));
  });

  test('bigint ids come back as bigints, up to 2^64 - 1', async () => {
    const index = await create({ dim, ids: 'bigint' }, load);
    const rows = randomRows(8, 3, dim);
    const ids = [0n, 2n ** 53n + 1n, 2n ** 64n - 1n];
    await index.add(ids, rows);
    ids.forEach((id, i) => {
      const hits = index.search(row(rows, dim, i), { k: 1 });
      expect(hits.ids).toBeInstanceOf(BigUint64Array);
      expect([...hits][0].id).toBe(id);
      expect(index.has(id)).toBe(true);
      expect(index.search(row(rows, dim, 0), { filter: [id] }).ids[0]).toBe(id);
    });
    const [first] = index.search(row(rows, dim, 2), { k: 1 });
    expect(index.search(row(rows, dim, 2), { after: first }).length).toBe(2);
  });

  test('a memory budget that is reached is FULL: nothing is lost, reads go on', async () => {
    const index = await create({ dim: 256 }, { ...load, maxBytes: 2 ** 21 });
    const rows = randomRows(1, 1000, 256);
    let added = 0;
    const error = await errorOf(async () => {
      for (;; added += 1000) await index.add(range(1000, added), rows);
    });
    expect(error.code).toBe('FULL');
    expect(added).toBeGreaterThan(0);
    expect(index.size).toBe(added);
    expect(index.search(rows.subarray(0, 256), { k: 1 }).ids[0]).toBe(0);
  });
});
