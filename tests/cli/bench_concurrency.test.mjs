// The benchmarks of callers that search and write at once, at sizes where nothing is measured: that
// every figure is there, that counts add up, and that a lock changes no answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  SHAPE, expectReport, isCount, isName, isShare, isTime,
} from './support/bench.mjs';
import {
  BASE, QUERIES, fail, fvecs, runCommand, succeed, temporaryFolder, wholeRows,
} from './support/command.mjs';

const { write, remove } = temporaryFolder();
afterAll(remove);

const bench = (name, ...args) => succeed(['bench', name, ...args]);

const isAmount = (value) => Number.isFinite(value) && value >= 0;
// A slice of a millisecond may pass before any caller is given a core: rates may be 0 here.
const isRate = isAmount;
const isRatio = (value) => value === null || isAmount(value);
const isTimeOrNull = (value) => value === null || isTime(value);
const isVariant = (value) => ['ours', 'locked-pool'].includes(value);

const CALLS = {
  calls: isCount, p50_us: isTime, p99_us: isTime, p999_us: isTime, calm_p99_us: isTimeOrNull,
  calm_p999_us: isTimeOrNull, cpu_us: isTime, involuntary: isCount, unequal: (value) => value === 0,
};
const FIELDS = {
  concurrent: {
    ...SHAPE, ...CALLS, k: isCount, threads: isCount, nq: isCount, filter: isShare, pool: isCount,
    variant: isVariant, searches_per_s: isRate, scaling: isRatio, cpu_share: isAmount,
    cpu_ratio: isRatio,
  },
  'writer-impact': {
    ...SHAPE, ...CALLS, k: isCount, readers: isCount, writer: isName, variant: isVariant,
    reads_per_s: isRate, writes_per_s: isAmount, writer_cpu_share: isAmount, kept: isRatio,
    cpu_ratio: isTime, p99_ratio: isTime, calm_p99_ratio: isRatio, writes: isCount,
    versions: isCount, rows_after: isCount,
    write_p50_us: (value, { writes }) => (writes === 0 ? value === null : isTime(value)),
    write_p99_us: (value, { writes }) => (writes === 0 ? value === null : isTime(value)),
  },
  'bulk-stall': {
    ...SHAPE, ...CALLS, k: isCount, variant: isVariant, phase: isName, max_us: isTime,
    worst_us: isTime, calm_max_us: isTimeOrNull, stall: isTime, added: isCount,
    rows_after: isCount,
    add_ms: (value, { phase }) => (phase === 'during' ? isTime(value) : value === null),
  },
  writes: {
    ...SHAPE, op: isName, rows: isCount, durable: (value) => typeof value === 'boolean',
    variant: isVariant,
    file_ratio: (value, { durable }) => (durable ? isTime(value) : value === null),
    rows_per_s: isTime, applied: isCount, rows_after: isCount, calls: isCount, p10_us: isTime,
    p50_us: isTime, p99_us: isTime, cpu_p50_us: isTime,
  },
};
const SMALL = {
  concurrent: ['--n', '900', '--dim', '24', '--threads', '1,3', '--seconds', '0.004'],
  'writer-impact': ['--n', '1100', '--dim', '24', '--threads', '1,3', '--seconds', '0.02'],
  'bulk-stall': ['--n', '1000', '--dim', '24', '--seconds', '0.01'],
  writes: ['--n', '700', '--dim', '24', '--seconds', '0.001'],
};
const NAMES = Object.keys(FIELDS);
const reports = {};

beforeAll(() => {
  for (const name of NAMES) reports[name] = bench(name, ...SMALL[name]);
});

