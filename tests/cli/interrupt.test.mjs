// A command that is stopped half-way leaves every file as it was.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  fvecs, startCommand, succeed, temporaryFolder, wholeRows, withoutTurns,
} from './support/command.mjs';

const { file, write, names, remove } = temporaryFolder();
const index = file('kept.vic');
const rows = wholeRows(2000, 64);
const input = fvecs(rows);

let before;
let namesBefore;
beforeEach(() => {
  succeed(['build', '--input', write('rows.fvecs', input), '--output', index]);
  before = readFileSync(index);
  namesBefore = names();
});
afterAll(remove);

/** Half-fed through a pipe, the command waits for more: it is in the middle for certain. */
async function startHalfWay(args) {
  const running = startCommand([...args, '--format', 'fvecs', '--json']);
  // Larger than a pipe holds, so that the write ends only once the command has read.
  running.child.stdin.write(input);
  await once(running.child.stdin, 'drain');
  return running;
}

function expectNothingChanged() {
  expect(withoutTurns(readFileSync(index)).equals(withoutTurns(before))).toBe(true);
  expect(names()).toEqual(namesBefore);
}

const CASES = [
  ['build', () => ['build', '--input', '-', '--output', index]],
  ['add', () => ['add', '--index', index, '--input', '-']],
];

describe.each(CASES)('%s', (_name, args) => {
  it.each(['SIGINT', 'SIGTERM'])('ends with 130 at %s, and changes nothing', async (signal) => {
    const { child, ended } = await startHalfWay(args());
    child.kill(signal);
    const { status, stdout } = await ended;
    expect(status).toBe(130);
    expect(JSON.parse(stdout).error.code).toBe('ABORTED');
    expectNothingChanged();
  });

  it('changes nothing when it is killed', async () => {
    const { child, ended } = await startHalfWay(args());
    child.kill('SIGKILL');
    expect((await ended).status).toBe('SIGKILL');
    expectNothingChanged();
  });

  it('succeeds when nobody stops it', async () => {
    const { child, ended } = await startHalfWay(args());
    child.stdin.end();
    const { status, stdout } = await ended;
    expect(status).toBe(0);
    expect(JSON.parse(stdout).rows).toBeGreaterThanOrEqual(2000);
  });
});

it('a killed build does not make a new file', async () => {
  const out = file('new.vic');
  const { child, ended } = await startHalfWay(['build', '--input', '-', '--output', out]);
  child.kill('SIGKILL');
  await ended;
  expectNothingChanged();
});

it('a killed add leaves no lock behind', async () => {
  const { child, ended } = await startHalfWay(['add', '--index', index, '--input', '-']);
  child.kill('SIGKILL');
  await ended;
  expect(succeed(['add', '--index', index, '--input', file('rows.fvecs')]).added).toBe(2000);
});
