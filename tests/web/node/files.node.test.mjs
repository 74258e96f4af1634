// Files of Node, and the same ones under the native command.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { VectorIndex } from 'vicinal';
import { BASE, COMMAND, QUERIES, temporaryFolder } from '../../cli/support/command.mjs';
import { bitsOf, create, errorOf } from '../support/backends.mjs';
import { saved } from '../support/files.mjs';
import { range, row } from '../support/random.mjs';

const load = { maxBytes: 2 ** 26 };

function folder() {
  const made = temporaryFolder();
  onTestFinished(() => made.remove());
  return made;
}

async function open(source, options = load) {
  const index = await VectorIndex.open(source, options);
  onTestFinished(() => index.close());
  return index;
}

const openFiles = () => fs.readdirSync('/proc/self/fd').length;

function fvecs(file) {
  const bytes = fs.readFileSync(file);
  const dim = bytes.readInt32LE(0);
  const count = bytes.length / (4 + 4 * dim);
  const rows = new Float32Array(count * dim);
  for (let i = 0; i < count; ++i) {
    const at = i * (4 + 4 * dim) + 4;
    for (let j = 0; j < dim; ++j) rows[i * dim + j] = bytes.readFloatLE(at + 4 * j);
  }
  return { rows, dim, count };
}

