// calibrate: when it may be called, what it changes, and its place among the writes.
import { describe, expect, test } from 'vitest';
import { backends, create, errorOf, plain } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';

const dim = 16;

/** Rows that lie far from zero. */
function farRows(seed, count) {
  return randomRows(seed, count, dim).map((value, i) => value + 3 * (i % dim % 3));
}

function everything(index, query) {
  return plain(index.search(query, { k: 1e6, exhaustive: true }));
}

async function refused(promise, code, message = /./) {
  const error = await errorOf(() => promise);
  expect(error).toMatchObject({ name: 'VicinalError', code });
  expect(error.message).toMatch(message);
}

describe.each(backends)('calibrating, $name', ({ load }) => {
  test('makes distances of rows far from zero right', async () => {
    const rows = farRows(1, 500);
    const nearest = async (bits, calibrated) => {
      const index = await create({ dim, metric: 'l2', bits }, load);
      if (calibrated) await index.calibrate(rows);
      expect(index.stats().calibrated).toBe(calibrated);
      await index.add(range(500), rows);
      return range(40).map((i) => Array.from(index.search(row(rows, dim, i), { k: 10 }).ids));
    };
    const exact = await nearest(8, true);
    const right = (found) => found.flat()
      .filter((id, i) => exact[Math.floor(i / 10)].includes(id)).length;
    const calibrated = right(await nearest(2, true));
    expect(calibrated).toBeGreaterThan(right(await nearest(2, false)) + 20);
  });

  test('keeps the order of the calls, awaited or not', async () => {
    const sample = farRows(2, 100);
    const rows = farRows(3, 60);
    const awaited = await create({ dim }, load);
    await awaited.calibrate(sample);
    await awaited.add(range(60), rows);
    const index = await create({ dim }, load);
    const calls = [index.calibrate(sample), index.add(range(60), rows), index.remove([99]),
      index.calibrate(sample)];
    sample.fill(0);  // was copied
    rows.fill(0);
    const results = await Promise.allSettled(calls);
    expect(results.map(({ status }) => status))
      .toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(results[3].reason).toMatchObject({ code: 'BAD_OPTION' });
    const query = row(farRows(4, 1), dim, 0);
    expect(everything(index, query)).toEqual(everything(awaited, query));
  });

  test('is for an index without rows, and outlives clear', async () => {
    const index = await create({ dim }, load);
    expect(await index.calibrate(farRows(5, 32))).toEqual({ sequence: 1, count: 0 });
    await index.add([1], farRows(6, 1));
    await refused(index.calibrate(farRows(5, 32)), 'BAD_OPTION', /has rows/);
    await index.clear();
    expect(index.stats().calibrated).toBe(true);
    await index.calibrate(farRows(7, 32));
  });

  test('refuses what is no sample, and changes nothing', async () => {
    const index = await create({ dim }, load);
    const sample = farRows(8, 40);
    await refused(index.calibrate(sample.subarray(0, 31 * dim)), 'BAD_OPTION', /sample.*32/);
    await refused(index.calibrate(new Float32Array(0)), 'BAD_OPTION', /sample/);
    await refused(index.calibrate(sample.subarray(1)), 'DIMENSION', /multiple of 16/);
    await refused(index.calibrate([sample]), 'BAD_OPTION', /sample/);
    await refused(index.calibrate(undefined), 'BAD_OPTION', /sample/);
    await refused(index.calibrate(sample, { durable: true }), 'UNSUPPORTED');
    await refused(index.calibrate(sample, { signal: AbortSignal.abort() }), 'ABORTED');
    const damaged = sample.slice();
    damaged[35 * dim + 2] = NaN;
    await refused(index.calibrate(damaged), 'NOT_FINITE', /coordinate 2 of row 35/);
    expect(index.sequence).toBe(0);
    expect(index.stats().calibrated).toBe(false);
    const product = await create({ dim, metric: 'ip' }, load);
    await refused(product.calibrate(sample), 'UNSUPPORTED', /'ip'/);
    await index.close();
    await refused(index.calibrate(sample), 'CLOSED');
  });

  test('tells its progress', async () => {
    const index = await create({ dim }, load);
    const seen = [];
    await index.calibrate(farRows(9, 200), { onProgress: (progress) => seen.push(progress) });
    expect(seen.at(-1)).toEqual({ done: 200, total: 200 });
  });

  test('a snapshot keeps the rows and the origin that it was taken with', async () => {
    const index = await create({ dim }, load);
    await index.add(range(50), farRows(10, 50));
    const query = row(farRows(11, 1), dim, 0);
    const snapshot = index.snapshot();
    const before = everything(snapshot, query);
    const vector = snapshot.get(3);
    await index.clear();
    await index.calibrate(farRows(12, 50));
    await index.add(range(50), farRows(10, 50));
    expect(everything(snapshot, query)).toEqual(before);
    expect(snapshot.get(3)).toEqual(vector);
    expect(everything(index, query)).not.toEqual(before);
    snapshot.close();
  });
});
