// The scripts decide what counts as passed: they are tested like the rest.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verdict } from '../../scripts/lib/models.mjs';
import { capture, inRoot } from '../../scripts/lib/process.mjs';
import { countJunit, countStage, countVitest } from '../../scripts/lib/results.mjs';
import { parsePackages, versionFits } from '../../scripts/setup.mjs';

describe('package pins', () => {
  it('are read from lines of name and version', () => {
    expect(parsePackages('# c\ncmake >=3.25 # why\n\nemscripten =3.1\n')).toEqual([
      { name: 'cmake', exact: false, version: '3.25' },
      { name: 'emscripten', exact: true, version: '3.1' },
    ]);
  });

  it('reject a line that says nothing clear', () => {
    expect(() => parsePackages('cmake 3.25')).toThrow('cannot read');
  });

  it.each([
    ['3.25.1-1', { exact: false, version: '3.25' }, true],
    ['3.9.1-1', { exact: false, version: '3.25' }, false],
    ['4:12.2.0-3', { exact: false, version: '12' }, true],
    ['3.1.6~dfsg-5', { exact: true, version: '3.1' }, true],
    ['3.2.0', { exact: true, version: '3.1' }, false],
    ['1:14.0-55.7~deb12u1', { exact: true, version: '14' }, true],
    ['1:15.0', { exact: true, version: '14' }, false],
  ])('%s against %o: %s', (installed, pin, fits) => {
    expect(versionFits(installed, pin)).toBe(fits);
  });
});

describe('npm run bench', () => {
  const bench = (...args) => capture(process.execPath, [inRoot('scripts', 'bench.mjs'), ...args]);
  const names = /Names: (.*)/.exec(bench('--help').output)[1].split(', ');

  it.each([[0, ['--help']], [0, ['-h']], [1, []], [1, ['scna']], [1, ['web_scan']], [1, ['..']]])(
    'ends with %i and the names for %o, before anything is built', (code, args) => {
      const told = bench(...args);
      expect(told.code).toBe(code);
      expect(told.output).toContain(`Names: ${names.join(', ')}`);
      expect(told.output).not.toContain('build:');
    });

  it('is listed in the README with every benchmark that there is', () => {
    const readme = readFileSync(inRoot('README.md'), 'utf8');
    const listed = Array.from(readme.matchAll(/^npm run bench -- ([a-z-]+)/gm), ([, name]) => name);
    expect(listed.sort()).toEqual(names);
  });
});

describe('counting', () => {
  const junit = '<testsuite><testcase name="a" status="run"/><testcase name="b" status="fail">'
    + '</testcase><testcase name="c" status="notrun"/></testsuite>';

  it('tells passed, failed and not run apart in JUnit', () => {
    expect(countJunit(junit)).toEqual({ passed: 1, failed: 1, skipped: 1 });
  });

  it('counts a Vitest file that cannot be loaded as one failure', () => {
    const report = { testResults: [
      { status: 'failed', assertionResults: [] },
      { status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'skipped' }] },
    ] };
    expect(countVitest(JSON.stringify(report))).toEqual({ passed: 1, failed: 1, skipped: 1 });
  });

  it('counts a stage without a report, or without a test, as one failure', () => {
    expect(countStage('no/such/file', countJunit, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it('counts a crashed runner as a failure even when its report shows none', () => {
    const one = () => ({ passed: 1, failed: 0, skipped: 0 });
    const present = new URL(import.meta.url).pathname;
    expect(countStage(present, one, 139).failed).toBe(1);
    expect(countStage(present, one, 0).failed).toBe(0);
  });
});

describe('the verdict on a model', () => {
  it.each([
    ['State-vector 92 byte, depth reached 10, errors: 0', 'pass'],
    ['State-vector 92 byte, depth reached 10, errors: 1', 'fail'],
    ['error: max search depth too small\ndepth reached 10, errors: 0', 'incomplete'],
    ['pan: reached -DMEMLIM bound\nerrors: 0', 'incomplete'],
    ['Segmentation fault', 'incomplete'],
  ])('%s: %s', (report, expected) => {
    expect(verdict(report)).toBe(expected);
  });
});
