// An index that lives in a file of the origin's private file system, in tabs of Chromium: one
// writes, whatever ends it, and what it said was certain is there.
import { expect, test } from 'vitest';
import { readLog } from '../../format/read_file.mjs';
import { range, scale } from '../support/random.mjs';
import { fileBytes, openTabs } from '../support/tabs.mjs';

const idsOf = (bytes) => readLog(bytes).rows
  .map(({ id }) => Number(id)).sort((a, b) => a - b);

/** Tabs behind others have no frames to look in. */
const polling = { polling: 50 };

/** In a tab: opens x.vic as `index`. */
const openHere = async (options) => {
  globalThis.index = await vicinal.VectorIndex.open('opfs:x.vic',
    { maxBytes: 2 ** 26, create: { dim: 8 }, ...options });
  return globalThis.index.size;
};

/** In a tab: adds for ever, and tells before and after each write. */
const addForEver = async (seed) => {
  let next = index.size;
  tell('there', next);
  for (let turn = 0; ; ++turn) {
    const count = 1 + (turn * 7 + seed) % 40;
    const ids = Array.from({ length: count }, (_, i) => next + i);
    await tell('submitted', next + count);
    await index.add(ids, ids.map((id) => [1, 2, 3, 4, 5, 6, 7, id]), { durable: true });
    next += count;
    tell('certain', next);
  }
};

test('a file is written, by one tab at a time, and is what a native one is', async () => {
  const tabs = await openTabs();
  const first = await tabs.open();
  const second = await tabs.open();
  expect(await first.evaluate(openHere)).toBe(0);
  await first.evaluate(async () => {
    const ids = Array.from({ length: 500 }, (_, i) => i);
    await index.add(ids, ids.map((id) => [1, 2, 3, 4, 5, 6, 7, id]), { durable: true });
    await index.remove(ids.slice(100, 200));
    await index.flush();
  });
  expect(await second.evaluate(() => codeOf(() => vicinal.VectorIndex.open('opfs:x.vic'))))
    .toMatch(/^BUSY: opfs:x.vic: another tab or worker/);
  const expected = range(100).concat(range(300, 200));
  expect(idsOf(await fileBytes(second, 'x.vic'))).toEqual(expected);
  await first.evaluate(() => index.close());
  expect(await second.evaluate(openHere)).toBe(400);
  await second.evaluate(() => index.upsert([1000], [[1, 2, 3, 4, 5, 6, 7, 8]]));
  await second.evaluate(() => index.close());
  expect(idsOf(await fileBytes(first, 'x.vic'))).toEqual(expected.concat(1000));
  // By its handle it is the same file.
  expect(await first.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const handle = await root.getFileHandle('x.vic');
    const opened = await vicinal.VectorIndex.open(handle);
    const code = await codeOf(() => vicinal.VectorIndex.open('opfs:x.vic'));
    await opened.clear({ durable: true });
    await opened.save('opfs:x.vic');  // a flush
    await opened.close();
    return code;
  })).toMatch(/^BUSY/);
  expect(idsOf(await fileBytes(first, 'x.vic'))).toEqual([]);
});

test('a tab that ends in mid-commit, in whatever way, loses nothing certain', async () => {
  const tabs = await openTabs();
  const ends = [
    (page) => page.close(),
    async (page) => {
      const session = await tabs.context.newCDPSession(page);
      session.send('Page.crash').catch(() => undefined);
      await new Promise((resolve) => { page.once('crash', resolve); });
      await page.close();
    },
    (page) => page.goto('about:blank'),
  ];
  let before = 0;
  for (let run = 0; run < 6 * scale; ++run) {
    const told = { there: 0, submitted: 0, certain: 0 };
    let count = 0;
    let enough;
    const worked = new Promise((resolve) => { enough = resolve; });
    const page = await tabs.open((what, rows) => {
      told[what] = rows;
      if (++count === 4 + 5 * run) enough();
    });
    expect(await page.evaluate(openHere)).toBe(before);
    page.evaluate(addForEver, run).catch(() => undefined);
    await worked;
    await ends[run % ends.length](page);
    const next = await tabs.open();
    const there = await next.evaluate(openHere);
    expect(there).toBeGreaterThanOrEqual(told.certain);
    expect(there).toBeLessThanOrEqual(told.submitted);
    await next.evaluate(() => index.close());
    expect(idsOf(await fileBytes(next, 'x.vic'))).toEqual(range(there));
    before = there;
    await next.close();
    if (!page.isClosed()) await page.close();
  }
  expect(before).toBeGreaterThan(0);
}, 180_000);

