import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  ROOT, buildConsumer, installNative, runProgram, temporaryFolder,
} from './support/commands.mjs';

const { folder, remove } = temporaryFolder('library');
const prefix = path.join(folder, 'moved');
const source = path.join(ROOT, 'tests', 'package', 'consumer', 'main.cpp');

// Installed in one place and moved to another: nothing may remember the first.
beforeAll(() => {
  installNative(path.join(folder, 'first'));
  renameSync(path.join(folder, 'first'), prefix);
});
afterAll(remove);

it('installs the public headers, the library and the command, and no internal header', () => {
  const include = path.join(prefix, 'include', 'vicinal');
  for (const header of ['vicinal.hpp', 'vicinal.h', 'status.hpp', 'types.hpp']) {
    expect(existsSync(path.join(include, header)), header).toBe(true);
  }
  expect(existsSync(path.join(prefix, 'include', 'base'))).toBe(false);
  expect(existsSync(path.join(prefix, 'bin', 'vicinal'))).toBe(true);
});

it('builds a consumer through find_package after the installation was moved', () => {
  const program = buildConsumer(source, prefix, path.join(folder, 'cmake'));
  expect(runProgram(program, [])).toBe('nearest 8\n');
});

it('builds a consumer through pkg-config', () => {
  const libraries = path.join(prefix, 'lib', 'pkgconfig');
  const flags = runProgram('pkg-config', ['--cflags', '--libs', '--static', 'vicinal'],
    { env: { PKG_CONFIG_PATH: libraries } }).trim().split(/\s+/);
  const build = path.join(folder, 'pkg-config');
  mkdirSync(build);
  copyFileSync(source, path.join(build, 'main.cpp'));
  runProgram('g++', ['-std=c++20', '-o', 'consumer', 'main.cpp', ...flags], { cwd: build });
  expect(runProgram(path.join(build, 'consumer'), [])).toBe('nearest 8\n');
});

it('has a C header that a C compiler accepts without a warning', () => {
  const user = path.join(folder, 'user.c');
  writeFileSync(user, '#include <vicinal/vicinal.h>\nint main(void) { return 0; }\n');
  runProgram('gcc', ['-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only',
    '-I', path.join(prefix, 'include'), user]);
});
