// Running programs for the package tests: a failure shows everything the program printed.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Runs a program to its end. @returns its standard output. @throws with all output if it fails. */
export function runProgram(command, args, { cwd = ROOT, env = {} } = {}) {
  const result = spawnSync(command, args, {
    cwd, env: { ...process.env, ...env }, encoding: 'utf8', maxBuffer: 64 << 20,
  });
  if (result.error) throw result.error;
  if (result.status !== 0) {
    const words = [command, ...args].join(' ');
    throw new Error(`${words}: exit status ${result.status}\n${result.stdout}\n${result.stderr}`);
  }
  return result.stdout;
}

/** A fresh folder outside the repository, and the function that removes it. */
export function temporaryFolder(name) {
  const folder = mkdtempSync(path.join(tmpdir(), `vicinal-${name}-`));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Installs the native library of build/native below prefix. */
export function installNative(prefix) {
  runProgram('cmake', ['--install', path.join(ROOT, 'build', 'native'), '--prefix', prefix]);
}

/** Puts the package as npm would publish it into FOLDER/node_modules/vicinal. */
export function installPackage(folder) {
  const target = path.join(folder, 'node_modules', 'vicinal');
  mkdirSync(target, { recursive: true });
  const packed = JSON.parse(
    runProgram('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]));
  const [{ filename }] = Object.values(packed);
  runProgram('tar', ['-xzf', path.join(folder, filename), '-C', target, '--strip-components=1']);
  return target;
}

/** Builds tests/package/consumer against an installed library. @returns the program's path. */
export function buildConsumer(source, prefix, buildFolder) {
  runProgram('cmake', ['-S', path.join(ROOT, 'tests', 'package', 'consumer'), '-B', buildFolder,
    '-G', 'Ninja', `-DCMAKE_PREFIX_PATH=${prefix}`, `-DCONSUMER_SOURCE=${source}`]);
  runProgram('cmake', ['--build', buildFolder]);
  return path.join(buildFolder, 'consumer');
}
