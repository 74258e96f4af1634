// What goes wrong, and how the command says so: an exit status, and with --json one error object.
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BASE, COMMAND, QUERIES, TRUTH, fail, fvecs, f16vecs, ivecs, npy, runCommand, runJson, succeed,
  temporaryFolder, u64, wholeRows, withoutTurns,
} from './support/command.mjs';

const { folder, file, write, names, remove } = temporaryFolder();
const rows = wholeRows(20, 6);
const index = file('small.vic');
const small = write('small.fvecs', fvecs(rows));

beforeAll(() => { succeed(['build', '--input', small, '--output', index]); });
afterAll(remove);

/** Builds from these bytes, which must fail and leave no output behind. */
function failBuild(name, bytes, args = []) {
  const out = file(`${name}.vic`);
  const failure = fail(['build', '--input', write(name, bytes), '--output', out, ...args]);
  expect(names()).not.toContain(`${name}.vic`);
  return failure;
}

describe('input vectors', () => {
  const whole = fvecs(rows);
  const rowBytes = 4 + 4 * 6;

  it.each([1, 3, 5, rowBytes - 1, rowBytes + 2, 3 * rowBytes + 4, whole.length - 1])(
    'fvecs cut after %i bytes is a DIMENSION error that names the row', (bytes) => {
      const failure = failBuild('cut.fvecs', whole.subarray(0, bytes));
      expect(failure).toMatchObject({ status: 1, code: 'DIMENSION' });
      expect(failure.message).toContain(`row ${Math.floor(bytes / rowBytes)} `);
    });

  it('a row of another dimension is named, with both dimensions', () => {
    const mixed = fvecs([[1, 2], [3, 4], [5, 6, 7]]);
    expect(failBuild('mixed.fvecs', mixed)).toMatchObject({
      status: 1, code: 'DIMENSION', message: expect.stringMatching(/row 2 .* 3 .*, row 0 has 2$/),
    });
  });

  it.each([0, -1, 16385, 0x7fffffff, -0x80000000])('dimension %i is refused', (dim) => {
    const bytes = Buffer.alloc(64);
    bytes.writeInt32LE(dim);
    expect(failBuild('absurd.fvecs', bytes)).toMatchObject({ status: 1, code: 'DIMENSION' });
  });

  it('text instead of vectors is refused', () => {
    expect(failBuild('text.fvecs', 'these are words\n'.repeat(20)))
      .toMatchObject({ status: 1, code: 'DIMENSION' });
  });

  it.each(['empty.fvecs', 'empty.f16vecs', 'empty.bvecs'])('%s has no rows', (name) => {
    expect(failBuild(name, '')).toMatchObject({ status: 1, code: 'DIMENSION' });
  });

  it.each([NaN, Infinity, -Infinity, 1e16, -3e38])('%f is NOT_FINITE, by place', (bad) => {
    const spoiled = rows.map((row) => [...row]);
    spoiled[13][4] = bad;
    expect(failBuild('spoiled.fvecs', fvecs(spoiled))).toMatchObject({
      status: 1, code: 'NOT_FINITE', message: expect.stringContaining('coordinate 4 of row 13 '),
    });
  });

  it('the first bad row is reported whatever the threads, also beyond the first slice', () => {
    const many = wholeRows(40_000, 64);
    many[25_000][1] = NaN;
    many[39_999][0] = NaN;
    const bytes = fvecs(many);
    for (const threads of [1, 4]) {
      expect(failBuild('late.fvecs', bytes, ['--threads', threads]).message)
        .toContain('coordinate 1 of row 25000 ');
    }
  });

  it('a half float that is not a number is NOT_FINITE', () => {
    expect(failBuild('nan.f16vecs', f16vecs([[1, 2], [NaN, 1]])))
      .toMatchObject({ status: 1, code: 'NOT_FINITE' });
  });
});

