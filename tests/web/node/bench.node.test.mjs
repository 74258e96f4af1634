// The benchmarks of npm run bench that are written in JavaScript: small runs of them answer as
// bench/ says. What they measure is asked nothing about.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

/** One run: the object that it prints. */
async function bench(name, ...options) {
  const script = fileURLToPath(new URL(`../../../bench/${name}.mjs`, import.meta.url));
  const { code, stdout, stderr } = await new Promise((resolve) => {
    execFile(process.execPath, [script, '--json', ...options], { timeout: 55_000 },
      (error, out, text) => resolve({ code: error?.code ?? 0, stdout: out, stderr: text }));
  });
  expect(code, stderr).toBe(0);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ bench: name.replaceAll('_', '-') });
  for (const field of ['commit', 'machine', 'cores', 'seed', 'command']) {
    expect(report.env).toHaveProperty(field);
  }
  return report.rows;
}

/** As bench: longer runs until every writer had its turn, which is the scheduler's business. */
async function benchThatWrites(name, ...options) {
  let rows;
  for (const seconds of ['0.2', '1', '5']) {
    rows = await bench(name, ...options, '--seconds', seconds);
    const writing = rows.filter(({ writer = 'off' }) => writer !== 'off');
    if (writing.every((row) => row.rows_written_per_s > 0)) break;
  }
  return rows;
}

function expectLatencies(rows) {
  for (const row of rows) {
    expect(row.p50_us).toBeGreaterThanOrEqual(0);  // a page's clock ticks every 5 us
    expect(row.p99_us).toBeGreaterThanOrEqual(row.p50_us);
  }
}

describe.each(['recall', 'service', 'web', 'web_scan'])('the command line of %s', (name) => {
  const script = fileURLToPath(new URL(`../../../bench/${name}.mjs`, import.meta.url));
  const start = (...args) => new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { timeout: 20_000 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
  });
  const shown = name.replaceAll('_', '-');

  test('--help tells every option', async () => {
    const { code, stdout, stderr } = await start('--help');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`npm run bench -- ${shown}`);
    const source = await readFile(script, 'utf8');
    const options = source.match(/^ {2}'?([a-z-]+)'?: \{ type:/gm)
      .map((line) => /[a-z-]+/.exec(line)[0]);
    expect(options).toContain('bits');
    for (const option of options) expect(stdout).toContain(`--${option}`);
  });

  const one = [['--sekonds', '1'], ['--bits', '1,,four']];
  const more = [['--bits'], ['--bits', '-1'], ['extra']];
  test.for(name === 'recall' ? [...one, ...more] : one)(
    '%o is one line and status 2', async (args) => {
      const { code, stdout, stderr } = await start(...args);
      expect([code, stdout]).toEqual([2, '']);
      const [line, ...rest] = stderr.split('\n');
      expect(line).toContain(args[0]);
      expect(line).toContain(`npm run bench -- ${shown} --help`);
      expect(rest).toEqual(['']);
    });
});

describe('bench web', () => {
  test('a part or a library that there is not is named', async () => {
    const script = fileURLToPath(new URL('../../../bench/web.mjs', import.meta.url));
    for (const option of ['parts', 'variants']) {
      const { code, stderr } = await new Promise((resolve) => {
        execFile(process.execPath, [script, `--${option}`, 'nothing'], { timeout: 20_000 },
          (error, _stdout, text) => resolve({ code: error?.code ?? 0, stderr: text }));
      });
      expect(code).toBe(2);
      expect(stderr).toContain(`--${option}: there is no "nothing"`);
    }
  });

  // Chromium's page must have what Node has: the measuring half is one file.
  test.for(['node', 'chromium'])('in %s, every part has its rows', async (runtime) => {
    const rows = await benchThatWrites('web', '--runtime', runtime, '--variants', 'ours,plain-js',
      '--n', '300', '--dim', '32', '--bits', '8');
    for (const row of rows) {
      expect(row).toMatchObject({ runtime, data: 'mixture', n: 300, dim: 32 });
      expect(row).not.toHaveProperty('error');
    }
    const alone = rows.filter(({ part }) => part === 'alone');
    expect(alone.map(({ variant, backend }) => [variant, backend]))
      .toEqual([['ours', 'wasm'], ['plain-js', 'js']]);
    expect(alone[0].recall).toBeGreaterThan(0.9);
    expect(alone[1].recall).toBe(1);
    const settings = (part) => rows.filter((row) => row.part === part)
      .map(({ workers, writer }) => [workers, writer]);
    expect(settings('beside')).toEqual([[0, 'off'], [0, 'paced'], [0, 'flat']]);
    expect(settings('workers')).toEqual([[1, 'off'], [2, 'off'], [1, 'flat'], [2, 'flat']]);
    expect(settings('frames')).toEqual(
      [[0, 'off'], [0, 'paced'], [0, 'flat'], [0, 'same-thread']]);
    expectLatencies(rows.filter(({ part }) => part !== 'frames'));
    for (const row of rows.filter(({ part }) => part !== 'alone')) {
      expect(row.rows_written_per_s > 0, JSON.stringify(row)).toBe(row.writer !== 'off');
    }
    for (const row of rows.filter(({ part }) => part === 'frames')) {
      expect(row.frames).toBeGreaterThan(0);
      expect(row.long_frames).toBeLessThanOrEqual(row.frames);
    }
  });
});

test('bench service: no request fails, with the writer off and on', async () => {
  const rows = await benchThatWrites('service', '--n', '300', '--dim', '16', '--workers', '2',
    '--clients', '1,4');
  expect(rows.map(({ clients, writer }) => [clients, writer]))
    .toEqual([[1, 'off'], [1, 'flat'], [4, 'off'], [4, 'flat']]);
  expectLatencies(rows);
  for (const row of rows) {
    expect(row).toMatchObject({ workers: 2, errors: 0 });
    expect(row.rows_written_per_s > 0).toBe(row.writer !== 'off');
    expect(row.requests_per_s).toBeGreaterThan(0);
  }
});
