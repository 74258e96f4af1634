// In a realm of its own with a small memory: what is not given back is missed soon.
import { expect, test, vi } from 'vitest';
import { VectorIndex } from 'vicinal';
import { errorOf } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';
import { startWorker } from './support/workers.mjs';

const load = { maxBytes: 16 * 2 ** 20 };
const dim = 256;

test('an index gives its memory back when it is closed', async () => {
  const [wide, count] = [512, 1000];
  const rows = randomRows(1, count, wide);
  let total = 0;
  for (let i = 0; i < 50; ++i) {
    const index = await VectorIndex.create({ dim: wide }, load);
    await index.add(range(count), rows);
    await index.upsert(range(50), rows.subarray(0, 50 * wide));
    expect(index.search(row(rows, wide, 700), { k: 1 }).ids[0]).toBe(700);
    if (i % 3 === 0) index.snapshot();
    if (i % 7 === 0) await index.searchAsync(row(rows, wide, 1));
    total += index.stats().bytes.total;
    await index.close();
  }
  expect(total).toBeGreaterThan(load.maxBytes);
});

test('negative control: indexes that stay open fill the memory, create is FULL', async () => {
  const [wide, count] = [512, 1000];
  const rows = randomRows(1, count, wide);
  const open = [];
  const error = await errorOf(async () => {
    for (;;) {
      open.push(await VectorIndex.create({ dim: wide }, load));
      await open.at(-1).add(range(count), rows);
    }
  });
  expect(error.code).toBe('FULL');
  expect(open.length).toBeGreaterThan(3);
  expect(open.length).toBeLessThan(60);
  expect(open[0].search(row(rows, wide, 7), { k: 1 }).ids[0]).toBe(7);
  await Promise.all(open.map((index) => index.close()));
  const next = await VectorIndex.create({ dim: wide }, load);
  await next.add(range(count), rows);
  await next.close();
});

test('a reader gives its stack and its slot back when it is closed', async () => {
  const index = await VectorIndex.create({ dim }, load);
  await index.add([1], randomRows(1, 1, dim));
  const worker = await startWorker();
  // 256 KiB of stack each.
  expect(await worker.call('attachOften', index.share(), 200, 1)).toBe(200);
  expect(index.stats().readers).toBeLessThanOrEqual(2);
  await worker.terminate();
  await index.close();
});

const inNode = globalThis.process?.versions?.node !== undefined;

// In pages the same, after another proof: deaths.test.mjs.
test.runIf(inNode)('an index is given back though a worker was ended that read it', async () => {
  const [wide, count] = [512, 2000];
  const rows = randomRows(1, count, wide);
  // What is closed is free when the death is known, a moment later.
  const roomFor = (write) => vi.waitUntil(() => write().catch((error) => {
    if (error.code !== 'FULL') throw error;
    return undefined;
  }), { timeout: 20_000, interval: 5 });
  let total = 0;
  for (let i = 0; i < 20; i += 4) {
    const worker = await startWorker();
    const indexes = [];
    for (let j = 0; j < 4; ++j) {
      const index = await roomFor(() => VectorIndex.create({ dim: wide, bits: 8 }, load));
      await roomFor(() => index.add(range(count), rows));
      await worker.call('attachAndLeave', index.share(), row(rows, wide, 0));
      total += index.stats().bytes.total;
      indexes.push(index);
    }
    const close = () => Promise.all(indexes.map((index) => index.close()));
    if (i % 8 === 0) await close();  // the dead reader is the last one
    await worker.terminate();
    await close();
  }
  expect(total).toBeGreaterThan(load.maxBytes);
});

test('writes that are refused give their memory back', async () => {
  const index = await VectorIndex.create({ dim }, load);
  const rows = randomRows(1, 4000, dim);
  rows[0] = NaN;
  for (let i = 0; i < 60; ++i) {  // about 700 kB each
    expect((await errorOf(() => index.add(range(4000), rows))).code).toBe('NOT_FINITE');
  }
  await index.close();
  const narrow = await VectorIndex.create({ dim: 4 }, load);
  const few = randomRows(1, 20_000, 4);
  const twice = range(20_000);
  twice[19_999] = 0;
  for (let i = 0; i < 40; ++i) {  // about 500 kB each
    expect((await errorOf(() => narrow.add(twice, few))).code).toBe('DUPLICATE_ID');
  }
  await narrow.close();
});

