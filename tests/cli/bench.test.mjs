// The benchmarks of the command, at sizes where nothing is measured: that every figure is there,
// that those which do not depend on the machine are right, and that wrong lines are refused.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  SHAPE, expectReport, isCount, isName, isShare, isTime,
} from './support/bench.mjs';
import {
  BASE, QUERIES, TRUTH, f16vecs, fail, fvecs, ivecs, npy, readFvecs, runCommand, succeed,
  temporaryFolder, wholeRows,
} from './support/command.mjs';

const { file, write, remove } = temporaryFolder();
afterAll(remove);

// Least sizes, least time.
const TINY = ['--seconds', '0.001'];
const bench = (name, ...args) => succeed(['bench', name, ...TINY, ...args]);

const TIMES = {
  calls: isCount, p10_us: isTime, p50_us: isTime, p99_us: isTime, cpu_p50_us: isTime,
};
const FIELDS = {
  scan: {
    ...SHAPE, ...TIMES, nq: isCount, k: isCount, mode: isName, us_per_query: isTime,
    recall: isShare, same_top10: isShare, speedup: isTime, queries: isCount,
    rows_scored: isTime,
  },
  filtered: {
    ...SHAPE, ...TIMES, k: isCount, allowed: isShare, layout: isName, filter_kind: isName,
    ratio: isTime,
    prepare_us: (value, { filter_kind: kind }) =>
      (kind === 'compiled' ? isTime(value) : value === null),
  },
  cliff: {
    ...SHAPE, ...TIMES, k: isCount, ns_per_row: isTime,
    step: (value) => value === null || isTime(value),
  },
  encode: {
    ...SHAPE, ...TIMES, mode: isName, batch: isCount, rows_per_s: isTime, rows_per_cpu_s: isTime,
  },
};
const SMALL = {
  scan: ['--n', '300', '--dim', '24', '--k', '3'],
  filtered: ['--n', '2000', '--dim', '24'],
  cliff: ['--n', '100,164,300', '--dim', '24'],
  encode: ['--n', '200', '--dim', '24'],
};
const NAMES = Object.keys(FIELDS);
const reports = {};

beforeAll(() => {
  for (const name of NAMES) reports[name] = bench(name, ...SMALL[name]);
});

