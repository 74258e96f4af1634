// An index that lives in a file of Node: what is there afterwards, for us and for others.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { VectorIndex } from 'vicinal';
import { readLog } from '../../format/read_file.mjs';
import { COMMAND } from '../../cli/support/command.mjs';
import { errorOf, plain } from '../support/backends.mjs';
import { failing, folder, noSpace, open, openFiles } from '../support/node_files.mjs';
import { randomRows, range, row, scale } from '../support/random.mjs';
import { catchWriters } from '../support/workers.mjs';

const dim = 24;
const shape = { dim, bits: 2 };
const threaded = { maxBytes: 2 ** 26 };
const single = { maxBytes: 2 ** 26, threads: false };
const loads = [['threads', threaded], ['single', single]];
const dist = JSON.stringify(import.meta.resolve('../../../dist/index.js'));

const bytesOf = (file) => new Uint8Array(fs.readFileSync(file));
const idsIn = (file) => readLog(bytesOf(file)).rows
  .map(({ id }) => Number(id)).sort((a, b) => a - b);

function info(file) {
  const { status, stdout } = spawnSync(COMMAND, ['info', '--index', file, '--json'],
    { encoding: 'utf8' });
  expect(status, stdout).toBe(0);
  return JSON.parse(stdout);
}

/** A process of Node that runs `code`, with the package's exports. */
function program(code) {
  const script = `import { VectorIndex } from ${dist};\n${code}`;
  return spawn(process.execPath, ['--input-type=module', '-e', script],
    { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The lines that a process prints, as they come. */
async function* lines(child) {
  let rest = '';
  for await (const chunk of child.stdout) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    yield* parts;
  }
}

describe.each(loads)('%s', (_name, load) => {
  test('what is written is in the file, for this package, the command and the paper', async () => {
    const file = folder().file('x.vic');
    const files = openFiles();
    const index = await VectorIndex.open(file, { ...load, create: shape });
    const rows = randomRows(1, 700, dim);
    await index.add(range(700), rows);
    await index.remove(range(100, 50));
    await index.upsert([3, 900], rows.subarray(0, 2 * dim));
    const found = plain(index.search(row(rows, dim, 9), { k: 30 }));
    await index.close();
    expect(openFiles()).toBe(files);
    const expected = range(700).filter((id) => id < 50 || id >= 150).concat(900);
    expect(idsIn(file)).toEqual(expected);
    expect(info(file)).toMatchObject({ rows: 601, dim, bits: 2, sequence: 3 });
    const again = await open(file, load);
    expect([again.size, again.sequence]).toEqual([601, 3]);
    expect(plain(again.search(row(rows, dim, 9), { k: 30 }))).toEqual(found);
    await again.add([1000], rows.subarray(0, dim));
    await again.clear();
    await again.add(range(40), rows.subarray(0, 40 * dim));
    await again.close();
    expect(idsIn(file)).toEqual(range(40));
    expect(info(file)).toMatchObject({ rows: 40, sequence: 6 });
  });

  test('it is there while the index lives, and certain when it was asked to be', async () => {
    const at = folder();
    const file = at.file('x.vic');
    const index = await open(pathToFileURL(file), { ...load, create: shape });
    expect(idsIn(file)).toEqual([]);
    const rows = randomRows(2, 300, dim);
    const receipt = await index.add(range(100), rows.subarray(0, 100 * dim), { durable: true });
    expect(receipt).toEqual({ sequence: 1, count: 100 });
    expect(idsIn(file)).toEqual(range(100));
    // Many at once share what it costs.
    const writes = range(200).map((i) =>
      index.add([100 + i], row(rows, dim, 100 + i), { durable: i % 2 === 0 }));
    const { sequence } = await index.flush();
    expect(sequence).toBeGreaterThanOrEqual(Math.max(
      ...(await Promise.all(writes)).map((each) => each.sequence)));
    expect(idsIn(file)).toEqual(range(300));
    expect((await index.remove([7], { durable: true })).removed).toBe(1);
    expect((await index.upsert([], [], { durable: true })).count).toBe(0);
    expect(idsIn(file)).toHaveLength(299);
    // Its own place is flushed, another one gets a copy.
    await index.save(file);
    await index.save(at.file('copy.vic'));
    expect(at.names().sort()).toEqual(['copy.vic', 'x.vic']);
    expect((await open(at.file('copy.vic'), { ...load, readOnly: true })).size).toBe(299);
  });

  test('strings live in it as numbers do, and their kind is the file\'s', async () => {
    const at = folder();
    const file = at.file('x.vic');
    const index = await open(file, { ...load, create: { ...shape, ids: 'string' } });
    const rows = randomRows(3, 300, dim);
    const names = range(300).map((i) => `näme ${i}`);
    await index.add(names, rows, { durable: true });
    await index.remove(names.slice(10, 100));
    await index.upsert(['', names[5]], rows.subarray(0, 2 * dim));
    const namesIn = (path) => readLog(bytesOf(path)).rows
      .map(({ name }) => Buffer.from(name).toString()).sort();
    const expected = names.filter((_, i) => i < 10 || i >= 100).concat('').sort();
    await index.flush();
    expect(namesIn(file)).toEqual(expected);
    const found = plain(index.search(row(rows, dim, 9), { k: 30 }));
    await index.save(at.file('copy.vic'));
    await index.close();
    for (const path of [file, at.file('copy.vic')]) {
      const again = await open(path, load);
      expect(again.size).toBe(211);
      expect(plain(again.search(row(rows, dim, 9), { k: 30 }))).toEqual(found);
      await again.add(['another'], rows.subarray(0, dim));
      await again.close();
      expect(namesIn(path)).toEqual([...expected, 'another'].sort());
    }
    expect((await errorOf(() => VectorIndex.open(file, { ...load, ids: 'number' }))).code)
      .toBe('BAD_OPTION');
    expect((await errorOf(() => VectorIndex.open(file, { ...load, create: { ...shape,
      ids: 'bigint' } }))).code).toBe('BAD_OPTION');
    // Who reads along sees strings that come later.
    const writer = await open(file, load);
    const reader = await open(file, { ...load, readOnly: true });
    await writer.add(['later'], rows.subarray(0, dim));
    if (load === threaded) await vi.waitFor(() => expect(reader.has('later')).toBe(true));
    expect(reader.has('another')).toBe(true);
  });

  test('options of what is there hold; the ids are those that were asked for', async () => {
    const file = folder().file('x.vic');
    const index = await VectorIndex.open(file,
      { ...load, create: { dim: 3, metric: 'l2', ids: 'bigint', seed: 2n ** 63n } });
    await index.add([2n ** 60n], [[1, 2, 3]]);
    await index.close();
    const files = openFiles();
    expect((await errorOf(() => VectorIndex.open(file, load))).code).toBe('BAD_ID');
    expect(openFiles()).toBe(files);
    const again = await open(file, { ...load, create: { dim: 7, ids: 'bigint' } });
    expect([again.dim, again.metric, again.size]).toEqual([3, 'l2', 1]);
    expect(again.search([1, 2, 3]).ids[0]).toBe(2n ** 60n);
  });

  test('a calibrated index stays one', async () => {
    const file = folder().file('x.vic');
    const index = await VectorIndex.open(file, { ...load, create: shape });
    const rows = randomRows(5, 200, dim).map((x) => x + 3);
    await index.calibrate(rows);
    await index.add(range(200), rows);
    const found = plain(index.search(row(rows, dim, 4), { k: 9 }));
    await index.close();
    const again = await open(file, load);
    expect(again.stats().calibrated).toBe(true);
    expect(plain(again.search(row(rows, dim, 4), { k: 9 }))).toEqual(found);
  });

  test('the second writer is BUSY and hears who the first one is', async () => {
    const file = folder().file('x.vic');
    const index = await VectorIndex.open(file, { ...load, create: shape });
    const files = openFiles();
    const error = await errorOf(() => VectorIndex.open(file, load));
    expect(error.code).toBe('BUSY');
    expect(error.message).toContain(`this process (${process.pid})`);
    expect(openFiles()).toBe(files);
    // A program that takes the same lock, as native ones do.
    expect(spawnSync('flock', ['-n', file, 'true']).status).toBe(1);
    // Whoever reads a copy needs no lock.
    await index.add([1], [range(dim)]);
    expect((await open(file, { ...load, readOnly: true })).size).toBe(1);
    await index.close();
    expect(spawnSync('flock', ['-n', file, 'true']).status).toBe(0);
    const child = spawn('flock', [file, 'cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.write('x');
    await new Promise((resolve) => { child.stdout.once('data', resolve); });
    expect((await errorOf(() => VectorIndex.open(file, load))).code).toBe('BUSY');
    child.stdin.end();
    await new Promise((resolve) => { child.once('exit', resolve); });
    await open(file, load);
  });

  test('what is no such file is told, and nothing stays open or is made', async () => {
    const at = folder();
    const file = at.file('x.vic');
    const index = await VectorIndex.open(file, { ...load, create: shape });
    const rows = randomRows(1, 5000, dim);
    await index.add(range(5000), rows, { durable: true });
    await index.close();
    const good = bytesOf(file);
    const files = openFiles();
    const changed = (change) => {
      const bytes = good.slice();
      change(bytes);
      return at.write('bad.vic', bytes);
    };
    for (const [code, bad] of [
      ['CORRUPT', () => changed((bytes) => { bytes[80] ^= 1; })],
      ['CORRUPT', () => at.write('bad.vic', good.subarray(0, 16384))],
      ['CORRUPT', () => changed((bytes) => { bytes[8] = 4; })],
    ]) {
      const error = await errorOf(() => VectorIndex.open(bad(), load));
      expect(error.code, error.message).toBe(code);
    }
    // A bit anywhere is found, or is one that means nothing: of what is not shown, of an older
    // record, or of the table of ids, which are hints.
    let found = 0;
    for (let i = 0; i < 40; ++i) {
      const bad = changed((bytes) => {
        bytes[16400 + Math.floor((i / 40) * (bytes.length - 16400))] ^= 1;
      });
      const opened = await VectorIndex.open(bad, load).catch((error) => error);
      if (opened instanceof VectorIndex) {
        expect(opened.size).toBe(5000);
        await opened.close();
      } else {
        expect(opened.code).toBe('CORRUPT');
        ++found;
      }
    }
    expect(found).toBeGreaterThan(10);
    expect((await errorOf(() => VectorIndex.open(file, { ...load, maxBytes: 2 ** 16 }))).code)
      .toBe('FULL');
    const stop = new AbortController();
    stop.abort();
    expect((await errorOf(() => VectorIndex.open(file, { ...load, signal: stop.signal }))).code)
      .toBe('ABORTED');
    for (const missing of [at.file('none/x.vic'), at.folder, '/dev/null']) {
      const error = await errorOf(() => VectorIndex.open(missing, { ...load, create: shape }));
      expect(error.code, missing).toBe('IO');
    }
    const thrown = new Error('mine');
    expect(await errorOf(() => VectorIndex.open(at.file('new.vic'), {
      ...load, create: shape, onProgress() { throw thrown; },
    }))).toBe(thrown);
    expect(at.names().sort()).toEqual(['bad.vic', 'x.vic']);
    expect(openFiles()).toBe(files);
    expect(Buffer.from(good).equals(fs.readFileSync(file))).toBe(true);
  });

  test('progress is told, and what it throws stops the opening', async () => {
    const file = folder().file('x.vic');
    const index = await VectorIndex.open(file, { ...load, create: shape });
    await index.add(range(100_000), randomRows(1, 100_000, dim));
    await index.close();
    const { size } = fs.statSync(file);
    const seen = [];
    const again = await VectorIndex.open(file, { ...load, onProgress: (p) => seen.push(p) });
    expect(again.size).toBe(100_000);
    await again.close();
    expect(seen.at(-1)).toEqual({ loadedBytes: size, totalBytes: size });
    expect(seen.length).toBeGreaterThan(1);
    const seenAgain = [];
    await (await VectorIndex.open(file, { ...load, onProgress: (p) => seenAgain.push(p) })).close();
    expect(seenAgain).toEqual(seen);
    const files = openFiles();
    const thrown = new Error('mine');
    expect(await errorOf(() => VectorIndex.open(file, {
      ...load, onProgress() { throw thrown; },
    }))).toBe(thrown);
    const stop = new AbortController();
    expect((await errorOf(() => VectorIndex.open(file, {
      ...load, signal: stop.signal, onProgress: () => stop.abort(),
    }))).code).toBe('ABORTED');
    expect(openFiles()).toBe(files);
    await open(file, load);
  });
});

describe('a file without room', () => {
  test('is FULL until there is room again: nothing is lost, all goes on', async () => {
    const files = failing();
    const file = folder().file('x.vic');
    const index = await open(file, { ...single, create: shape });
    const rows = randomRows(3, 400, dim);
    await index.add(range(100), rows.subarray(0, 100 * dim), { durable: true });
    for (const error of [noSpace(),
      new DOMException('quota', 'QuotaExceededError')]) {
      files.error = error;
      await index.upsert(range(100, 100), rows.subarray(0, 100 * dim));
      expect(index.size).toBe(200);
      const told = await errorOf(() => index.flush());
      expect([told.code, told.cause]).toEqual(['FULL', error]);
      expect((await errorOf(() => index.remove([5], { durable: true }))).code).toBe('FULL');
      expect(index.has(5)).toBe(false);
      await index.add([5], row(rows, dim, 5));
      expect(idsIn(file)).toEqual(expect.arrayContaining(range(100)));
      files.error = undefined;
      await index.flush();
      expect(idsIn(file)).toEqual(range(200));
    }
  });

  test('that fails otherwise is IO once and READ_ONLY for certainty from then on', async () => {
    const files = failing();
    const file = folder().file('x.vic');
    const index = await open(file, { ...single, create: shape });
    const rows = randomRows(3, 10, dim);
    await index.add([1], row(rows, dim, 1), { durable: true });
    files.error = Object.assign(new Error('the disk is gone'), { code: 'EIO', errno: -5 });
    const told = await errorOf(() => index.add([2], row(rows, dim, 2), { durable: true }));
    expect([told.code, told.cause]).toEqual(['IO', files.error]);
    files.error = undefined;
    expect((await errorOf(() => index.flush())).code).toBe('READ_ONLY');
    await index.add([3], row(rows, dim, 3));
    expect([index.size, index.search(row(rows, dim, 3), { k: 1 }).ids[0]]).toEqual([3, 3]);
    await index.close();
    expect(idsIn(file)).toEqual([1]);
  });
});

test('a process that is killed loses nothing that it said was certain', async () => {
  const file = folder().file('x.vic');
  const code = (seed) => `
    const index = await VectorIndex.open(${JSON.stringify(file)}, {
      create: { dim: 8 }, maxBytes: 2 ** 24,
    });
    let next = index.size;
    console.log('there ' + next);
    for (let turn = 0; ; ++turn) {
      const count = 1 + (turn * 7 + ${seed}) % 40;
      const ids = Array.from({ length: count }, (_, i) => next + i);
      console.log('submitted ' + (next + count));
      await index.add(ids, ids.map((id) => [1, 2, 3, 4, 5, 6, 7, id]), { durable: true });
      console.log('certain ' + (next += count));
    }`;
  let before = 0;
  for (let run = 0; run < 20 * scale; ++run) {
    const child = program(code(run));
    const told = { there: 0, submitted: 0, certain: 0 };
    let count = 0;
    for await (const line of lines(child)) {
      const [what, rows] = line.split(' ');
      told[what] = Number(rows);
      if (++count === 3 + (run * 5) % 17) child.kill('SIGKILL');
    }
    // What the one before left, whole, and as the paper reads it.
    expect(told.there).toBe(before);
    const ids = idsIn(file);
    expect(ids).toEqual(range(ids.length));
    expect(ids.length).toBeGreaterThanOrEqual(Math.max(told.certain, before));
    expect(ids.length).toBeLessThanOrEqual(Math.max(told.submitted, told.there));
    before = ids.length;
  }
  expect(before).toBeGreaterThan(0);
}, 120_000);

test('another process is BUSY while this one has the file, whatever ends it', async () => {
  const file = folder().file('x.vic');
  const child = program(`
    const index = await VectorIndex.open(${JSON.stringify(file)}, { create: { dim: 2 } });
    await index.add([1], [[1, 2]], { durable: true });
    console.log('has it');
    process.stdin.resume();`);
  for await (const line of lines(child)) {
    expect(line).toBe('has it');
    const error = await errorOf(() => VectorIndex.open(file, threaded));
    expect(error.code).toBe('BUSY');
    expect(error.message).toContain(`process ${child.pid} `);
    child.kill('SIGKILL');
  }
  expect((await open(file, threaded)).size).toBe(1);
});

test('a writer that is ended between two writes is followed by one that goes on', async () => {
  const file = folder().file('x.vic');
  const workers = await catchWriters();
  const index = await open(file, { ...threaded, create: shape });
  const rows = randomRows(9, 50, dim);
  for (let turn = 0; turn < 4; ++turn) {
    await index.add([turn], row(rows, dim, turn), { durable: true });
    workers.at(-1).terminate();
    // One that is asked meanwhile answers.
    expect((await index.add([100 + turn], row(rows, dim, turn), { durable: true })).count).toBe(1);
    expect(workers).toHaveLength(turn + 2);
    expect((await errorOf(() => VectorIndex.open(file, threaded))).code).toBe('BUSY');
    expect(idsIn(file)).toEqual([...range(turn + 1), ...range(turn + 1, 100)]);
  }
});

describe('an index that is opened for reading', () => {
  const patience = { timeout: 30_000, interval: 5 };

  test('follows what is written to its file, whole versions of it', async () => {
    const file = folder().file('x.vic');
    const files = openFiles();
    const index = await VectorIndex.open(file, { ...threaded, create: shape });
    const rows = randomRows(7, 2000, dim);
    const query = row(rows, dim, 3);
    await index.add([3], query);
    const follower = await VectorIndex.open(file, { ...threaded, readOnly: true });
    expect([follower.size, follower.sequence]).toEqual([1, 1]);
    const kept = follower.snapshot();
    for (let at = 0; at < 2000; at += 250) {
      await index.upsert(range(250, at), rows.subarray(at * dim, (at + 250) * dim));
      await index.remove([at + 1, at + 40]);
      await vi.waitUntil(() => follower.sequence === index.sequence, patience);
      expect(follower.size).toBe(index.size);
      expect(plain(follower.search(query, { k: 50 })))
        .toEqual(plain(index.search(query, { k: 50 })));
    }
    expect(kept.size).toBe(1);
    await kept.close();
    for (const write of [() => follower.add([1], [query]), () => follower.clear()]) {
      expect((await errorOf(write)).code).toBe('READ_ONLY');
    }
    await index.close();
    // The next writer goes on, and so does whoever follows.
    const next = await open(file, threaded);
    await next.clear();
    await vi.waitUntil(() => follower.size === 0, patience);
    await next.close();
    await follower.close();
    expect(openFiles()).toBe(files);
  });

  test('follows another process, and outlives it', async () => {
    const file = folder().file('x.vic');
    const child = program(`
      const index = await VectorIndex.open(${JSON.stringify(file)}, { create: { dim: 2 } });
      for (let id = 0; ; ++id) {
        await index.add([id], [[1, id]]);
        if (id % 100 === 99) console.log(id + 1);
      }`);
    let follower;
    let before = 0;
    for await (const line of lines(child)) {
      follower ??= await open(file, { ...threaded, readOnly: true });
      await vi.waitUntil(() => follower.size >= Number(line), patience);
      expect(follower.size).toBeGreaterThanOrEqual(before);
      before = follower.size;
      if (before >= 1000) child.kill('SIGKILL');
    }
    expect(follower.has(0)).toBe(true);
    const next = await open(file, threaded);
    expect(next.size).toBeGreaterThanOrEqual(before);
    await next.add([1e6], [[1, 2]]);
    await vi.waitUntil(() => follower.has(1e6), patience);
  });

  test('goes on when its worker is ended', async () => {
    const file = folder().file('x.vic');
    const index = await open(file, { ...threaded, create: shape });
    const workers = await catchWriters();
    const follower = await open(file, { ...threaded, readOnly: true });
    workers[0].terminate();
    await index.add([1], [range(dim)]);
    await vi.waitUntil(() => follower.has(1), { timeout: 60_000, interval: 5 });
    expect(workers).toHaveLength(2);
  });
});