describe('npy input', () => {
  const good = npy(rows);
  it.each([
    ['Fortran order', npy(rows, { order: 'True' }), 'UNSUPPORTED'],
    ['float64', npy(rows, { type: '<f8' }), 'UNSUPPORTED'],
    ['big-endian', npy(rows, { type: '>f4' }), 'UNSUPPORTED'],
    ['one dimension', npy(rows, { shape: '(120,)' }), 'UNSUPPORTED'],
    ['three dimensions', npy(rows, { shape: '(2, 10, 6)' }), 'UNSUPPORTED'],
    ['a negative length', npy(rows, { shape: '(-20, 6)' }), 'UNSUPPORTED'],
    ['a length beyond 64 bits', npy(rows, { shape: '(99999999999999999999, 6)' }), 'UNSUPPORTED'],
    ['version 9', npy(rows, { version: 9 }), 'UNSUPPORTED'],
    ['another magic', Buffer.concat([Buffer.from('X'), good.subarray(1)]), 'UNSUPPORTED'],
    ['an end within its header', good.subarray(0, 40), 'UNSUPPORTED'],
    ['no bytes', Buffer.alloc(0), 'UNSUPPORTED'],
    ['no rows', npy([], { shape: '(0, 6)' }), 'DIMENSION'],
    ['no columns', npy(rows, { shape: '(20, 0)' }), 'DIMENSION'],
    ['too many columns', npy(rows, { shape: '(1, 18446744073709551615)' }), 'DIMENSION'],
    ['more rows than data', npy(rows, { shape: '(18446744073709551615, 6)' }), 'DIMENSION'],
    ['a row cut short', good.subarray(0, good.length - 1), 'DIMENSION'],
    ['a row too few', good.subarray(0, good.length - 24), 'DIMENSION'],
    ['bytes after its last row', Buffer.concat([good, Buffer.from([0])]), 'DIMENSION'],
  ])('with %s fails', (_what, bytes, code) => {
    expect(failBuild('bad.npy', bytes)).toMatchObject({ status: 1, code });
  });
});

describe('ids', () => {
  const build = (name, ids) => fail(['build', '--input', small, '--output', file('ids.vic'),
    '--ids', write(name, ids)]);
  const lines = (change) => rows.map((_, i) => change(i)).join('\n');

  it.each(['-1', '1.5', 'x', '', ' 3', '0x10', '18446744073709551616'])(
    '"%s" is a BAD_ID that names its line', (bad) => {
      expect(build('bad.txt', lines((i) => (i === 4 ? bad : i)))).toMatchObject({
        status: 1, code: 'BAD_ID', message: expect.stringContaining('line 5:'),
      });
    });

  it('a .u64 file of broken length is a BAD_ID', () => {
    expect(build('bad.u64', u64([1, 2]).subarray(1))).toMatchObject({ status: 1, code: 'BAD_ID' });
  });

  it.each([19, 21, 0])('%i for 20 rows are refused', (count) => {
    const ids = Array.from({ length: count }, (_, i) => i);
    expect(build('count.u64', u64(ids))).toMatchObject({ status: 1, code: 'BAD_OPTION' });
  });

  it('given twice are a DUPLICATE_ID that names it', () => {
    expect(build('twice.txt', lines((i) => (i === 19 ? 7 : i)))).toMatchObject({
      status: 1, code: 'DUPLICATE_ID', message: expect.stringContaining('id 7 '),
    });
  });

  it('already present: add fails and the index file stays as it was', () => {
    const before = readFileSync(index);
    expect(fail(['add', '--index', index, '--input', small,
      '--ids', write('present.txt', lines((i) => 19 + i))]))
      .toMatchObject({
        status: 1, code: 'DUPLICATE_ID', message: expect.stringContaining('id 19 '),
      });
    expect(withoutTurns(readFileSync(index)).equals(withoutTurns(before))).toBe(true);
  });

  it('add without ids after the largest possible one is a BAD_ID', () => {
    const last = file('last.vic');
    succeed(['build', '--input', write('one.fvecs', fvecs([[1, 2]])), '--output', last,
      '--ids', write('last.txt', '18446744073709551615')]);
    expect(fail(['add', '--index', last, '--input', file('one.fvecs')]))
      .toMatchObject({ status: 1, code: 'BAD_ID' });
  });
});

