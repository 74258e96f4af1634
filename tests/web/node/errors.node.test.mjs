// The core and the package say the same of the same status.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { statusError } from '../../../dist/errors.js';

const source = await readFile(
  new URL('../../../core/base/status.cpp', import.meta.url), 'utf8');
const names = /kCodeNames\[\] = \{([^}]*)\}/.exec(source)[1].match(/\w+/g);

/** The literals of a code's sentence in the core. */
function literalsOf(name) {
  const cases = new RegExp(`case Code::${name.toLowerCase()}:([^;]*);`).exec(source);
  return cases[1].match(/"(?:\\.|[^"\\])*"/g)?.map((text) => JSON.parse(text)) ?? [];
}

test('the codes have the same numbers', () => {
  expect(names).toHaveLength(17);
  for (const [code, name] of names.entries()) {
    if (code === 0) continue;
    expect(statusError({ code, a: 1n, b: 2n }).code).toBe(name);
  }
});

test('every sentence has the words of the core\'s', () => {
  let compared = 0;
  for (const [code, name] of names.entries()) {
    if (code === 0) continue;
    const { message } = statusError({ code, a: 1n, b: 2n });
    for (const literal of literalsOf(name)) {
      expect(message).toContain(literal);
      ++compared;
    }
  }
  expect(compared).toBeGreaterThan(16);
});

test('limits and options are worded alike', () => {
  const [asked, of, inUse] = [' asked for)', ' of ', ' in use)'];
  for (const literal of [asked, of, inUse]) expect(source).toContain(`"${literal}"`);
  expect(statusError({ code: 10, a: 7n, b: 0n }).message).toMatch(/ \(7 asked for\)$/);
  expect(statusError({ code: 10, a: 7n, b: 9n }).message).toMatch(/ \(7 of 9 in use\)$/);
  expect(source).toContain(' is outside its documented range');
  const { message } = statusError({ code: 6, a: 3n, b: 0n });
  expect(message).toBe('bits is outside its documented range');
});
