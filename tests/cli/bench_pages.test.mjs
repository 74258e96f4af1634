// The benchmarks of the page cache, at sizes where nothing is measured: that every figure is there,
// and that what does not depend on the machine is right.
import { beforeAll, describe, expect, it } from 'vitest';
import { expectReport, isCount, isName, isShare, isTime } from './support/bench.mjs';
import { fail, runCommand, succeed } from './support/command.mjs';

const run = (name, ...options) =>
  succeed(['bench', name, '--threads', '1,3', '--seconds', '0.01', ...options]);
const variants = (report, ...fields) => [...new Set(report.rows
  .map((row) => fields.map((field) => row[field]).join(' ')))];

describe('bench page-cache', () => {
  let report;
  beforeAll(() => { report = run('page-cache', '--n', '300,2000'); }, 120_000);

  it('--json has every field, each of its kind', () => {
    expectReport(report, 'page-cache', {
      threads: isCount, lookups: isCount, variant: isName, shared_rmw: isCount, pages: isCount,
      ns_per_lookup: isTime, lookups_per_s: isTime, of_ours: isTime, hit_rate: isShare,
    });
  });

  it('measures five variants with each number of threads, which find every page', () => {
    const names = ['lock-before-lookup', 'lock-on-miss-refcount-clone', 'lock-on-miss-refcount',
      'pin', 'ours'];
    expect(report.rows.map(({ threads, lookups, variant }) => `${threads} ${lookups} ${variant}`))
      .toEqual([1, 3].flatMap((threads) => [300, 2000].flatMap((lookups) =>
        names.map((name) => `${threads} ${lookups} ${name}`))));
    for (const { variant, hit_rate: rate, shared_rmw: writes } of report.rows) {
      expect(rate, variant).toBe(1);
      expect(writes === 0, variant).toBe(variant === 'ours');
    }
  });
});

describe('bench buffer-header', () => {
  let report;
  beforeAll(() => { report = run('buffer-header', '--n', '1,20'); }, 120_000);

  it('--json has every field, each of its kind', () => {
    expectReport(report, 'buffer-header', {
      clients: isCount, pages: isCount, variant: isName, shared_rmw: isCount, ops_per_s: isTime,
      cpu_ns_per_op: isTime, of_ours: isTime,
      retries_per_op: (value) => Number.isFinite(value) && value >= 0,
    });
  });

  it('measures eight variants; additions and readings retry nothing', () => {
    expect(variants(report, 'variant')).toEqual(['full-cas', 'cas-in-subtract-out', 'half-cas',
      'half-add', 'joint-add', 'version-validated', 'hold', 'ours']);
    expect(variants(report, 'pages', 'clients')).toEqual(['1 1', '1 3', '20 1', '20 3']);
    for (const { variant, retries_per_op: retries } of report.rows) {
      if (!variant.includes('cas')) expect(retries, variant).toBe(0);
    }
  });
});

describe('bench free-list', () => {
  let report;
  beforeAll(() => { report = run('free-list', '--n', '256'); }, 120_000);

  it('--json has every field, each of its kind', () => {
    expectReport(report, 'free-list', {
      threads: isCount, partitions: isCount, fill: isShare, frames: isCount, variant: isName,
      ops_per_s: (value) => Number.isFinite(value) && value >= 0, cpu_ns_per_op: isTime,
      of_ours: (value) => value === null || Number.isFinite(value), steals: isCount,
      false_full: isCount,
    });
  });

  it('ours never says that a table is full when it is not; lists that do not steal do', () => {
    expect(variants(report, 'variant')).toEqual(['one-mutex', 'one-spinlock',
      'spinlock-array-with-stealing', 'per-partition-without-stealing', 'ours']);
    expect(variants(report, 'partitions', 'fill')).toHaveLength(12);
    const falseOf = (name) => report.rows.filter(({ variant }) => variant === name)
      .reduce((sum, { false_full: count }) => sum + count, 0);
    expect(falseOf('ours')).toBe(0);
    expect(falseOf('one-mutex')).toBe(0);
    expect(falseOf('per-partition-without-stealing')).toBeGreaterThan(0);
  });

  it('refuses a table without two frames for each thread', () => {
    const { code, message } = fail(['bench', 'free-list', '--n', '3', '--threads', '2']);
    expect(code).toBe('BAD_OPTION');
    expect(message).toMatch(/two frames/);
  });
});

describe.each(['page-cache', 'buffer-header', 'free-list'])('the help of bench %s', (name) => {
  it('says how to read it, in 100 columns', () => {
    const { status, stdout } = runCommand(['bench', name, '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/of_ours/);
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});
