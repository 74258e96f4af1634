// compact: what it leaves, and that the index does it by itself under replacements.
import { describe, expect, test } from 'vitest';
import { backends, create, errorOf, plain } from './support/backends.mjs';
import { randomRows, range, row } from './support/random.mjs';

const dim = 16;

function everything(reader, query) {
  return plain(reader.search(query, { k: 1e6, exhaustive: true }));
}

describe.each(backends)('compacting, $name', ({ load }) => {
  test('leaves no dead row and the same results, in snapshots as well', async () => {
    const index = await create({ dim }, load);
    const rows = randomRows(1, 600, dim);
    await index.add(range(600), rows);
    const before = index.snapshot();
    const query = row(rows, dim, 7);
    const first = everything(before, query);
    await index.upsert(range(200), randomRows(2, 200, dim));
    await index.remove(range(600).slice(500));
    const results = everything(index, query);
    expect(index.stats().dead).toBe(300);
    const receipt = await index.compact();
    expect(receipt).toMatchObject({ count: 300, sequence: index.sequence });
    expect(index.stats()).toMatchObject({ dead: 0, size: 500 });
    expect(everything(index, query).ids).toEqual(results.ids);
    expect(everything(index, query).scores).toEqual(results.scores);
    expect(everything(before, query).ids).toEqual(first.ids);
    expect(await index.compact()).toEqual({ count: 0, sequence: receipt.sequence });
  });

  test('runs among writes that are not awaited, and is stopped before it begins', async () => {
    const index = await create({ dim }, load);
    await index.add(range(300), randomRows(1, 300, dim));
    const done = await Promise.all([
      index.remove(range(100)), index.compact(), index.upsert(range(150), randomRows(3, 150, dim)),
      index.compact(), index.flush(),
    ]);
    expect(done[0].removed).toBe(100);
    expect(index.size).toBe(300);
    const signal = AbortSignal.abort();
    expect(await errorOf(() => index.compact({ signal }))).toMatchObject({ code: 'ABORTED' });
    await index.close();
    expect(await errorOf(() => index.compact())).toMatchObject({ code: 'CLOSED' });
  });

  test('comes by itself where replaced rows become many', async () => {
    const index = await create({ dim }, load);
    const rows = randomRows(1, 1500, dim);
    await index.add(range(1500), rows);
    let most = 0;
    for (let round = 0; round < 12; round++) {
      await index.upsert(range(1500).slice(0, 700), rows.slice(0, 700 * dim));
      most = Math.max(most, index.stats().dead);
    }
    expect(most).toBeGreaterThan(1000);
    expect(most).toBeLessThan(1500 + 2 * 700);
    expect(index.size).toBe(1500);
  });
});
