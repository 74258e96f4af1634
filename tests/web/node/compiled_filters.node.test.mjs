// Which filters a reader keeps compiled.
import { expect, test } from 'vitest';
import { VicinalError } from '../../../dist/errors.js';
import { CompiledFilters, kCompiledMax } from '../../../dist/read/compiled_filters.js';
import { range } from '../support/random.mjs';

const kReader = 64;
const requestOf = (filter, prepared = true) => ({ filter, prepared });

/** A core with room for `room` filters. */
class Core {
  live = new Map();
  compiled = 0;
  room = Infinity;

  compileFilter(reader, words) {
    expect(reader).toBe(kReader);
    if (this.live.size >= this.room) throw new VicinalError('FULL', 'no memory');
    this.live.set(++this.compiled, words);
    return this.compiled;
  }

  releaseFilter(reader, handle) {
    expect(reader).toBe(kReader);
    expect(this.live.delete(handle)).toBe(true);
  }
}

test('the ones used last are kept, each compiled once', () => {
  const core = new Core();
  const filters = new CompiledFilters(core);
  const words = range(kCompiledMax + 1).map(() => new Uint32Array(2));
  const of = (i) => core.live.get(filters.of(kReader, requestOf(words[i])));
  for (let round = 0; round < 3; ++round) {
    for (let i = 0; i < kCompiledMax; ++i) expect(of(i)).toBe(words[i]);
  }
  expect(core.compiled).toBe(kCompiledMax);
  expect(of(0)).toBe(words[0]);              // now 1 is the one that was not used for the longest
  expect(of(kCompiledMax)).toBe(words[kCompiledMax]);
  expect(core.live.size).toBe(kCompiledMax);
  expect([...core.live.values()]).not.toContain(words[1]);
  expect(of(0)).toBe(words[0]);
  expect(core.compiled).toBe(kCompiledMax + 1);
  expect(of(1)).toBe(words[1]);
  expect(core.compiled).toBe(kCompiledMax + 2);
});

test('lists are not compiled, and no filter is none', () => {
  const core = new Core();
  const filters = new CompiledFilters(core);
  expect(filters.of(kReader, requestOf(new Uint32Array(2), false))).toBe(0);
  expect(filters.of(kReader, requestOf(undefined))).toBe(0);
  expect(core.compiled).toBe(0);
});

test('without memory the others make room; what does not fit alone is FULL', () => {
  const core = new Core();
  const filters = new CompiledFilters(core);
  core.room = 3;
  for (let i = 0; i < 20; ++i) {
    const words = new Uint32Array(2);
    expect(core.live.get(filters.of(kReader, requestOf(words)))).toBe(words);
  }
  core.room = 0;
  for (let i = 0; i < 2; ++i) {
    expect(() => filters.of(kReader, requestOf(new Uint32Array(2))))
      .toThrow(expect.objectContaining({ code: 'FULL' }));
    expect(core.live.size).toBe(0);
  }
  core.room = 1;
  const words = new Uint32Array(2);
  expect(core.live.get(filters.of(kReader, requestOf(words)))).toBe(words);
});
