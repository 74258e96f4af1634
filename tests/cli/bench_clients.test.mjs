// The benchmark of processes that search one file, at a size where nothing is measured: that every
// figure is there, that a writer is seen, and that no process is left over.
import { beforeAll, describe, expect, it } from 'vitest';
import { SHAPE, expectReport, isCount, isName, isTime } from './support/bench.mjs';
import { runCommand, succeed } from './support/command.mjs';

const isAmount = (value) => Number.isFinite(value) && value >= 0;
const isAmountOrNull = (value) => value === null || isAmount(value);
const FIELDS = {
  ...SHAPE, k: isCount, processes: isCount, mode: isName, writer: isName, searches_per_s: isAmount,
  scaling: isAmountOrNull, kept: isAmountOrNull, memory_bytes: isCount, alone_bytes: isCount,
  file_bytes: isTime, alone_share: isAmount, seen_ms_p50: isAmountOrNull,
  seen_ms_p99: isAmountOrNull, commits_per_s: isAmount, writer_cpu_share: isAmount,
  searches: isCount, p50_us: isAmount, p99_us: isAmount,
};

describe('bench clients', () => {
  let report;
  beforeAll(() => {
    report = succeed(['bench', 'clients', '--n', '900', '--dim', '24', '--threads', '1,3',
      '--seconds', '0.2']);
  });

  it('--json has every field, each of its kind', () => {
    expectReport(report, 'clients', FIELDS);
  });

  it('measures every number of processes in both modes, with a writer and without', () => {
    const kinds = report.rows.map(({ processes, mode, writer }) =>
      `${processes} ${mode} ${writer}`);
    expect(kinds).toEqual([1, 3].flatMap((processes) => ['private', 'shared'].flatMap((mode) =>
      ['off', 'paced'].map((writer) => `${processes} ${mode} ${writer}`))));
  });

  it('commits come from the writer alone, and only who follows sees them', () => {
    for (const row of report.rows) {
      if (row.writer === 'off') expect(row.commits_per_s).toBe(0);
      if (row.writer === 'off' || row.mode === 'private') expect(row.seen_ms_p99).toBe(null);
    }
    const followed = report.rows.filter(({ mode, writer }) =>
      mode === 'shared' && writer === 'paced');
    expect(followed.some(({ seen_ms_p99: seen }) => seen > 0)).toBe(true);
  });

  it('its help says how to read it, in 100 columns', () => {
    const { status, stdout } = runCommand(['bench', 'clients', '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/alone_bytes/);
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});