describe('queries and truth', () => {
  const search = (name, bytes) =>
    fail(['search', '--index', index, '--queries', write(name, bytes)]);

  it('queries of another dimension are a DIMENSION error', () => {
    expect(search('q7.fvecs', fvecs([[1, 2, 3, 4, 5, 6, 7]])))
      .toMatchObject({ status: 1, code: 'DIMENSION' });
  });

  it('a query that is not finite is named', () => {
    expect(search('qnan.fvecs', fvecs([rows[0], [1, 2, NaN, 4, 5, 6]]))).toMatchObject({
      status: 1, code: 'NOT_FINITE', message: expect.stringContaining('coordinate 2 of row 1 '),
    });
  });

  it('--rerank needs originals', () => {
    expect(fail(['search', '--index', index, '--queries', small, '--rerank', 40]))
      .toMatchObject({ status: 1, code: 'BAD_OPTION' });
    const args = ['search', '--index', index, '--queries', small, '--rerank'];
    expect(runCommand([...args, 0]).status).toBe(0);
  });

  it.each([
    ['of too few queries', ivecs(rows.slice(1).map(() => [1, 2, 3])), 'BAD_OPTION'],
    ['of too many queries', ivecs([...rows, rows[0]].map(() => [1, 2, 3])), 'BAD_OPTION'],
    ['of fewer than k neighbours', ivecs(rows.map(() => [1])), 'BAD_OPTION'],
    ['with a negative id', ivecs(rows.map(() => [1, -2, 3])), 'BAD_ID'],
    ['that is cut short', ivecs(rows.map(() => [1, 2, 3])).subarray(0, 100), 'DIMENSION'],
  ])('truth %s is refused', (_what, bytes, code) => {
    expect(fail(['recall', '--index', index, '--queries', small, '-k', 2,
      '--truth', write('truth.ivecs', bytes)])).toMatchObject({ status: 1, code });
  });
});

describe('files', () => {
  it.each(['build', 'search', 'info', 'remove'])('%s: a missing file is IO, exit 1', (command) => {
    const missing = file('missing.fvecs');
    const args = {
      build: ['--input', missing, '--output', file('o.vic')],
      search: ['--index', file('missing.vic'), '--queries', small],
      info: ['--index', file('missing.vic')],
      remove: ['--index', index, '--ids', missing],
    };
    const failure = fail([command, ...args[command]]);
    expect(failure).toMatchObject({ status: 1, code: 'IO' });
    expect(failure.message).toMatch(/missing\.\w+: No such file or directory$/);
  });

  it('a directory is IO wherever a file is wanted', () => {
    mkdirSync(file('folder.fvecs'));
    mkdirSync(file('folder.vic'));
    for (const args of [
      ['build', '--input', file('folder.fvecs'), '--output', file('o.vic')],
      ['build', '--input', small, '--output', file('folder.vic')],
      ['info', '--index', file('folder.vic')],
      ['search', '--index', index, '--queries', small, '--output', folder],
    ]) {
      expect(fail(args), args.join(' ')).toMatchObject({
        status: 1, code: 'IO', message: expect.stringContaining('Is a directory'),
      });
    }
  });

  it('an output folder that is missing is found before the work', () => {
    expect(fail(['build', '--input', '-', '--format', 'fvecs', '--output', file('no/where.vic')]))
      .toMatchObject({ status: 1, code: 'IO' });
  });

  it('--max-bytes that the index exceeds is FULL', () => {
    expect(fail(['build', '--input', BASE, '--output', file('full.vic'), '--max-bytes', '16K']))
      .toMatchObject({ status: 1, code: 'FULL' });
    const words = file('words.vic');
    succeed(['build', '--input', BASE, '--output', words, '--max-bytes', '1G']);
    // Rows that are mapped are not counted; those that are read are.
    expect(fail(['verify', '--index', words, '--max-bytes', '16K']))
      .toMatchObject({ status: 1, code: 'FULL' });
    expect(fail(['info', '--index', words, '--max-bytes', '1K']))
      .toMatchObject({ status: 1, code: 'FULL' });
    const { bytes } = succeed(['info', '--index', words, '--max-bytes', '64M']);
    expect(bytes).toBeLessThan(64 << 20);
  });
});

