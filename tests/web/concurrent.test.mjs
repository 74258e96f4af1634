// Readers in workers beside a writer that does not wait for them.
import { describe, expect, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { create, withThreads } from './support/backends.mjs';
import { newSeed, random, randomRows, range, scale } from './support/random.mjs';
import { startWorker } from './support/workers.mjs';

const dim = 16;

describe.each(withThreads)('concurrency, $name', ({ load }) => {
  test('workers that search while groups come and go see whole groups only', async () => {
    const [groupRows, groups, commits] = [37, 12, 400 * scale];
    const index = await create({ dim }, load);
    const next = random(newSeed('groups'));
    const rows = randomRows(1, groupRows, dim);
    const idsOf = (group) => range(groupRows, group * groupRows);
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const workers = await Promise.all(range(3).map(startWorker));
    await Promise.all(workers.map((worker) => worker.call('attach', index.share())));
    const watching = workers.map((worker) =>
      worker.call('watchGroups', flag, groupRows, rows.slice(0, dim), groupRows * groups * 2));
    const present = new Set();
    for (let i = 0; i < commits; ++i) {
      const group = Math.floor(next() * groups);
      if (!present.has(group)) await index.add(idsOf(group), rows);
      else if (next() < 0.5) await index.upsert(idsOf(group), rows);
      else await index.remove(idsOf(group));
      if (index.has(group * groupRows)) present.add(group);
      else present.delete(group);
    }
    Atomics.store(flag, 0, 1);
    for (const { searches, versions, last } of await Promise.all(watching)) {
      expect(searches).toBeGreaterThan(0);
      expect(versions).toBeGreaterThan(0);
      expect(last).toBeLessThanOrEqual(index.sequence);
    }
    expect(index.size).toBe(present.size * groupRows);
    await Promise.all(workers.map((worker) => worker.terminate()));
  });

  test('negative control: groups that are written in two steps are noticed', async () => {
    const groupRows = 37;
    const index = await create({ dim }, load);
    const rows = randomRows(1, groupRows, dim);
    const worker = await startWorker();
    await worker.call('attach', index.share());
    const flag = new Int32Array(new SharedArrayBuffer(4));
    let noticed;
    worker.call('watchGroups', flag, groupRows, rows.slice(0, dim), 1000)
      .catch((error) => { noticed = error; });
    for (let i = 0; noticed === undefined; i = (i + 1) % 8) {
      await index.add(range(20, i * groupRows), rows.subarray(0, 20 * dim));
      await index.add(range(17, i * groupRows + 20), rows.subarray(20 * dim));
      if (i === 7) await index.clear();
    }
    expect(noticed.message).toMatch(/has 20 of 37 rows/);
    await worker.terminate();
  });

  test('attach and close, many times in many workers, beside a writer', async () => {
    const index = await create({ dim }, load);
    await index.add([1], randomRows(1, 1, dim));
    const workers = await Promise.all(range(3).map(startWorker));
    const attaching = workers.map((worker) =>
      worker.call('attachOften', index.share(), 100 * scale, 1));
    let done = false;
    const all = Promise.all(attaching).finally(() => { done = true; });
    const rows = randomRows(2, 50, dim);
    while (!done) await index.upsert(range(50, 2), rows);
    expect(await all).toEqual([100 * scale, 100 * scale, 100 * scale]);
    const mine = await Promise.all(range(20).map(() => VectorIndex.attach(index.share())));
    for (const reader of mine) expect(reader.size).toBe(51);
    await Promise.all(mine.map((reader) => reader.close()));
    const { readers } = index.stats();
    expect(readers).toBeLessThanOrEqual(2);
    await Promise.all(workers.map((worker) => worker.terminate()));
  });

  test('searchAsync and search agree while writes go on', async () => {
    const index = await create({ dim }, load);
    const rows = randomRows(4, 200, dim);
    const writes = range(50).map((i) => index.upsert(range(200), rows, { tag: i }));
    const searches = range(50).map((i) =>
      index.searchAsync(rows.subarray(i * dim, (i + 1) * dim), { k: 200 }));
    for (const hits of await Promise.all(searches)) expect([0, 200]).toContain(hits.length);
    await Promise.all(writes);
    expect(index.size).toBe(200);
  });

  test('a snapshot in the middle of writes is one version', async () => {
    const index = await create({ dim }, load);
    const rows = randomRows(5, 64, dim);
    const snapshots = [];
    for (let i = 0; i < 30; ++i) {
      const write = index.add(range(64, 64 * i), rows);
      snapshots.push(index.snapshot());
      await write;
    }
    for (const snapshot of snapshots) {
      const hits = snapshot.search(rows.subarray(0, dim), { k: 1e5 });
      expect(hits.length).toBe(64 * hits.sequence);
      expect(snapshot.size).toBe(hits.length);
      await snapshot.close();
    }
  });
});
