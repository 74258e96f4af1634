// The command line itself: help, version, and lines that cannot be meant.
import { afterAll, describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import {
  BASE, fail, fvecs, runCommand, runJson, temporaryFolder,
} from './support/command.mjs';

const { file, write, remove } = temporaryFolder();
afterAll(remove);

const COMMANDS = ['build', 'search', 'recall', 'add', 'remove', 'info', 'export', 'bench'];

describe('help', () => {
  it('lists every command, and the exit statuses', () => {
    const { status, stdout, stderr } = runCommand(['--help']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^ +${command} `, 'm'));
    expect(stdout).toContain('Exit status');
  });

  it.each(COMMANDS)('%s --help describes every option of the command', (command) => {
    const { status, stdout } = runCommand([command, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain(`vicinal ${command}`);
    expect(stdout).toContain('--json');
    for (const option of stdout.split(/^ {2}(?=-)/m).slice(1)) {
      const [, ...words] = option.trim().split(/\s+/);
      expect(words.length, option).toBeGreaterThan(3);
    }
  });

  it('fits 100 columns', () => {
    for (const command of COMMANDS) {
      const long = runCommand([command, '--help']).stdout.split('\n')
        .filter((line) => line.length > 100);
      expect(long).toEqual([]);
    }
  });
});

it('--version prints the version of the package', () => {
  const packageFile = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8'));
  expect(runCommand(['--version']).stdout).toBe(`vicinal ${version}\n`);
  expect(runJson(['--version']).json).toEqual({ version });
});

describe('wrong usage exits 2', () => {
  const build = ['build', '--input', BASE, '--output', file('x.vic')];
  const search = ['search', '--index', 'x.vic', '--queries', BASE];
  it.each([
    ['no command', []],
    ['an unknown command', ['serch', '--index', 'x']],
    ['a missing option', ['build', '--input', BASE]],
    ['an unknown option', [...build, '--colour']],
    ['an option without its value', [...build, '--bits']],
    ['a surplus argument', [...build, 'more']],
    ['an option given twice', [...build, '--bits', '4', '--bits', '8']],
    ['5 bits', [...build, '--bits', '5']],
    ['bits in words', [...build, '--bits', 'four']],
    ['an unknown metric', [...build, '--metric', 'euclid']],
    ['an unknown kind of originals', [...build, '--originals', 'float64']],
    ['a negative seed', [...build, '--seed', '-1']],
    ['no threads', [...build, '--threads', '0']],
    ['sizes in words', [...build, '--max-bytes', 'much']],
    ['an input whose format is not known', ['build', '--input', 'x.txt', '--output', 'x.vic']],
    ['neighbours as input', ['build', '--input', 'x.ivecs', '--output', 'x.vic']],
    ['standard input without a format', ['build', '--input', '-', '--output', 'x.vic']],
    ['standard input twice', ['build', '--input', '-', '--format', 'npy', '--ids', '-',
      '--output', 'x.vic']],
    ['standard output as the index', ['build', '--input', BASE, '--output', '-']],
    ['a negative size', [...build, '--max-bytes', '-1']],
    ['a negative k', [...search, '-k', '-1']],
    ['k = 0 for recall', ['recall', '--index', 'x', '--queries', BASE, '--truth', 'y', '-k', '0']],
    ['a certainty that is not a number', [...search, '--certainty', 'nan']],
    ['a negative certainty', [...search, '--certainty', '-1']],
    ['a negative rerank', [...search, '--rerank', '-1']],
    ['certainty and exhaustive', [...search, '--certainty', '2', '--exhaustive']],
  ])('%s', (_what, args) => {
    const { status, code, message } = fail(args);
    expect({ status, code }).toEqual({ status: 2, code: 'BAD_OPTION' });
    expect(message).not.toBe('');
    const plain = runCommand(args);
    expect({ status: plain.status, stdout: plain.stdout }).toEqual({ status: 2, stdout: '' });
    expect(plain.stderr).toMatch(/^vicinal: .+\n$/);
  });
});

it('an index with originals ranks by them; what this version cannot do with it is told', () => {
  const rows = write('originals.fvecs', fvecs([[1, 2], [2, 1], [3, 3]]));
  const out = file('originals.vic');
  const build = runCommand(['build', '--input', rows, '--output', out, '--originals', 'float16',
    '--bits', '1', '--metric', 'l2']);
  expect(build).toMatchObject({ status: 0 });
  const info = runCommand(['info', '--index', out, '--json']);
  expect(JSON.parse(info.stdout)).toMatchObject({ rows: 3, originals: 'float16' });
  const search = ['search', '--index', out, '--queries', rows, '-k', '1', '--json'];
  for (const rerank of [[], ['--rerank', '3']]) {
    const { results } = JSON.parse(runCommand([...search, ...rerank]).stdout);
    expect(results).toEqual([0, 1, 2].map((id) => ({ ids: [id], scores: [0] })));
  }
  const failure = fail(['add', '--index', out, '--input', rows]);
  expect(failure).toMatchObject({ status: 1, code: 'UNSUPPORTED' });
  expect(failure.message).toContain('originals');
});

it('--json may stand before the command', () => {
  const { status, stdout } = runCommand(['--json', 'info', '--index', file('missing')]);
  expect(status).toBe(1);
  expect(JSON.parse(stdout).error.code).toBe('IO');
});
