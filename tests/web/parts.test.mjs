// Writes that land in parts: what is shown together, what stays at an error, what it costs.
import { describe, expect, test } from 'vitest';
import { backends, create, errorOf } from './support/backends.mjs';
import { range } from './support/random.mjs';

const dim = 2048;
const part = 2 ** 22 / (4 * dim);
const count = 3 * part + 100;

function rowsOf(count, dim) {
  let state = 7;
  return Float32Array.from({ length: count * dim }, () => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    return state / 2 ** 31;
  });
}

const rows = rowsOf(count, dim);
const row = (i) => rows.subarray(i * dim, (i + 1) * dim);
const inParts = { atomic: false };
const used = backends.filter(({ name }) => name !== 'scalar');
const landedIn = (index, parts) => {
  expect([index.size, index.sequence]).toEqual([parts * part, parts]);
  expect(index.has(parts * part - 1)).toBe(true);
  expect(index.has(parts * part)).toBe(false);
};

describe.each(used)('writes in parts, $name', ({ load }) => {
  test('a part is a version, shown whole, and the receipt tells the last and all', async () => {
    const whole = await create({ dim }, load);
    const sizes = new Set();
    let index;
    // Until something was seen between two parts: this thread's turns are the scheduler's business.
    for (let tries = 0; sizes.size < 2; ++tries) {
      expect(tries).toBeLessThan(50);
      await index?.close();
      index = await create({ dim }, load);
      let done = false;
      const adding = index.add(range(count), rows, inParts).finally(() => { done = true; });
      while (!done) {
        const snapshot = index.snapshot();
        sizes.add(snapshot.size);
        expect(snapshot.size).toBe(Math.min(count, snapshot.sequence * part));
        if (snapshot.size > 0) expect(snapshot.has(snapshot.size - 1)).toBe(true);
        await snapshot.close();
        await new Promise((resolve) => setTimeout(resolve));
      }
      expect(await adding).toEqual({ sequence: 4, count });
    }
    expect(await whole.add(range(count), rows)).toEqual({ sequence: 1, count });
    for (const i of [0, part - 1, part, count - 1]) {
      expect(Array.from(index.search(row(i), { k: 50 }).scores))
        .toEqual(Array.from(whole.search(row(i), { k: 50 }).scores));
    }
    // What fits one part is as any other write.
    expect(await index.upsert(range(part), rows.subarray(0, part * dim), inParts))
      .toEqual({ sequence: 5, count: part });
  });

  test('later writes come behind all of its parts', async () => {
    const index = await create({ dim }, load);
    const writes = [
      index.add(range(count), rows, inParts),
      index.upsert([count - 1], row(3)),
      index.remove([1]),
      index.upsert(range(count), rows, inParts),
      index.add([count], row(0)),
    ];
    const receipts = await Promise.all(writes);
    expect(receipts.map((receipt) => receipt.count)).toEqual([count, 1, 1, count, 1]);
    for (let i = 1; i < receipts.length; ++i) {
      expect(receipts[i].sequence).toBeGreaterThanOrEqual(receipts[i - 1].sequence);
    }
    expect(index.size).toBe(count + 1);
    const flushed = index.add(range(count, 10_000), rows, inParts);
    const { sequence } = await index.flush();
    expect(sequence).toBe((await flushed).sequence);
  });

  test('a row that is there, or bad: the parts before it stay, and the error tells', async () => {
    const index = await create({ dim }, load);
    const ids = range(count);
    ids[2 * part + 5] = 9;
    const error = await errorOf(() => index.add(ids, rows, inParts));
    expect(error).toMatchObject({
      code: 'DUPLICATE_ID', landed: { count: 2 * part, sequence: 2 },
    });
    expect(error.message).toMatch(/id 9 .*; 1024 rows of earlier parts of this write stay/);
    landedIn(index, 2);
    await index.clear();
    const { sequence } = index;
    const bad = rows.slice();
    bad[(part + 17) * dim + 3] = Infinity;
    const other = await errorOf(() => index.upsert(range(count), bad, inParts));
    expect(other).toMatchObject({
      code: 'NOT_FINITE', landed: { count: part, sequence: sequence + 1 },
    });
    expect(other.message).toContain(`coordinate 3 of row ${part + 17} `);
    expect(index.size).toBe(part);
    // Nothing landed: nothing to tell.
    const first = await errorOf(() => index.add(range(count), rows, inParts));
    expect([first.code, first.landed]).toEqual(['DUPLICATE_ID', undefined]);
    // As a whole: nothing stays.
    await index.clear();
    const atomic = await errorOf(() => index.add(ids, rows));
    expect([atomic.code, atomic.landed, index.size]).toEqual(['DUPLICATE_ID', undefined, 0]);
  });

  test('stopped between two parts: ABORTED, what has landed stays', async () => {
    const index = await create({ dim }, load);
    const abort = new AbortController();
    const told = [];
    const onProgress = ({ done, total }) => {
      told.push(done);
      expect(total).toBe(count);
      if (index.size >= part) abort.abort('enough');
    };
    const options = { ...inParts, signal: abort.signal, onProgress };
    const error = await errorOf(() => index.add(range(count), rows, options));
    expect([error.code, error.cause]).toEqual(['ABORTED', 'enough']);
    expect(error.landed).toEqual({ count: index.size, sequence: index.sequence });
    landedIn(index, index.sequence);
    expect(told.every((done, i) => done >= (told[i - 1] ?? 0) && done <= count)).toBe(true);
    // What the callback throws passes as it is; its parts stay.
    await index.clear();
    const thrown = new Error('mine');
    expect(await errorOf(() => index.add(range(count), rows, {
      ...inParts, onProgress({ done }) { if (done > 2 * part) throw thrown; },
    }))).toBe(thrown);
    expect(index.size).toBe(2 * part);
  });

  test('close waits for the last part', async () => {
    const index = await create({ dim }, load);
    const write = index.add(range(count), rows, inParts);
    const closing = index.close();
    expect(await write).toMatchObject({ count });
    await closing;
  });

  test('a removal in parts', async () => {
    const index = await create({ dim: 4 }, load);
    const perPart = 2 ** 18;
    await index.add([5, perPart - 1, perPart, 2 * perPart + 3], rowsOf(4, 4));
    const told = [];
    const receipt = await index.remove(range(2 * perPart + 10), {
      ...inParts, onProgress: ({ done }) => told.push(done),
    });
    expect(receipt).toEqual({ sequence: 4, count: 4, removed: 4 });
    expect([...new Set(told)]).toEqual([perPart, 2 * perPart, 2 * perPart + 10]);
    expect(index.size).toBe(0);
  });

  test('atomic is a boolean', async () => {
    const index = await create({ dim: 4 }, load);
    for (const atomic of ['no', 0, null]) {
      const error = await errorOf(() => index.add([1], [[1, 2, 3, 4]], { atomic }));
      expect(error).toMatchObject({ code: 'BAD_OPTION' });
      expect(error.message).toContain('atomic');
    }
    expect(await index.add([1], [[1, 2, 3, 4]], { atomic: undefined })).toMatchObject({ count: 1 });
    for (const write of [index.clear(inParts), index.compact(inParts)]) await write;
  });
});

test('memory for encoded rows is that of a part: what is FULL as a whole fits', async () => {
  const [narrow, many] = [256, 50_000];
  const input = rowsOf(many, narrow);
  // A build that no other test of this file uses, so that the memory is a small one.
  const index = await create({ dim: narrow }, { simd: 'scalar', maxBytes: 2 ** 24 });
  expect(await errorOf(() => index.add(range(many), input))).toMatchObject({ code: 'FULL' });
  expect(index.size).toBe(0);
  expect(await index.add(range(many), input, inParts)).toMatchObject({ count: many });
  expect(index.search(input.subarray(0, narrow), { k: 1 }).ids[0]).toBe(0);
  // More than fits in any way: the parts that did stay.
  const error = await errorOf(() => index.add(range(many, many), input, inParts));
  expect(error.code).toBe('FULL');
  expect(error.landed.count).toBeGreaterThan(0);
  expect(index.size).toBe(many + error.landed.count);
  expect(index.search(input.subarray(0, narrow), { k: 1 }).ids.length).toBe(1);
});