it('the help of bench lists every benchmark', () => {
  const { stdout } = runCommand(['bench', '--help']);
  for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^ +${name} `, 'm'));
});

describe.each(NAMES)('bench %s', (name) => {
  it('--json has bench, env and rows, and every field of a row is of its kind', () => {
    expectReport(reports[name], name, FIELDS[name]);
  });

  it('env tells commit, machine, kernel, cores, compiler, seed and the command', () => {
    const { env } = reports[name];
    for (const field of ['machine', 'kernel', 'compiler', 'simd', 'data']) {
      expect(env[field], field).toMatch(/\w/);
    }
    expect(env.commit).toMatch(/^(?:[0-9a-f]{40}(?: and changes)?|unknown)$/);
    expect(env.cores).toBeGreaterThan(0);
    expect(env.seed).toBe(1);
    expect(env.command).toMatch(new RegExp(`^vicinal bench ${name} --n [0-9,]+ --dim 24`));
  });

  it('times lie in the order of their percentiles', () => {
    for (const row of reports[name].rows) {
      expect(row.p10_us).toBeLessThanOrEqual(row.p50_us);
      expect(row.p50_us).toBeLessThanOrEqual(row.p99_us);
    }
  });

  it('prints a table for people: the environment, then a line a row', () => {
    const { status, stdout } = runCommand(['bench', name, ...TINY, ...SMALL[name]]);
    expect(status).toBe(0);
    const [env, table] = stdout.split('\n\n');
    expect(env).toMatch(/^commit .*\n(?:.*\n)*command +vicinal bench /);
    const lines = table.trimEnd().split('\n');
    expect(lines).toHaveLength(reports[name].rows.length + 1);
    expect(lines[0].trim().split(/\s+/)).toEqual(Object.keys(reports[name].rows[0]));
  });

  it('--help describes every option, and fits 100 columns', () => {
    const { status, stdout } = runCommand(['bench', name, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain(`vicinal bench ${name}`);
    for (const option of ['--json', '--seconds', '--data', '--queries', '--truth', '--n', '--dim',
      '--clusters', '--noise', '--seed', '--bits', '--k', '--output']) {
      expect(stdout).toContain(option);
    }
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});

describe('scan', () => {
  it('measures both modes with single queries and with batches', () => {
    const kinds = reports.scan.rows.map(({ nq, mode }) => `${mode} ${nq}`);
    expect(kinds).toEqual(['plane 1', 'full 1', 'plane 100', 'full 100']);
  });

  it('measures every combination of rows, dimensions, bits and k', () => {
    const { rows } = bench('scan', '--n', '40,50', '--dim', '8,9', '--bits', '1,8', '--k', '1,2');
    const seen = rows.filter(({ nq, mode }) => nq === 1 && mode === 'full')
      .map(({ n, dim, bits, k }) => [n, dim, bits, k].join());
    expect(new Set(seen).size).toBe(16);
  });

  it('the full mode scores every row, and is its own yardstick', () => {
    for (const row of reports.scan.rows.filter(({ mode }) => mode === 'full')) {
      expect(row).toMatchObject({ same_top10: 1, speedup: 1, rows_scored: 300 });
    }
  });

  it('both modes are equal when both are exhaustive', () => {
    const { rows } = bench('scan', ...SMALL.scan, '--certainty', 'inf');
    const [plane, full] = rows;
    expect(plane).toMatchObject({ mode: 'plane', same_top10: 1, rows_scored: 300 });
    expect(plane.recall).toBe(full.recall);
  });

  it('a careless plane loses neighbours, and same_top10 and recall say so', () => {
    const [plane, full] = bench('scan', '--n', '3000', '--dim', '64', '--k', '10', '--bits', '8',
      '--certainty', '0').rows;
    expect(plane.same_top10).toBeLessThan(1);
    expect(plane.recall).toBeLessThan(full.recall);
    expect(plane.rows_scored).toBeLessThan(full.rows_scored);
  });

  it('8 bits find nearly all of what is nearest: the computed truth is the truth', () => {
    const { rows } = bench('scan', ...SMALL.scan, '--bits', '8');
    for (const { recall } of rows) expect(recall).toBeGreaterThan(0.95);
  });

  it('the same seed gives the same figures, another seed others', () => {
    const figures = ({ rows }) => rows.map(({ recall, rows_scored: scored }) => [recall, scored]);
    expect(figures(bench('scan', ...SMALL.scan))).toEqual(figures(reports.scan));
    expect(figures(bench('scan', ...SMALL.scan, '--seed', '2'))).not.toEqual(figures(reports.scan));
  });
});

describe('filtered', () => {
  it('measures searches of everything', () => {
    expect(reports.filtered.rows[0])
      .toMatchObject({ allowed: 1, layout: 'none', filter_kind: 'none', ratio: 1 });
  });

  it.each([
    ['scattered', 'list'], ['scattered', 'compiled'], ['contiguous', 'list'],
    ['contiguous', 'compiled'],
  ])('measures five shares of the rows, %s, %s', (layout, kind) => {
    const shares = reports.filtered.rows
      .filter((row) => row.layout === layout && row.filter_kind === kind)
      .map(({ allowed }) => allowed);
    expect(shares).toEqual([1, 0.5, 0.1, 0.01, 0.001]);
  });

  it('the ratio is that of the medians', () => {
    const [all, ...rest] = reports.filtered.rows;
    for (const row of rest) expect(row.ratio).toBeCloseTo(row.p50_us / all.p50_us, 9);
  });
});

describe('cliff', () => {
  it('compares a size with the one 64 rows below, where there is one', () => {
    const [small, next, large] = reports.cliff.rows;
    expect([small.n, next.n, large.n]).toEqual([100, 164, 300]);
    expect([small.step, large.step]).toEqual([null, null]);
    expect(next.step).toBeCloseTo(next.p50_us / small.p50_us, 9);
  });

  it('takes the sizes in any order, each once', () => {
    const { rows } = bench('cliff', '--dim', '8', '--n', '300,50,300');
    expect(rows.map(({ n }) => n)).toEqual([50, 300]);
  });
});

describe('data files', () => {
  it('recall of scan is what vicinal recall finds, with the same truth', () => {
    const index = file('words.vic');
    succeed(['build', '--input', BASE, '--output', index, '--bits', '2']);
    const { recall } = succeed(['recall', '--index', index, '--queries', QUERIES,
      '--truth', TRUTH, '-k', '10']);
    const { env, rows } = bench('scan', '--data', BASE, '--queries', QUERIES, '--truth', TRUTH,
      '--bits', '2', '--k', '10');
    expect(rows[0]).toMatchObject({ data: 'glove100-2k.base.fvecs', n: 2000, dim: 100, bits: 2 });
    expect(rows[0].recall).toBeCloseTo(recall, 12);
    expect(env).toMatchObject({ seed: 0, data: expect.stringContaining('glove100-2k') });
    expect(env.command).not.toContain('/');
  });

  it('the computed truth is that of the file, but for ties within a float', () => {
    const [plane] = bench('scan', '--data', BASE, '--queries', QUERIES, '--k', '10').rows;
    const [told] = bench('scan', '--data', BASE, '--queries', QUERIES, '--truth', TRUTH,
      '--k', '10').rows;
    expect(Math.abs(plane.recall - told.recall)).toBeLessThan(0.003);
  });

  it('every format that vectors come in can be measured', () => {
    const rows = wholeRows(60, 6);
    const files = [write('r.fvecs', fvecs(rows)), write('r.f16vecs', f16vecs(rows)),
      write('r.npy', npy(rows))];
    const recalls = files.map((one) =>
      bench('scan', '--data', one, '--queries', files[0], '--k', '2').rows[0].recall);
    expect(new Set(recalls).size).toBe(1);
  });

  it.each(['filtered', 'cliff', 'encode'])('%s reads them, too', (name) => {
    const { rows } = bench(name, '--data', BASE, '--queries', QUERIES);
    expect(rows[0]).toMatchObject({ data: 'glove100-2k.base.fvecs', dim: 100 });
    expect(rows.at(-1).n).toBe(2000);
  });

  it('--n takes the first rows of a file', () => {
    const { rows } = bench('scan', '--data', BASE, '--queries', QUERIES, '--n', '70', '--k', '2');
    expect(rows[0].n).toBe(70);
  });
});

it('--output writes the same object', () => {
  const out = file('result.json');
  const printed = bench('scan', ...SMALL.scan, '--output', out);
  expect(JSON.parse(readFileSync(out, 'utf8'))).toEqual(printed);
});

describe('what cannot be measured is refused', () => {
  const one = (name, rows) => write(name, fvecs(rows));
  const narrow = () => one('narrow.fvecs', [[1, 2], [3, 4]]);
  it.each([
    ['no benchmark', ['bench']],
    ['an unknown benchmark', ['bench', 'scam']],
    ['0 rows', ['bench', 'scan', '--n', '0']],
    ['5 bits', ['bench', 'scan', '--bits', '4,5']],
    ['0 coordinates', ['bench', 'scan', '--dim', '0']],
    ['k = 0', ['bench', 'scan', '--k', '0']],
    ['no time', ['bench', 'scan', '--seconds', '0']],
    ['words in a list', ['bench', 'scan', '--n', '10,many']],
    ['data without queries', ['bench', 'scan', '--data', BASE]],
    ['queries without data', ['bench', 'scan', '--queries', QUERIES]],
    ['truth without data', ['bench', 'scan', '--truth', TRUTH]],
    ['truth for some of the rows', ['bench', 'scan', '--data', BASE, '--queries', QUERIES,
      '--truth', TRUTH, '--n', '50']],
    ['a dimension for a file', ['bench', 'scan', '--data', BASE, '--queries', QUERIES,
      '--dim', '8']],
    ['more rows than the file has', ['bench', 'cliff', '--data', BASE, '--queries', QUERIES,
      '--n', '2001']],
    ['k beyond the truth', ['bench', 'scan', '--data', BASE, '--queries', QUERIES,
      '--truth', TRUTH, '--k', '101']],
    ['k beyond the rows', ['bench', 'scan', '--n', '9', '--dim', '8', '--k', '10']],
  ])('%s: exit 2', (_what, args) => {
    const { status, code } = fail(args);
    expect({ status, code }).toEqual({ status: 2, code: 'BAD_OPTION' });
    expect(runCommand(args).stderr).toMatch(/^vicinal: .+\n$/);
  });

  it('an unknown benchmark is named', () => {
    expect(fail(['bench', 'scam', '--n', '5']).message).toContain('there is no bench scam');
    expect(fail(['bench', 'scan', '--colour']).message).toContain('vicinal bench scan --help');
  });

  it('files that do not fit each other', () => {
    const data = ['bench', 'scan', '--data', BASE, '--queries'];
    expect(fail([...data, narrow()])).toMatchObject({ status: 1, code: 'DIMENSION' });
    expect(fail([...data, file('missing.fvecs')])).toMatchObject({ status: 1, code: 'IO' });
    const truth = (rows) => fail([...data, QUERIES, '--k', '2', '--truth',
      write('t.ivecs', ivecs(rows))]);
    const rows = readFvecs(QUERIES).map(() => [0, 1]);
    expect(truth(rows.slice(1))).toMatchObject({ status: 1, code: 'BAD_OPTION' });
    expect(truth([...rows.slice(1), [0, 2000]])).toMatchObject({ status: 1, code: 'BAD_ID' });
    expect(truth([...rows.slice(1), [0, -1]])).toMatchObject({ status: 1, code: 'BAD_ID' });
  });

  it('an output that cannot be written, before anything is measured', () => {
    const out = file('no/such/result.json');
    expect(fail(['bench', 'scan', '--output', out])).toMatchObject({ status: 1, code: 'IO' });
    expect(existsSync(out)).toBe(false);
  });
});
