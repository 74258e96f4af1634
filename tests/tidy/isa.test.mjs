// An object compiled for AVX2 must define nothing that the linker may share: of two copies of an
// inline function it keeps one, and if that is the AVX2 copy, every caller needs AVX2.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './files.mjs';

const OBJECTS = path.join(ROOT, 'build/native/core/CMakeFiles/vicinal_simd_objects.dir/simd');
const FOLDERS = process.arch === 'x64' ? ['avx2', 'avx512'] : [];

/** Symbols of nm's output that are weak or unique: W, V and u, but not undefined weak ones (w, v). */
function sharedSymbols(output) {
  return output.split('\n').filter((line) => /^\S+ [WVu] /.test(line));
}

describe.each(FOLDERS)('simd/%s', (folder) => {
  it('defines no function that other code could be given', () => {
    const directory = path.join(OBJECTS, folder);
    const objects = existsSync(directory)
      ? readdirSync(directory).filter((name) => name.endsWith('.o')) : [];
    expect(objects).not.toEqual([]);
    for (const object of objects) {
      const { stdout, status } = spawnSync('nm', ['-C', '--defined-only', path.join(directory, object)],
        { encoding: 'utf8' });
      expect(status).toBe(0);
      expect(sharedSymbols(stdout), object).toEqual([]);
    }
  });
});

it('sees a shared symbol where there is one', () => {
  const output = '0000 T kernel\n0000 W std::vector<int>::~vector()\n     w __gmon_start__\n';
  expect(sharedSymbols(output)).toEqual(['0000 W std::vector<int>::~vector()']);
});
