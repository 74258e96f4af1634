// The benchmark of many open indexes, at a size where nothing is measured: that every figure is
// there, and that each variant finds.
import { beforeAll, describe, expect, it } from 'vitest';
import { expectReport, isCount, isName, isTime } from './support/bench.mjs';
import { runCommand, succeed } from './support/command.mjs';

describe('bench index-cache', () => {
  let report;
  beforeAll(() => {
    report = succeed(['bench', 'index-cache', '--n', '300', '--dim', '24', '--threads', '1,3',
      '--seconds', '0.01']);
  }, 120_000);
  const lookups = () => report.rows.filter((row) => row.check_ns === null);
  const checks = () => report.rows.filter((row) => row.check_ns !== null);

  it('--json has every field, each of its kind', () => {
    const common = { data: isName, rows: isCount, dim: isCount, bits: isCount, indexes: isCount,
      threads: isCount, variant: isName, shared_rmw: (value) => Number.isInteger(value) };
    const none = (value) => value === null;
    expectReport({ ...report, rows: lookups() }, 'index-cache', { ...common, k: isCount,
      searches_per_s: isTime, search_cpu_us: isTime, lookups_per_s: isTime, lookup_ns: isTime,
      of_nolock: isTime, check_ns: none });
    expectReport({ ...report, rows: checks() }, 'index-cache', { ...common, k: none,
      searches_per_s: none, search_cpu_us: none, lookups_per_s: none, lookup_ns: none,
      of_nolock: none, check_ns: isTime });
  });

  it('measures every variant with each number of threads, and both checks at two sizes', () => {
    expect(lookups().map(({ threads, variant }) => `${threads} ${variant}`)).toEqual(
      [1, 3].flatMap((threads) => ['mutex', 'sharded', 'rwlock', 'ours', 'nolock']
        .map((variant) => `${threads} ${variant}`)));
    expect(checks().map(({ rows, variant }) => `${rows} ${variant}`)).toEqual(
      ['10000 ours', '10000 row-count', '1000000 ours', '1000000 row-count']);
    for (const { variant, shared_rmw } of lookups()) {
      expect(shared_rmw > 0, variant).toBe(!['ours', 'nolock'].includes(variant));
    }
  });

  it('its help says how to read it, in 100 columns', () => {
    const { status, stdout } = runCommand(['bench', 'index-cache', '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/row-count/);
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});
