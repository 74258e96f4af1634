// The core and the package say the same of the same status.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { queryError, readerError, statusError, writeError } from '../../../dist/errors.js';

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
    // A sentence may depend on whether there is a second number.
    const messages = [0n, 2n].map((b) => statusError({ code, a: 1n, b }).message);
    for (const literal of literalsOf(name)) {
      expect(messages.join('\n')).toContain(literal);
      ++compared;
    }
  }
  expect(compared).toBeGreaterThan(16);
});

test('the options have the same numbers', () => {
  const listed = /kOptionNames\[\] = \{([^}]*)\}/.exec(source)[1].match(/"[^"]*"/g).map(JSON.parse);
  const sameLetters = (name) => name.toLowerCase().replace(/[_. ]/g, '');
  expect(listed.length).toBeGreaterThan(20);
  for (const [option, name] of listed.entries()) {
    if (option === 0) continue;
    const { message } = statusError({ code: 14, a: BigInt(option), b: 0n });
    const named = /^([^:]*): /.exec(message)?.[1] ?? '';
    expect(sameLetters(named)).toBe(sameLetters(name));
  }
  for (const a of [0n, BigInt(listed.length)]) {
    expect(statusError({ code: 14, a, b: 0n }).message).toMatch(/^this build/);
  }
});

test('who knows what a status is of words it more closely, and leaves others alone', () => {
  const busy = { code: 9, a: 7n, b: 9n };
  expect(readerError(busy).message).toMatch(/reader slots .*7 of 9 .*: close /);
  expect(writeError(busy).message).toMatch(/old versions .*7 of 9 bytes.*: close /);
  const notFinite = { code: 2, a: 7n, b: 9n };
  expect(queryError(notFinite, 'the query').message).toMatch(/^coordinate 9 of the query is not/);
  const rewordings = [
    readerError,
    (status) => writeError(status, (row) => `name ${row}`),
    (status) => queryError(status, 'a query'),
  ];
  for (const reword of rewordings) {
    for (let code = 1; code < names.length; ++code) {
      const status = { code, a: 7n, b: 9n };
      expect(reword(status).code).toBe(names[code]);
      if (['BUSY', 'NOT_FINITE', 'DUPLICATE_ID'].includes(names[code])) continue;
      expect(reword(status).message).toBe(statusError(status).message);
    }
  }
  const duplicate = (b) => writeError({ code: 3, a: 7n, b }, (row) => `name ${row}`).message;
  expect(duplicate(0n)).toBe(statusError({ code: 3, a: 7n, b: 0n }).message);
  expect(duplicate(1n)).toMatch(/^id "name 7" is already present/);
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