function command(...args) {
  const { status, stdout, stderr } = spawnSync(COMMAND, [...args, '--json'], {
    encoding: 'utf8', maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${status} ${stdout} ${stderr}`);
  return JSON.parse(stdout);
}

/** What index and command find, scores to the bit. */
function expectSameResults(index, file, queries) {
  const { results } = command('search', '--index', file, '--queries', QUERIES, '-k', '10');
  expect(results.length).toBe(queries.count);
  for (const [i, hits] of index.searchBatch(queries.rows, { k: 10 }).entries()) {
    expect(Array.from(hits.ids)).toEqual(results[i].ids);
    expect(Array.from(bitsOf(hits.scores)))
      .toEqual(Array.from(bitsOf(Float32Array.from(results[i].scores))));
  }
}

describe('with the native command', () => {
  const queries = fvecs(QUERIES);

  test.each([['cosine', 4], ['l2', 3], ['ip', 8]])('a file that it built, %s with %d bits, opens',
    async (metric, bits) => {
      const file = folder().file('built.vic');
      command('build', '--input', BASE, '--output', file, '--metric', metric, '--bits', `${bits}`);
      const index = await open(file, { ...load, readOnly: true });
      expect([index.dim, index.size, index.metric, index.bits]).toEqual([100, 2000, metric, bits]);
      expectSameResults(index, file, queries);
      expectSameResults(await open(await index.toBytes(), load), file, queries);
    });

  test('it opens what was saved here', async () => {
    const file = folder().file('saved.vic');
    const base = fvecs(BASE);
    const index = await create({ dim: base.dim, bits: 2 }, load);
    await index.add(range(base.count), base.rows);
    await index.remove(range(100));
    await index.save(file);
    expect(command('info', '--index', file)).toMatchObject({ rows: 1900, dim: 100, bits: 2 });
    expectSameResults(index, file, queries);
  });
});

describe('paths', () => {
  test('a path, a file URL and its text name the same file', async () => {
    const at = folder();
    const { index, rows, bytes } = await saved(load);
    const spaced = at.file('a b#%20.vic');
    const url = pathToFileURL(at.file('u.vic'));
    const text = pathToFileURL(at.file('t.vic')).href;
    for (const [target, file] of
      [[spaced, spaced], [url, at.file('u.vic')], [text, at.file('t.vic')]]) {
      await index.save(target);
      expect(Buffer.from(bytes).equals(fs.readFileSync(file))).toBe(true);
      for (const source of [target, file, pathToFileURL(file)]) {
        const opened = await open(source, { ...load, readOnly: true });
        expect(opened.search(row(rows, 24, 0), { k: 1 }).ids[0]).toBe(10);
      }
    }
    expect(at.names().sort()).toEqual(['a b#%20.vic', 't.vic', 'u.vic']);
    const data = `data:application/octet-stream;base64,${Buffer.from(bytes).toString('base64')}`;
    expect((await open(data)).size).toBe(index.size);
  });

  test('a save replaces the old file and keeps its permissions and a link its place', async () => {
    const at = folder();
    const { index, bytes } = await saved(load);
    const file = at.write('real.vic', 'old');
    fs.chmodSync(file, 0o640);
    fs.symlinkSync(file, at.file('link.vic'));
    const seen = [];
    const onProgress = ({ done, total }) => seen.push([done, total]);
    await index.save(at.file('link.vic'), { onProgress });
    expect(seen.at(-1)).toEqual([bytes.length, bytes.length]);
    expect(fs.lstatSync(at.file('link.vic')).isSymbolicLink()).toBe(true);
    expect(fs.statSync(file).mode & 0o7777).toBe(0o640);
    expect(Buffer.from(bytes).equals(fs.readFileSync(file))).toBe(true);
    expect(at.names().sort()).toEqual(['link.vic', 'real.vic']);
  });

  test('a save that is stopped or fails leaves the old file and no other', async () => {
    const at = folder();
    const { index } = await saved(load, { count: 20_000 });
    const file = at.write('x.vic', 'old');
    const files = openFiles();
    const stop = new AbortController();
    expect((await errorOf(() => index.save(file, {
      signal: stop.signal, onProgress: () => stop.abort(),
    }))).code).toBe('ABORTED');
    const thrown = new Error('mine');
    expect(await errorOf(() => index.save(file, { onProgress() { throw thrown; } }))).toBe(thrown);
    expect(fs.readFileSync(file, 'utf8')).toBe('old');
    for (const target of [at.folder, at.file('none/x.vic'), path.join(file, 'below')]) {
      const error = await errorOf(() => index.save(target));
      expect(error.code).toBe('IO');
      expect(error.message).toContain(target);
    }
    expect((await errorOf(() => index.save('opfs:x'))).code).toBe('UNSUPPORTED');
    for (const target of ['', 'a\0b', 'https://example.invalid/x']) {
      expect((await errorOf(() => index.save(target))).code).toBe('BAD_OPTION');
    }
    expect(at.names()).toEqual(['x.vic']);
    expect(openFiles()).toBe(files);
  });

  test('what is no readable file is IO, and a damaged one leaves nothing open', async () => {
    const at = folder();
    const { bytes } = await saved(load, { count: 20_000 });
    const files = openFiles();
    spawnSync('mkfifo', [at.file('pipe')]);
    for (const source of [at.folder, at.file('none.vic'), at.file('none/x.vic'), at.file('pipe'),
      pathToFileURL(at.file('none.vic')), '/dev/null']) {
      const error = await errorOf(() => VectorIndex.open(source, load));
      expect(error.code, `${source}`).toBe('IO');
    }
    for (const content of ['', 'x', 'x'.repeat(3_000_000)]) {
      expect((await errorOf(() => VectorIndex.open(at.write('bad.vic', content), load))).code)
        .toBe('CORRUPT');
    }
    expect((await errorOf(() => VectorIndex.open('opfs:x', load))).code).toBe('UNSUPPORTED');
    const good = at.write('good.vic', bytes);
    const thrown = new Error('mine');
    expect(await errorOf(() => VectorIndex.open(good, { ...load, onProgress() { throw thrown; } })))
      .toBe(thrown);
    const stop = new AbortController();
    expect((await errorOf(() => VectorIndex.open(good, {
      ...load, signal: stop.signal, onProgress: () => stop.abort(),
    }))).code).toBe('ABORTED');
    expect(openFiles()).toBe(files);
  });

  test('create begins what does not exist yet, and has no effect on what does', async () => {
    const file = folder().file('new.vic');
    const options = { ...load, create: { dim: 3, metric: 'l2', ids: 'bigint' } };
    const index = await open(file, options);
    expect([index.dim, index.size, fs.existsSync(file)]).toEqual([3, 0, true]);
    await index.add([2n ** 60n], [[1, 2, 3]]);
    await index.close();
    const again = await open(file, { ...options, create: { dim: 7, ids: 'bigint' } });
    expect([again.dim, again.metric, again.size]).toEqual([3, 'l2', 1]);
    expect(again.search([1, 2, 3]).ids[0]).toBe(2n ** 60n);
    fs.rmSync(file);
    const error = await errorOf(() => VectorIndex.open(file, { ...options, readOnly: true }));
    expect(error.code).toBe('IO');
  });
});

test('a process that is killed in mid-save leaves the old file or the new one', async () => {
  const at = folder();
  const file = at.file('x.vic');
  const script = `
    import { VectorIndex } from ${JSON.stringify(import.meta.resolve('../../../dist/index.js'))};
    const index = await VectorIndex.create({ dim: 32 }, { maxBytes: 2 ** 26, threads: false });
    const rows = new Float32Array(32 * 20000).map((_, i) => Math.sin(i));
    await index.add(Array.from({ length: 20000 }, (_, i) => i), rows);
    for (let i = 0; ; ++i) {
      await index.save(${JSON.stringify(file)}, { onProgress: () => console.log(i) });
      await index.add([30000 + i], [rows.subarray(0, 32)]);
    }`;
  const done = [];
  for (let run = 0; run < 6; ++run) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let lines = 0;
    let saves = -1;
    await new Promise((resolve) => {
      child.stdout.on('data', (text) => {
        lines += text.toString().split('\n').length - 1;
        saves = Math.max(saves, ...text.toString().trim().split('\n').map(Number));
        // Some lines into the second save or a later one.
        if (saves >= 1 && lines >= 6 + 3 * run) child.kill('SIGKILL');
      });
      child.on('exit', resolve);
    });
    const opened = await open(file, { ...load, readOnly: true });
    // The save of which lines came before is whole; the one under way may be, too.
    expect(opened.size).toBeGreaterThanOrEqual(20_000 + saves - 1);
    done.push(opened.size);
    await opened.close();
    fs.rmSync(file);
  }
  expect(done.length).toBe(6);
  // What the killed ones left is told by its name.
  expect(at.names().every((name) => name.endsWith('.tmp'))).toBe(true);
});