describe('damaged index files', () => {
  const damaged = (bytes) => fail(['search', '--index', write('damaged.vic', bytes),
    '--queries', small]);

  it('any flipped bit is CORRUPT, exit 3, or costs nothing and is said', () => {
    // Of whole blocks: what is behind the last row of an unfinished one means nothing.
    const blocks = file('blocks.vic');
    succeed(['build', '--input', write('blocks.fvecs', fvecs(wholeRows(96, 24))), '--output',
      blocks]);
    const whole = readFileSync(blocks);
    const flipped = (place, bit) => {
      const bytes = Buffer.from(whole);
      bytes[place] ^= 1 << bit;
      return bytes;
    };
    const LIVE_PAGE = [3 * 4096, 3 * 4096 + 32]; // what a writer says there nobody trusts
    for (let place = 0; place < whole.length; place += place < 17000 ? 61 : 997) {
      if (place >= LIVE_PAGE[0] && place < LIVE_PAGE[1]) continue;
      const bad = write('damaged.vic', flipped(place, place % 8));
      const { status, json } = runJson(['verify', '--index', bad]);
      if (status === 3) expect(json.error.code, `byte ${place}`).toBe('CORRUPT');
      else expect(json.notes, `byte ${place}`).toHaveLength(1);
    }
    for (const place of [0, 7, 8, 11, 16, 24, 40, 56, 63, 64, 100, 4095]) {
      expect(damaged(flipped(place, place % 8)), `byte ${place}`)
        .toMatchObject({ status: 3, code: 'CORRUPT' });
    }
  });

  it('cut at any length is CORRUPT, exit 3', () => {
    const whole = readFileSync(index);
    for (const length of [0, 1, 8, 63, 64, 65, 104, whole.length >> 1, whole.length - 1]) {
      expect(damaged(whole.subarray(0, length)), `${length} bytes`)
        .toMatchObject({ status: 3, code: 'CORRUPT' });
    }
  });

  it('what is behind the last commit is passed over, and said', () => {
    const longer = write('longer.vic', Buffer.concat([readFileSync(index), Buffer.from('more')]));
    expect(succeed(['verify', '--index', longer]).notes)
      .toEqual([expect.stringMatching(/^the last 4 bytes/)]);
    expect(succeed(['search', '--index', longer, '--queries', small]).results)
      .toEqual(succeed(['search', '--index', index, '--queries', small]).results);
  });

  it.each(['hello\n', 'x'.repeat(100_000)])('text is CORRUPT, exit 3', (text) => {
    expect(damaged(text)).toMatchObject({ status: 3, code: 'CORRUPT' });
  });

  const openers = ['info', 'verify', 'recall', 'add', 'remove', 'compact', 'export'];
  it.each(openers)('%s exits 3 and changes nothing', (name) => {
    const bytes = readFileSync(index);
    bytes[70] ^= 4;
    const broken = write('broken.vic', bytes);
    const args = {
      info: [],
      verify: [],
      recall: ['--queries', small, '--truth', TRUTH],
      add: ['--input', small],
      remove: ['--ids', write('ids.txt', '1\n')],
      compact: [],
      export: ['--output', file('never.fvecs')],
    };
    expect(fail([name, '--index', broken, ...args[name]]))
      .toMatchObject({ status: 3, code: 'CORRUPT' });
    expect(readFileSync(broken).equals(bytes)).toBe(true);
    expect(names()).not.toContain('never.fvecs');
  });
});

describe('standard output', () => {
  it('a full device is an error, said on standard error', () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(COMMAND, ['info', '--index', index, '--json'],
      { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
    closeSync(full);
    expect(status).toBe(1);
    expect(stderr).toContain('standard output: No space left on device');
  });

  it('a reader that has gone ends the command quietly', () => {
    const script = `"${COMMAND}" search --index "$1" --queries "$2" -k 1000; echo $? >&2`;
    const words = file('quiet.vic');
    succeed(['build', '--input', BASE, '--output', words]);
    const { stderr } = spawnSync('sh', ['-c', `(${script}) | head -n 1`, 'sh', words, QUERIES],
      { encoding: 'utf8' });
    expect(stderr).toBe('0\n');
  });

  it('closed from the start is an error that writes into no other file', () => {
    const out = file('closed.ivecs');
    const { status, stderr } = spawnSync('sh', ['-c', '"$@" >&-', 'sh', COMMAND, 'search',
      '--index', index, '--queries', small, '-k', '1', '--output', out], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain('standard output');
    expect(readFileSync(out).length).toBe(20 * 8);
  });

  it('without --json holds no error: that is one line on standard error', () => {
    const { status, stdout, stderr } = runCommand(['info', '--index', file('missing.vic')]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^vicinal: .*missing\.vic: No such file or directory\n$/);
  });

  it('a path that is no UTF-8 still gives an object that JSON.parse reads', () => {
    const { status, stdout } = spawnSync('sh', ['-c',
      `"$1" info --json --index "$(printf '\\377')"`, 'sh', COMMAND], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(JSON.parse(stdout).error.code).toBe('IO');
  });
});

it('an index that another process is changing is BUSY', () => {
  writeFileSync(file('busy.vic'), readFileSync(index));
  const script = 'exec 9<"$1"; flock -n 9 && "$2" add --json --index "$1" --input "$3"';
  const { status, stdout } = spawnSync(
    'bash', ['-c', script, 'bash', file('busy.vic'), COMMAND, small], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(JSON.parse(stdout).error.code).toBe('BUSY');
});
