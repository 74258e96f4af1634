// npm run build [-- native|wasm|types ...]: builds what is stale; without a name, everything.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, Refusal, inRoot, isMain, mustRun, runMain, say } from './lib/process.mjs';
import { setUp } from './setup.mjs';

const JOBS = '2';

/** Whether a CMake cache, if there is one, belongs to this tree. */
function configuredHere(cache) {
  if (!existsSync(cache)) return true;
  const home = /^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$/m.exec(readFileSync(cache, 'utf8'))?.[1];
  return home !== undefined && path.resolve(home) === path.resolve(ROOT);
}

/** Builds one CMake preset in build/DIRECTORY. Ninja reconfigures when a CMake file changed. */
export async function buildPreset(preset, directory = preset) {
  const stamp = inRoot('build', directory, 'preset.stamp');
  const hash = createHash('sha256')
    .update(preset)
    .update(readFileSync(inRoot('CMakePresets.json')))
    .digest('hex');
  // A tree that was copied or moved would go on building in its old place.
  if (!configuredHere(inRoot('build', directory, 'CMakeCache.txt'))) {
    rmSync(inRoot('build', directory), { recursive: true, force: true });
  }
  const configured = existsSync(inRoot('build', directory, 'build.ninja'))
    && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;
  if (!configured) {
    say(`build: configuring ${preset}`);
    await mustRun('cmake', ['--preset', preset, '--log-level=WARNING']);
    writeFileSync(stamp, hash);
  }
  say(`build: ${preset}`);
  await mustRun('cmake', ['--build', '--preset', preset, '-j', JOBS]);
}

/** The command line tool, the library and the native tests: build/native. */
export async function buildNative() {
  await buildPreset(process.env.CI ? 'ci' : 'native', 'native');
}

/** The four WebAssembly modules: dist. `wasm` makes two, from mostly the same objects. */
export async function buildWasm() {
  for (const preset of ['wasm', 'wasm-scalar', 'wasm-single']) await buildPreset(preset);
}

/** Modules that tests/web runs, in build/wasm, which buildWasm has configured. */
export async function buildWasmTests() {
  say('build: wasm-tests');
  await mustRun('cmake', ['--build', '--preset', 'wasm-tests', '-j', JOBS]);
}

/** The TypeScript of web/src: dist. */
export async function buildTypes() {
  say('build: types');
  await mustRun(process.execPath, [inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']);
}

const PARTS = { native: buildNative, wasm: buildWasm, types: buildTypes };

async function main() {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
  if (unknown.length > 0) {
    throw new Refusal(`build: no such part: ${unknown}; known: ${Object.keys(PARTS)}`);
  }
  await setUp();
  for (const name of names.length > 0 ? names : Object.keys(PARTS)) await PARTS[name]();
}

if (isMain(import.meta.url)) await runMain(main);
