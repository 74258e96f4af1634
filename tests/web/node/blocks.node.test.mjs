// The mirror of the boundary's blocks refuses a module of another layout.
import { expect, test } from 'vitest';
import { checkAbi, kAbiVersion, kLayout } from '../../../dist/backend/blocks.js';

const kTable = 64;
const kNames = 4096;
const refused = expect.objectContaining({ code: 'VERSION' });

/** A memory with a table as vic_block_layout has it. */
function memoryWith(entries) {
  const bytes = new Uint8Array(16384);
  const words = new Uint32Array(bytes.buffer);
  let at = kNames;
  for (const [i, entry] of entries.entries()) {
    const [name, offset] = entry.split(' ');
    words.set([at, Number(offset)], kTable / 4 + 2 * i);
    bytes.set(new TextEncoder().encode(name), at);
    at += name.length + 1;
  }
  return bytes.buffer;
}

const check = (entries, version = kAbiVersion) => () =>
  checkAbi(version, memoryWith(entries), kTable);

test('the layout of this version is taken, another version is not', () => {
  expect(check(kLayout)).not.toThrow();
  expect(check(kLayout, kAbiVersion + 1)).toThrow(refused);
});

test('a table with any field elsewhere is VERSION', () => {
  expect(kLayout.length).toBeGreaterThan(50);
  for (const [i, entry] of kLayout.entries()) {
    const [name, offset] = entry.split(' ');
    const moved = [...kLayout];
    moved[i] = `${name} ${Number(offset) + 4}`;
    expect(check(moved)).toThrow(refused);
  }
});

test('a table with the names of any two neighbours swapped is VERSION', () => {
  for (let i = 0; i + 1 < kLayout.length; ++i) {
    const [a, at] = kLayout[i].split(' ');
    const [b, bt] = kLayout[i + 1].split(' ');
    if (a === b) continue;
    const swapped = [...kLayout];
    swapped.splice(i, 2, `${b} ${at}`, `${a} ${bt}`);
    expect(check(swapped)).toThrow(refused);
  }
});

test('a shorter or longer table is VERSION, and so is an address that is none', () => {
  expect(check(kLayout.slice(1))).toThrow(refused);
  expect(check(kLayout.slice(0, -1))).toThrow(refused);
  expect(check([...kLayout, 'more 4'])).toThrow(refused);
  expect(check([])).toThrow(refused);
  for (const address of [0, 16380, 16384, 2 ** 32 - 4]) {
    expect(() => checkAbi(kAbiVersion, memoryWith(kLayout), address)).toThrow(refused);
  }
  expect(() => checkAbi(kAbiVersion, new Uint8Array(16384).fill(255).buffer, 64)).toThrow(refused);
});
