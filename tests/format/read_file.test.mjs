// Files that the core's codecs wrote, read by a reader that knows docs/format.md and nothing else.
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readLog } from './read_file.mjs';
import { textOf } from './rows_text.mjs';
import { xxh3 } from './xxh3.mjs';

const folder = fileURLToPath(new URL('../golden/', import.meta.url));
const names = readdirSync(folder).filter((name) => name.endsWith('.vic'))
  .map((name) => name.slice(0, -'.vic'.length));
const fileOf = (name) => new Uint8Array(readFileSync(`${folder}${name}.vic`));

/** The code of what reading the file throws, or undefined. */
function codeOf(bytes) {
  try {
    readLog(bytes);
  } catch (error) {
    return error.code ?? error;
  }
  return undefined;
}

test('there are files to read', () => {
  expect(names).toEqual(expect.arrayContaining(['every_record', 'one_bit', 'empty',
    'journal_strings']));
});

describe.each(names)('%s', (name) => {
  test('has the rows that its writer says', () => {
    expect(textOf(readLog(fileOf(name)))).toBe(readFileSync(`${folder}${name}.rows`, 'utf8'));
  });

  test('says what it is of', () => {
    const bytes = fileOf(name);
    bytes[8] = 4;
    expect(codeOf(bytes)).toBe('CORRUPT');
  });
});

describe('a file that lost what it need not have', () => {
  const whole = () => textOf(readLog(fileOf('every_record')));

  test.each([0, 1])('opens without meta slot %i', (slot) => {
    const bytes = fileOf('every_record');
    bytes.fill(0, 4096 * (slot + 1), 4096 * (slot + 2));
    expect(textOf(readLog(bytes))).toBe(whole());
  });

  test('opens without either, from its first record on', () => {
    const bytes = fileOf('every_record');
    bytes.fill(0xff, 4096, 3 * 4096);
    expect(textOf(readLog(bytes))).toBe(whole());
  });

  test('is cut off at its last whole commit, wherever it ends', () => {
    const bytes = fileOf('every_record');
    const found = new Set();
    for (let length = bytes.length; length >= 16384; length -= 64) {
      const part = bytes.slice(0, length);
      part.fill(0, 4096, 3 * 4096);
      const code = codeOf(part);
      if (code !== undefined) {
        expect(code).toBe('CORRUPT');
        expect(length).toBeLessThan(16384 + 128);
      } else found.add(readLog(part).sequence);
    }
    expect([...found]).toEqual([6, 5, 4, 3, 2, 1, 0]);
  });
});

test('no flipped bit of what a version is made of goes unnoticed', () => {
  const bytes = fileOf('one_bit');
  const whole = textOf(readLog(bytes));
  const step = 13; // every bit of every byte would take minutes
  let noticed = 0;
  for (let at = 0; at < bytes.length; at += step) {
    bytes[at] ^= 1 << at % 8;
    const code = codeOf(bytes);
    if (code === undefined) expect(textOf(readLog(bytes))).toBe(whole);
    else noticed += 1;
    bytes[at] ^= 1 << at % 8;
  }
  // The superblock, and at least one byte of each record.
  expect(noticed).toBeGreaterThan(4096 / step + 5);
});

// [length, seed, sum], from the xxHash library.
const SUMS = [
  [0, 0x0n, 0x2d06800538d394c2n],
  [0, 0x9e3779b97f4a7c15n, 0x602b0e2cd6662c8bn],
  [1, 0x0n, 0xc44bdff4074eecdbn],
  [1, 0x9e3779b97f4a7c15n, 0x062b185e4e01441an],
  [3, 0x0n, 0x32074f6b94585ea5n],
  [3, 0x9e3779b97f4a7c15n, 0x8dd16f3935c3f62dn],
  [4, 0x0n, 0xfdd8c65add01c2fan],
  [4, 0x9e3779b97f4a7c15n, 0x5c6977a00eed9313n],
  [8, 0x0n, 0x622b9451647c902dn],
  [8, 0x9e3779b97f4a7c15n, 0xf830be4148846761n],
  [9, 0x0n, 0x3d978073ee949064n],
  [9, 0x9e3779b97f4a7c15n, 0x9bb9ad820ad1aaadn],
  [16, 0x0n, 0xb666997d87225e9an],
  [16, 0x9e3779b97f4a7c15n, 0x76ed97e8afe7441an],
  [17, 0x0n, 0xb439b53a29247a63n],
  [17, 0x9e3779b97f4a7c15n, 0x6aa985f052b25001n],
  [33, 0x0n, 0x534c710873896361n],
  [33, 0x9e3779b97f4a7c15n, 0xf83f6ba3f73192can],
  [96, 0x0n, 0x695d7d476d6297f9n],
  [96, 0x9e3779b97f4a7c15n, 0x54ddb2e2708dd38dn],
  [128, 0x0n, 0xb19ad7f53a2de2afn],
  [128, 0x9e3779b97f4a7c15n, 0xa5880d273b762536n],
  [129, 0x0n, 0x4979891bca3481f7n],
  [129, 0x9e3779b97f4a7c15n, 0x0ac71601233f91dcn],
  [144, 0x0n, 0xcb83b10f1193fc56n],
  [144, 0x9e3779b97f4a7c15n, 0x80629ec02d2d985an],
  [240, 0x0n, 0x947e21352b67412dn],
  [240, 0x9e3779b97f4a7c15n, 0x4bbd28717c14f4e7n],
  [241, 0x0n, 0x113425ae2609c4e6n],
  [241, 0x9e3779b97f4a7c15n, 0xca561b67ebab27bdn],
  [1024, 0x0n, 0x7f4fa34ab3652065n],
  [1024, 0x9e3779b97f4a7c15n, 0xb9090038f0c6eedbn],
  [1025, 0x0n, 0x5a4ef97c9f849f8bn],
  [1025, 0x9e3779b97f4a7c15n, 0xbefc642d20643bc0n],
  [1088, 0x0n, 0x783b789d0a37b54fn],
  [1088, 0x9e3779b97f4a7c15n, 0x28eb8e1cb9966407n],
  [2600, 0x0n, 0x5984242c0d343f3cn],
  [2600, 0x9e3779b97f4a7c15n, 0xbeff9baaca1bb35en],
];

test('the reader has XXH3 right at each of its lengths', () => {
  const bytes = Uint8Array.from({ length: 2600 }, (_, i) => i * i * 7 + i * 3);
  for (const [length, seed, sum] of SUMS) expect(xxh3(bytes.subarray(0, length), seed)).toBe(sum);
});
