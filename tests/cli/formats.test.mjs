// Every input format and every way to give ids leads to the same index.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bvecs, f16vecs, fail, fvecs, npy, runCommand, succeed, temporaryFolder, u64, wholeRows,
} from './support/command.mjs';

const { file, write, remove } = temporaryFolder();
const rows = wholeRows(300, 24);
const queries = write('queries.fvecs', fvecs(wholeRows(10, 24, 7)));
const plain = file('plain.vic');

beforeAll(() => {
  succeed(['build', '--input', write('rows.fvecs', fvecs(rows)), '--output', plain]);
});
afterAll(remove);

const INPUTS = [
  ['rows.f16vecs', () => f16vecs(rows)],
  ['rows.bvecs', () => bvecs(rows)],
  ['rows.npy', () => npy(rows)],
  ['half.npy', () => npy(rows, { type: '<f2' })],
  ['version2.npy', () => npy(rows, { version: 2 })],
  ['version3.npy', () => npy(rows, { type: '<f2', version: 3 })],
];

describe.each(INPUTS)('%s', (name, make) => {
  it('gives the same index as fvecs', () => {
    const out = file('same.vic');
    succeed(['build', '--input', write(name, make()), '--output', out]);
    expect(readFileSync(out).equals(readFileSync(plain))).toBe(true);
  });

  it('gives the same index through standard input', () => {
    const out = file('piped.vic');
    const format = name.split('.')[1];
    succeed(['build', '--input', '-', '--format', format, '--output', out], { input: make() });
    expect(readFileSync(out).equals(readFileSync(plain))).toBe(true);
  });
});

it('half floats are read exactly: subnormal, smallest, largest, negative', () => {
  const halves = [[2 ** -24, -(2 ** -24), 2 ** -14, 65504], [-65504, 1.5, -0.25, 1023 * 2 ** -24]];
  const [a, b] = [file('half-a.vic'), file('half-b.vic')];
  const build = (input, output) =>
    succeed(['build', '--input', input, '--output', output, '--metric', 'l2']);
  build(write('h.f16vecs', f16vecs(halves)), a);
  build(write('h.fvecs', fvecs(halves)), b);
  expect(readFileSync(a).equals(readFileSync(b))).toBe(true);
});

it('--format overrules the name of the file', () => {
  const out = file('named.vic');
  const odd = write('rows.data', bvecs(rows));
  succeed(['build', '--input', odd, '--format', 'bvecs', '--output', out]);
  expect(readFileSync(out).equals(readFileSync(plain))).toBe(true);
});

it('queries come in every format too, also through standard input', () => {
  const bytes = wholeRows(10, 24, 7);
  const search = (args, options) => succeed(['search', '--index', plain, ...args], options);
  const { results } = search(['--queries', queries]);
  expect(search(['--queries', write('q.npy', npy(bytes))]).results).toEqual(results);
  expect(search(['--queries', write('q.f16vecs', f16vecs(bytes))]).results).toEqual(results);
  expect(search(['--queries', '-', '--format', 'bvecs'], { input: bvecs(bytes) }).results)
    .toEqual(results);
});

describe('--ids', () => {
  // Beyond what a double holds exactly, and the largest there is.
  const ids = rows.map((_, i) => (2n ** 64n - 1n) - 7n * BigInt(i));
  const text = ids.join('\n');

  it.each([
    ['lines.txt', `${text}\n`],
    ['no-last-newline.txt', text],
    ['windows.txt', `${ids.join('\r\n')}\r\n`],
    ['words.u64', u64(ids)],
  ])('reads %s and prints the ids digit for digit', (name, content) => {
    const out = file('ids.vic');
    succeed(['build', '--input', file('rows.fvecs'), '--output', out,
      '--ids', write(name, content)]);
    const { stdout } = runCommand(['search', '--index', out, '--queries', file('rows.fvecs'),
      '-k', 1, '--exhaustive', '--json']);
    const found = [...stdout.matchAll(/"ids":\[(\d+)\]/g)].map(([, id]) => BigInt(id));
    expect(found).toEqual(ids);
  });

  it('reads decimal ids from standard input', () => {
    const out = file('ids-piped.vic');
    succeed(['build', '--input', file('rows.fvecs'), '--output', out, '--ids', '-'],
      { input: text });
    const exported = file('exported.u64');
    succeed(['export', '--index', out, '--output', file('x.fvecs'), '--output-ids', exported]);
    expect(readFileSync(exported).equals(u64([...ids].reverse()))).toBe(true);
  });

  it('that do not fit 32 bits are refused for ivecs, and no file appears', () => {
    const out = file('wide.ivecs');
    expect(fail(['search', '--index', file('ids.vic'), '--queries', queries, '--output', out]))
      .toMatchObject({ status: 1, code: 'BAD_ID' });
    expect(() => readFileSync(out)).toThrow('ENOENT');
  });
});
