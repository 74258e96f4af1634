// Index files whose ids are strings, by every command.
import { readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import {
  BASE, QUERIES, TRUTH, fvecs, readFvecs, runCommand, succeed, temporaryFolder,
} from './support/command.mjs';

const { file, write, remove } = temporaryFolder();
const index = file('strings.vic');
const rows = readFvecs(BASE);
const nameOf = (i) => `wörd ${i}${i % 7 === 0 ? '\t"' : ''}`;
const names = rows.map((_, i) => nameOf(i));
const linesOf = (list) => list.map((name) => `${name}\n`).join('');

afterAll(remove);

it('is built, searched and told apart', () => {
  const ids = write('names.txt', linesOf(names));
  succeed(['build', '--input', BASE, '--output', index, '--id-kind', 'string', '--ids', ids]);
  expect(succeed(['info', '--index', index])).toMatchObject({ rows: 2000, ids: 'string' });
  const numbers = file('numbers.vic');
  succeed(['build', '--input', BASE, '--output', numbers]);
  expect(succeed(['info', '--index', numbers])).toMatchObject({ ids: 'number' });
  const search = (path) => succeed(['search', '--index', path, '--queries', QUERIES, '-k', 5])
    .results;
  expect(search(index).map(({ ids: found }) => found))
    .toEqual(search(numbers).map(({ ids: found }) => found.map(nameOf)));
  const table = runCommand(['search', '--index', index, '--queries', QUERIES, '-k', 2000]).stdout;
  expect(table).toContain('\twörd 7\\t"\t');
});

it('gives rows back, takes more and loses some', () => {
  const [output, list] = [file('out.fvecs'), file('out.nul')];
  const exported = () => {
    succeed(['export', '--index', index, '--output', output, '--output-ids', list]);
    return readFileSync(list, 'utf8').split('\0').slice(0, -1);
  };
  const sorted = (all) => [...all].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(exported()).toEqual(sorted(names));
  expect(readFvecs(output)).toHaveLength(2000);
  const more = ['', 'a line\nand another', 'x'];
  const two = write('more.fvecs', fvecs(rows.slice(0, 3)));
  succeed(['add', '--index', index, '--input', two,
    '--ids', write('more.nul', more.map((name) => `${name}\0`).join(''))]);
  expect(exported()).toEqual(sorted([...names, ...more]));
  expect(succeed(['remove', '--index', index,
    '--ids', write('gone.txt', linesOf([...names.slice(0, 1500), 'nobody']))]).removed).toBe(1500);
  expect(exported()).toEqual(sorted([...names.slice(1500), ...more]));
  expect(succeed(['compact', '--index', index]).rows).toBe(503);
  expect(succeed(['verify', '--index', index]).rows).toBe(503);
});

it('says what cannot be', () => {
  const fails = (args) => {
    const { status, stderr } = runCommand(args);
    expect(status).not.toBe(0);
    return stderr;
  };
  const input = ['--input', BASE];
  expect(fails(['build', ...input, '--output', file('x.vic'), '--id-kind', 'string']))
    .toContain('--ids');
  expect(fails(['add', '--index', index, ...input])).toContain('--ids');
  expect(fails(['add', '--index', index, '--input', write('one.fvecs', fvecs(rows.slice(0, 1))),
    '--ids', write('long.txt', 'y'.repeat(65536))])).toContain('65535');
  expect(fails(['export', '--index', index, '--output', file('y.fvecs'),
    '--output-ids', file('y.txt')])).toContain('.nul');
  expect(fails(['recall', '--index', index, '--queries', QUERIES, '--truth', TRUTH]))
    .toContain('strings');
  expect(fails(['search', '--index', index, '--queries', QUERIES, '--output', file('z.ivecs')]))
    .toContain('strings');
});