test('without quota it is FULL: nothing is lost, and with more it goes on', async () => {
  const tabs = await openTabs();
  const page = await tabs.open();
  await page.evaluate(openHere);
  const session = await tabs.context.newCDPSession(page);
  const { usage } = await session.send('Storage.getUsageAndQuota', { origin: tabs.origin });
  await session.send('Storage.overrideQuotaForOrigin',
    { origin: tabs.origin, quotaSize: Math.ceil(usage) + 300_000 });
  const added = await page.evaluate(async () => {
    const rows = Array.from({ length: 1000 }, (_, i) => [1, 2, 3, 4, 5, 6, 7, i]);
    for (let next = 0; next < 200_000; next += rows.length) {
      const ids = rows.map((_, i) => next + i);
      try {
        await index.add(ids, rows, { durable: true });
      } catch ({ code, message }) {
        return { code, message, rows: next + rows.length };
      }
    }
    return { code: 'nothing was thrown' };
  });
  expect(added.code, added.message).toBe('FULL');
  const during = await page.evaluate(async (rows) => {
    await index.add([1_000_000], [[8, 7, 6, 5, 4, 3, 2, 1]]);
    const [{ id }] = index.search([8, 7, 6, 5, 4, 3, 2, 1], { k: 1 });
    return { id, size: index.size, again: await codeOf(() => index.flush()), rows };
  }, added.rows);
  expect(during).toMatchObject({ id: 1_000_000, size: added.rows + 1 });
  expect(during.again).toMatch(/^FULL/);
  await session.send('Storage.overrideQuotaForOrigin', { origin: tabs.origin });
  expect(await page.evaluate(async () => (await index.flush()).sequence)).toBeGreaterThan(1);
  await page.evaluate(() => index.close());
  expect(await page.evaluate(openHere)).toBe(added.rows + 1);
  await page.evaluate(() => index.close());
}, 120_000);

test('a tab that reads follows the one that writes, and outlives it', async () => {
  const tabs = await openTabs();
  const writer = await tabs.open();
  await writer.evaluate(openHere);
  await writer.evaluate(() => index.add([0], [[1, 2, 3, 4, 5, 6, 7, 8]]));
  const reader = await tabs.open();
  expect(await reader.evaluate(openHere, { readOnly: true })).toBe(1);
  for (let turn = 1; turn <= 5; ++turn) {
    const size = await writer.evaluate(async (first) => {
      const ids = Array.from({ length: 300 }, (_, i) => first + i);
      await index.upsert(ids, ids.map((id) => [id, 2, 3, 4, 5, 6, 7, 8]));
      await index.remove([first + 7]);
      return index.size;
    }, turn * 300);
    await reader.waitForFunction((wanted) => index.size === wanted, size, polling);
    const [found, expected] = await Promise.all([reader, writer].map((page) => page.evaluate(
      (id) => Array.from(index.search([id, 2, 3, 4, 5, 6, 7, 8], { k: 30 }).ids),
      turn * 300 + 100)));
    expect(found).toEqual(expected);
  }
  expect(await reader.evaluate(() => codeOf(() => index.clear()))).toMatch(/^READ_ONLY/);
  const other = await tabs.open();
  expect(await other.evaluate(openHere, { readOnly: true })).toBe(1496);
  await writer.close();
  const next = await tabs.open();
  await next.evaluate(openHere);
  await next.evaluate(() => index.clear());
  for (const page of [reader, other]) {
    await page.waitForFunction(() => index.size === 0, undefined, polling);
  }
}, 120_000);

test('a damaged file is told, and stays as it is', async () => {
  const tabs = await openTabs();
  const page = await tabs.open();
  await page.evaluate(openHere);
  await page.evaluate(async () => {
    const ids = Array.from({ length: 2000 }, (_, i) => i);
    await index.add(ids, ids.map((id) => [1, 2, 3, 4, 5, 6, 7, id]), { durable: true });
    await index.close();
  });
  const good = await fileBytes(page, 'x.vic');
  const told = await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const handle = await root.getFileHandle('x.vic');
    const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
    const codes = [];
    for (const change of [
      () => bytes.subarray(0, 16384), () => bytes.subarray(0, 100), () => bytes.subarray(0, 0),
      () => bytes.map((byte, i) => i === 70 ? byte ^ 1 : byte),
      () => bytes.map((byte, i) => i === bytes.length - 100 ? byte ^ 4 : byte),
    ]) {
      const stream = await handle.createWritable();
      await stream.write(change());
      await stream.close();
      codes.push((await codeOf(() => vicinal.VectorIndex.open('opfs:x.vic'))).split(':')[0]);
    }
    const stream = await handle.createWritable();
    await stream.write(bytes);
    await stream.close();
    codes.push((await codeOf(() => vicinal.VectorIndex.open('opfs:none.vic'))).split(':')[0]);
    return codes;
  });
  expect(told).toEqual(['CORRUPT', 'CORRUPT', 'CORRUPT', 'CORRUPT', 'CORRUPT', 'IO']);
  expect(Buffer.from(await fileBytes(page, 'x.vic')).equals(Buffer.from(good))).toBe(true);
  expect(await page.evaluate(openHere)).toBe(2000);
});