describe.each(NAMES)('bench %s', (name) => {
  it('--json has every field, each of its kind, and all answers are a lone reader\'s', () => {
    expectReport(reports[name], name, FIELDS[name]);
    const { command } = reports[name].env;
    expect(command).toMatch(new RegExp(`^vicinal bench ${name} --n \\d+ --dim 24`));
  });

  it('times lie in the order of their percentiles', () => {
    for (const row of reports[name].rows) {
      const times = [row.p50_us, row.p99_us, row.p999_us ?? row.p99_us, row.worst_us ?? Infinity];
      expect(times).toEqual([...times].sort((a, b) => a - b));
    }
  });

  it('ours and the way that it replaced stand side by side', () => {
    const count = (variant) => reports[name].rows
      .filter((row) => row.variant === variant && !row.durable).length; // in memory both
    expect(count('ours')).toBeGreaterThan(0);
    expect(count('locked-pool')).toBeGreaterThanOrEqual(count('ours'));
  });

  it('bench --help lists it; its own help says how to read it, in 100 columns', () => {
    expect(runCommand(['bench', '--help']).stdout).toMatch(new RegExp(`^ +${name} `, 'm'));
    const { status, stdout } = runCommand(['bench', name, '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(name === 'writes' ? /durable/ : /locked-pool/);
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});

describe('concurrent', () => {
  const settings = ({ threads, nq, filter }) => `${threads} ${nq} ${filter}`;

  it('measures every number of callers, batch size and filter, with each pool', () => {
    const { rows, env } = reports.concurrent;
    const kinds = new Set(rows.map(settings));
    expect([...kinds].sort()).toEqual(
      ['1 1 0', '1 1 0.1', '1 8 0', '1 8 0.1', '3 1 0', '3 1 0.1', '3 8 0', '3 8 0.1']);
    const pools = [...new Set([0, 1, 2, env.cores])].sort((a, b) => a - b);
    for (const kind of kinds) {
      const of = (variant) => rows.filter((row) => settings(row) === kind
        && row.variant === variant).map(({ pool }) => pool);
      expect(of('ours')).toEqual(pools);
      expect(of('locked-pool')).toEqual(pools);
    }
  });

  it('every caller of every slice has at least one call', () => {
    for (const { calls, threads } of reports.concurrent.rows) {
      expect(calls).toBeGreaterThanOrEqual(4 * threads);
    }
  });

  it('scaling is against one caller of ours, and absent where that was not measured', () => {
    const { rows: all, env: { cores } } = reports.concurrent;
    for (const row of all) {
      const alone = all.find(({ threads, nq, filter, variant }) => threads === 1
        && nq === row.nq && filter === row.filter && variant === 'ours').searches_per_s;
      if (alone === 0) expect(row.scaling).toBe(null);
      else {
        expect(row.scaling)
          .toBeCloseTo(row.searches_per_s / (alone * Math.min(row.threads, cores)), 9);
      }
    }
    const { rows } = bench('concurrent', '--n', '50', '--dim', '8', '--threads', '2',
      '--seconds', '0.001');
    expect(new Set(rows.map(({ scaling }) => scaling))).toEqual(new Set([null]));
  });
});

describe('writer-impact', () => {
  it('measures every pace with every number of readers', () => {
    const kinds = reports['writer-impact'].rows.map(({ readers, writer, variant }) =>
      `${readers} ${writer} ${variant}`);
    const paces = ['off', 'paced', 'flat'];
    expect(kinds).toEqual([1, 3].flatMap((readers) => paces.flatMap((pace) =>
      ['ours', 'locked-pool'].map((variant) => `${readers} ${pace} ${variant}`))));
  });

  it('each write made a version, as compactions may, and the live rows stay the same', () => {
    for (const { writer, writes, versions, rows_after: after } of reports['writer-impact'].rows) {
      expect(versions).toBeGreaterThanOrEqual(writes);
      if (writes <= 1000) expect(versions).toBe(writes); // too few dead rows to compact
      expect(after).toBe(1100);
      if (writer === 'off') expect(writes).toBe(0);
    }
    expect(reports['writer-impact'].rows.some(({ writes }) => writes > 0)).toBe(true);
  });

  it('a paced writer makes 4,000 writes a second at most', () => {
    for (const row of reports['writer-impact'].rows.filter(({ writer }) => writer === 'paced')) {
      expect(row.writes_per_s).toBeLessThanOrEqual(4000);
    }
  });
});

describe('bulk-stall', () => {
  it('adds half of the rows in one batch, once a round, while the reader searches', () => {
    const { rows } = reports['bulk-stall'];
    expect(rows.map(({ variant, phase }) => `${variant} ${phase}`)).toEqual(
      ['ours before', 'ours during', 'locked-pool before', 'locked-pool during']);
    for (const { phase, added, rows_after: after } of rows) {
      expect(added).toBe(phase === 'during' ? 5 * 500 : 0);
      expect(after).toBe(1500);
    }
  });
});

describe('writes', () => {
  it.each([false, true])('measures single writes, batches and syncs, durable: %s', (wanted) => {
    const kinds = reports.writes.rows
      .filter(({ variant, durable }) => variant === 'ours' && durable === wanted)
      .map(({ op, rows }) => `${op} ${rows}`);
    expect(kinds).toEqual(['add 1', 'upsert 1', 'remove 1', 'add 1000', 'sync-remove 1000',
      'sync-add 32']);
  });

  it('files of single writes stay within three times a compact one', () => {
    const ratios = reports.writes.rows.filter(({ durable }) => durable)
      .map(({ file_ratio: ratio }) => ratio);
    expect(ratios.length).toBe(6);
    for (const ratio of ratios) expect(ratio).toBeLessThan(3);
  });

  it('each write applied all of its rows, and a round leaves the live rows as they were', () => {
    for (const { applied, calls, rows, rows_after: after } of reports.writes.rows) {
      expect(calls).toBeGreaterThan(0);
      expect(applied).toBe(calls * rows);
      expect(after).toBe(700);
    }
  });
});

it.each(NAMES)('%s reads files, too', (name) => {
  const threads = SMALL[name].includes('--threads') ? ['--threads', '1'] : [];
  const { rows } = bench(name, '--data', BASE, '--queries', QUERIES, '--seconds', '0.001',
    ...threads);
  expect(rows[0]).toMatchObject({ data: 'glove100-2k.base.fvecs', dim: 100 });
  expect(rows[0].rows_after ?? rows[0].n).toBe(2000);
});

it('fewer queries than a call takes: exit 2', () => {
  const few = write('few.fvecs', fvecs(wholeRows(7, 100)));
  const { status, message } = fail(['bench', 'concurrent', '--data', BASE, '--queries', few,
    '--threads', '1', '--seconds', '0.001']);
  expect(status).toBe(2);
  expect(message).toContain('8 queries');
});

it.each([
  ['no callers', ['concurrent', '--threads', '0']],
  ['more callers than 256', ['concurrent', '--threads', '257']],
  ['callers where there is one', ['writes', '--threads', '2']],
  ['callers where one searches', ['scan', '--threads', '2']],
])('%s: exit 2', (_what, args) => {
  const { status, code } = fail(['bench', ...args]);
  expect({ status, code }).toEqual({ status: 2, code: 'BAD_OPTION' });
});
