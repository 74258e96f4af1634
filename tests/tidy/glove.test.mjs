// What bench/data/fetch_glove.mjs does to the vectors that it fetches.
import { describe, expect, it } from 'vitest';
import { distinctRows, draws, holdOut } from '../../bench/data/fetch_glove.mjs';

it('zero rows and repeated rows are dropped, and what lies behind the coordinates', () => {
  const vectors = [[1, 2, 9], [0, 0, 9], [1, 2, 8], [2, 1, 7], [-0, 0, 1]];
  expect(distinctRows(vectors, 2).map((row) => [...row])).toEqual([[1, 2], [2, 1]]);
});

describe('the queries held out', () => {
  const rows = Array.from({ length: 500 }, (_, i) => i);

  it('are as many as wanted, and no row is on both sides or lost', () => {
    const { base, queries } = holdOut(rows, 50, 1);
    expect(queries).toHaveLength(50);
    expect([...base, ...queries].sort((a, b) => a - b)).toEqual(rows);
  });

  it('are the same for the same seed, and others for another', () => {
    expect(holdOut(rows, 50, 7)).toEqual(holdOut(rows, 50, 7));
    expect(holdOut(rows, 50, 7)).not.toEqual(holdOut(rows, 50, 8));
  });

  it('come from everywhere', () => {
    const next = draws(3);
    const counts = new Array(10).fill(0);
    for (let i = 0; i < 10_000; ++i) counts[next(10)] += 1;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(200);
  });
});
