// Who writes to a file of Node has its lock, and a save elsewhere does not take the file from it.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { VectorIndex } from 'vicinal';
import { create, errorOf } from '../support/backends.mjs';
import { folder, noSpace, open, openFiles } from '../support/node_files.mjs';
import { randomRows, range } from '../support/random.mjs';

const dim = 8;
const shape = { dim };
const load = { maxBytes: 2 ** 26, threads: false };

/** An index in memory. */
async function other(count = 10) {
  const index = await create(shape, load);
  await index.add(range(count, 500), randomRows(1, count, dim));
  return index;
}

const isLocked = (file) => spawnSync('flock', ['-n', file, 'true']).status === 1;

describe('a save', () => {
  test('onto a file that is written to is BUSY, names the writer and leaves it', async () => {
    const at = folder();
    const file = at.file('x.vic');
    fs.symlinkSync(file, at.file('link.vic'));
    const index = await VectorIndex.open(file, { ...load, create: shape });
    await index.add([1], [range(dim)], { durable: true });
    const saving = await other();
    const follower = await open(file, { maxBytes: 2 ** 26, readOnly: true });
    const files = openFiles();
    for (const [from, target] of [[saving, file], [saving, at.file('link.vic')],
      [follower, file]]) {
      const error = await errorOf(() => from.save(target));
      expect(error.code).toBe('BUSY');
      expect(error.message).toContain(`this process (${process.pid})`);
    }
    expect(openFiles()).toBe(files);
    expect(at.names().sort()).toEqual(['link.vic', 'x.vic']);
    await index.add([2], [range(dim)], { durable: true });
    await index.close();
    const again = await VectorIndex.open(file, load);
    expect(again.size).toBe(2);
    await again.close();
    await saving.save(file);
    expect((await open(file, { ...load, readOnly: true })).size).toBe(10);
  });

  test('onto one that another program has locked is BUSY as long as it has', async () => {
    const file = folder().write('x.vic', 'old');
    const saving = await other();
    const child = spawn('flock', [file, 'cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.write('x');
    await new Promise((resolve) => { child.stdout.once('data', resolve); });
    const error = await errorOf(() => saving.save(file));
    expect([error.code, error.message]).toEqual(['BUSY', expect.stringContaining('somebody else')]);
    expect(fs.readFileSync(file, 'utf8')).toBe('old');
    child.stdin.end();
    await new Promise((resolve) => { child.once('exit', resolve); });
    await saving.save(file);
    expect((await open(file, load)).size).toBe(10);
  });

  test('has the lock of the file that it replaces, and gives it back', async () => {
    const at = folder();
    const file = at.write('x.vic', 'old');
    const saving = await other(20_000);
    const files = openFiles();
    const seen = [];
    await saving.save(file, { onProgress: () => seen.push(isLocked(file)) });
    expect(new Set(seen)).toEqual(new Set([true]));
    expect(isLocked(file)).toBe(false);
    const thrown = new Error('mine');
    expect(await errorOf(() => saving.save(file, { onProgress() { throw thrown; } }))).toBe(thrown);
    expect(isLocked(file)).toBe(false);
    expect(openFiles()).toBe(files);
    expect(at.names()).toEqual(['x.vic']);
  });

  test('without room is FULL and leaves the old file', async () => {
    const at = folder();
    const file = at.write('x.vic', 'old');
    const handle = await fs.promises.open(file);
    const write = vi.spyOn(Object.getPrototypeOf(handle), 'write');
    onTestFinished(() => write.mockRestore());
    await handle.close();
    const saving = await other();
    const files = openFiles();
    for (const cause of [noSpace(), Object.assign(new Error('quota'), { errno: -122 })]) {
      write.mockRejectedValue(cause);
      expect(await errorOf(() => saving.save(file))).toMatchObject({ code: 'FULL', cause });
    }
    write.mockRejectedValue(Object.assign(new Error('gone'), { code: 'EIO', errno: -5 }));
    expect((await errorOf(() => saving.save(file))).code).toBe('IO');
    expect(fs.readFileSync(file, 'utf8')).toBe('old');
    expect(at.names()).toEqual(['x.vic']);
    expect(openFiles()).toBe(files);
  });
});

describe('without other commands than', () => {
  /** Programs are found in this folder alone. */
  function setPath(at) {
    const { PATH } = process.env;
    onTestFinished(() => { process.env.PATH = PATH; });
    process.env.PATH = at.folder;
  }

  test.each(['flock', 'perl', 'python3'])('%s a file is locked', async (command) => {
    const bin = folder();
    const file = folder().file('x.vic');
    fs.symlinkSync(path.join('/usr/bin', command), bin.file(command));
    setPath(bin);
    const saving = await other();
    const index = await VectorIndex.open(file, { ...load, create: shape });
    expect((await errorOf(() => VectorIndex.open(file, load))).code).toBe('BUSY');
    expect((await errorOf(() => saving.save(file))).code).toBe('BUSY');
    await index.close();
    await saving.save(file);
    expect((await open(file, load)).size).toBe(10);
  });

  test('none a file is not written to in its place, but replaced', async () => {
    const at = folder();
    const file = at.write('x.vic', 'old');
    setPath(folder());
    const saving = await other();
    await saving.save(file);
    expect((await open(file, { ...load, readOnly: true })).size).toBe(10);
    const error = await errorOf(() =>
      VectorIndex.open(at.file('new.vic'), { ...load, create: shape }));
    expect(error.code).toBe('UNSUPPORTED');
  });
});
