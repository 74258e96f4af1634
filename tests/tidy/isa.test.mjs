// An object compiled for AVX2 must define nothing that the linker may share: of two copies of an
// inline function it keeps one, and if that is the AVX2 copy, every caller needs AVX2.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './files.mjs';

const OBJECTS = path.join(ROOT, 'build', 'native', 'core', 'CMakeFiles', 'vicinal_simd_objects.dir',
  'simd');
const FOLDERS = { x64: ['avx2', 'avx512'], arm64: ['neon'] }[process.arch] ?? [];

/**
 * The weak and unique symbols of nm's output. What lies in the target's own namespace has no other
 * copy, and the exception handler's reference is data.
 */
function sharedSymbols(output, folder) {
  const own = `vicinal::simd::${folder}::`;
  return output.split('\n').filter((line) => {
    const name = /^\S+ [WVu] (.*)$/.exec(line)?.[1];
    return name !== undefined && name !== 'DW.ref.__gxx_personality_v0'
      && !name.split('(')[0].includes(own);
  });
}

describe.each(FOLDERS)('simd/%s', (folder) => {
  it('defines no function that other code could be given', () => {
    const directory = path.join(OBJECTS, folder);
    const objects = existsSync(directory)
      ? readdirSync(directory).filter((name) => name.endsWith('.o')) : [];
    expect(objects).not.toEqual([]);
    for (const object of objects) {
      const { stdout, status } = spawnSync(
        'nm', ['-C', '--defined-only', path.join(directory, object)], { encoding: 'utf8' });
      expect(status).toBe(0);
      expect(sharedSymbols(stdout, folder), object).toEqual([]);
    }
  });
});

it('sees a shared symbol where there is one', () => {
  const theirs = '0000 W std::vector<int>::size(vicinal::simd::avx2::A)';
  const own = '0000 W long vicinal::simd::avx2::code_dot<1u>(int)';
  const output = `0000 T kernel\n${theirs}\n${own}\n     w __gmon_start__\n`;
  expect(sharedSymbols(output, 'avx2')).toEqual([theirs]);
});