test('openings and saves, done or stopped, give their memory back', async () => {
  const count = 8000;  // 2 MB in a memory of 16
  const index = await VectorIndex.create({ dim, bits: 8 }, load);
  await index.add(range(count), randomRows(1, count, dim));
  const bytes = await index.toBytes();
  const query = row(randomRows(1, 1, dim), dim, 0);
  const thrown = new Error('stopped');
  const stopAt = (share) => ({
    onProgress({ loadedBytes, done }) {
      if ((loadedBytes ?? done) > share * bytes.length) throw thrown;
    },
  });
  for (let i = 0; i < 40; ++i) {
    const damaged = bytes.slice();
    damaged[Math.floor(((i + 0.5) / 40) * bytes.length)] ^= 1;
    expect((await errorOf(() => VectorIndex.open(damaged, load))).code).toBe('CORRUPT');
    const stop = stopAt((i % 8) / 9);
    expect(await errorOf(() => VectorIndex.open(bytes, { ...load, ...stop }))).toBe(thrown);
    expect(await errorOf(() => index.toBytes(stop))).toBe(thrown);
  }
  for (let i = 0; i < 10; ++i) {
    const opened = await VectorIndex.open(bytes, { ...load, readOnly: i % 2 === 0 });
    expect(opened.search(query).ids[0]).toBe(0);
    await opened.toBytes();
    await opened.close();
  }
  await index.close();
});

test('negative control: what is opened and stays open fills the memory', async () => {
  const index = await VectorIndex.create({ dim, bits: 8 }, load);
  await index.add(range(8000), randomRows(1, 8000, dim));
  const bytes = await index.toBytes();
  const open = [index];
  const error = await errorOf(async () => {
    for (;;) open.push(await VectorIndex.open(bytes, { ...load, readOnly: true }));
  });
  expect(error.code).toBe('FULL');
  expect(open.length).toBeGreaterThan(2);
  expect(open.length).toBeLessThan(10);
  await Promise.all(open.map((one) => one.close()));
});

test('filters of any size give their memory back', async () => {
  const index = await VectorIndex.create({ dim: 4 }, load);
  await index.add([5], [[1, 2, 3, 4]]);
  for (let i = 0; i < 40; ++i) {
    const snapshot = index.snapshot();
    const filter = snapshot.filter(range(100_000 + i));
    expect(snapshot.search([1, 2, 3, 4], { filter }).length).toBe(1);
    await snapshot.close();
  }
  await index.close();
});

test('filters that a reader has compiled give their memory back when others come', async () => {
  const index = await VectorIndex.create({ dim: 4 }, load);
  await index.add([5], [[1, 2, 3, 4]]);
  const filters = range(40).map((i) => index.filter(range(100_000 + i)));  // 800 kB each
  for (const filter of filters) expect(index.search([1, 2, 3, 4], { filter }).length).toBe(1);
  for (const filter of filters) index.searchBatch([[1, 2, 3, 4]], { filter });
  // Fewer than a reader keeps fill the memory: they make room for each other.
  const large = range(8).map((i) => index.filter(range(250_000 + i)));
  for (const filter of large) expect(index.search([1, 2, 3, 4], { filter }).length).toBe(1);
  await index.close();
});

test('a filter or a batch that does not fit is FULL, and the index goes on', async () => {
  const index = await VectorIndex.create({ dim }, load);
  await index.add(range(500), randomRows(1, 500, dim));
  const query = randomRows(2, 1, dim);
  const { ids } = index.search(query);
  const filter = index.filter(range(1_500_000));
  const queries = new Float32Array(20_000 * dim).fill(1);
  const some = randomRows(3, 1500, dim);
  for (let i = 0; i < 4; ++i) {
    expect((await errorOf(() => index.search(query, { filter }))).code).toBe('FULL');
    expect((await errorOf(() => index.searchBatch(queries))).code).toBe('FULL');
    // The queries fit, the results do not.
    expect((await errorOf(() => index.searchBatch(some, { k: 1e9, exhaustive: true }))).code)
      .toBe('FULL');
    expect(index.search(query).ids).toEqual(ids);
    expect(index.searchBatch(some.subarray(0, 500 * dim)).length).toBe(500);
  }
  await index.add(range(500, 500), randomRows(4, 500, dim));
  await index.close();
});

test('an index beyond the budget is FULL, the index beside it goes on', async () => {
  const rows = randomRows(1, 1000, dim);
  const small = await VectorIndex.create({ dim }, load);
  await small.add(range(10), rows.subarray(0, 10 * dim));
  const large = await VectorIndex.create({ dim, bits: 8 }, load);
  let added = 0;
  const error = await errorOf(async () => {
    for (; added < 2e5; added += 1000) await large.add(range(1000, added), rows);
  });
  expect(error.code).toBe('FULL');
  expect(large.size).toBe(added);
  expect(large.search(row(rows, dim, 3), { k: 1 }).ids[0]).toBe(3);
  expect(small.search(row(rows, dim, 3), { k: 1 }).ids[0]).toBe(3);
  await large.close();
  await small.add(range(1000, 100), rows);
  expect(small.size).toBe(1010);
  await small.close();
});
