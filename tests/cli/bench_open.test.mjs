// The benchmark of opening files, at a size where nothing is measured: that every figure is there.
import { beforeAll, describe, expect, it } from 'vitest';
import { SHAPE, expectReport, isCount, isName, isTime } from './support/bench.mjs';
import { runCommand, succeed } from './support/command.mjs';

const FIELDS = {
  ...SHAPE, k: isCount, cache: isName, mode: isName, ms_open: isTime, ms_first_search: isTime,
  ms_both: isTime, ms_both_p99: isTime, cpu_ms_open: isTime, cpu_ms_first_search: isTime,
  opens: isCount, bytes: isCount,
};

describe('bench open', () => {
  let report;
  beforeAll(() => {
    report = succeed(['bench', 'open', '--n', '2000', '--dim', '24', '--seconds', '0.01']);
  });

  it('--json has every field, each of its kind', () => {
    expectReport(report, 'open', FIELDS);
  });

  it('opens mapped and as a whole, from memory and from the disk, within the size bound', () => {
    expect(report.rows.map(({ cache, mode }) => `${cache} ${mode}`))
      .toEqual(['warm mapped', 'warm read', 'cold mapped', 'cold read']);
    for (const { opens, bytes, n, dim, bits } of report.rows) {
      expect(opens).toBeGreaterThanOrEqual(3);
      expect(bytes).toBeLessThanOrEqual(n * (dim * bits / 8 + 36) + 65536);
    }
  });

  it('its help says how to read it, in 100 columns', () => {
    const { status, stdout } = runCommand(['bench', 'open', '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/mapped/);
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});
