// The commit that benchmarks print is the one that was built, and asking for it builds nothing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from './files.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'vicinal-commit-'));
const source = path.join(folder, 'source');
const output = path.join(folder, 'commit.cpp');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

const git = (...args) => run('git', '-C', source, '-c', 'user.name=a', '-c', 'user.email=a@b.c',
  ...args);

function stamp() {
  run('cmake', `-DSOURCE=${source}`, `-DOUTPUT=${output}`, '-P',
    path.join(ROOT, 'cmake', 'vicinal_commit.cmake'));
  return /kCommit = "([^"]*)"/.exec(readFileSync(output, 'utf8'))?.[1];
}

beforeEach(() => {
  rmSync(source, { recursive: true, force: true });
  mkdirSync(path.join(source, 'bench', 'results'), { recursive: true });
  writeFileSync(path.join(source, 'a.txt'), 'a');
});

describe('in a repository', () => {
  beforeEach(() => {
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'a');
  });

  it('it is the commit, and the file stays untouched until that changes', () => {
    expect(stamp()).toBe(git('rev-parse', 'HEAD'));
    const written = statSync(output).mtimeMs;
    stamp();
    expect(statSync(output).mtimeMs).toBe(written);
    git('commit', '--quiet', '--allow-empty', '--message', 'b');
    expect(stamp()).toBe(git('rev-parse', 'HEAD'));
  });

  it.each(['a.txt', 'new.txt'])('a change of %s is told', (name) => {
    writeFileSync(path.join(source, name), 'changed');
    expect(stamp()).toBe(`${git('rev-parse', 'HEAD')} and changes`);
  });

  it('new results are no change', () => {
    writeFileSync(path.join(source, 'bench', 'results', 'scan.json'), '{}');
    expect(stamp()).toBe(git('rev-parse', 'HEAD'));
  });

  it('an unpacked tarball inside another repository has none', () => {
    const inner = path.join(source, 'vicinal-0.1.0');
    mkdirSync(inner);
    run('cmake', `-DSOURCE=${inner}`, `-DOUTPUT=${output}`, '-P',
      path.join(ROOT, 'cmake', 'vicinal_commit.cmake'));
    expect(readFileSync(output, 'utf8')).toContain('"unknown"');
  });
});

it('a tree without git is "unknown"', () => {
  expect(stamp()).toBe('unknown');
});
