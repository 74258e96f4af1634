import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT, installPackage, runProgram, temporaryFolder } from './support/commands.mjs';

const { folder, remove } = temporaryFolder('npm');
let installed;

beforeAll(() => {
  installed = installPackage(folder);
});
afterAll(remove);

it('passes publint', async () => {
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true, pack: false });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

it('ships the built files, the licence and the readme, and no sources or tests', () => {
  const names = readdirSync(installed).sort();
  expect(names).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  const dist = readdirSync(path.join(installed, 'dist'));
  for (const name of ['index.js', 'index.d.ts', 'worker.js', 'vicinal.wasm',
    'vicinal-relaxed.wasm', 'vicinal-scalar.wasm', 'vicinal-single.js', 'vicinal-single.wasm']) {
    expect(dist).toContain(name);
  }
});

it('has no runtime dependencies and no install scripts', () => {
  const manifest = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
  expect(manifest.dependencies ?? {}).toEqual({});
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) {
    expect(manifest.scripts).not.toHaveProperty(name);
  }
});

it('is found by Node under its name and every subpath', () => {
  writeFileSync(path.join(folder, 'use.mjs'), `
    import { VectorIndex } from 'vicinal';
    import { existsSync } from 'node:fs';
    const found = (name) => existsSync(new URL(import.meta.resolve(name)));
    console.log(typeof VectorIndex, found('vicinal/vicinal.wasm'), found('vicinal/worker'));`);
  expect(runProgram('node', ['use.mjs'], { cwd: folder })).toBe('function true true\n');
});

it('has types that a strict consumer compiles against without its own settings', () => {
  writeFileSync(path.join(folder, 'use.ts'), `
    import { VectorIndex, type Hits } from 'vicinal';
    export async function nearest(query: Float32Array): Promise<Hits> {
      const index = await VectorIndex.create({ dim: 4 });
      return index.search(query, { k: 1 });
    }`);
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  for (const module of ['nodenext', 'esnext']) {
    runProgram('node', [compiler, '--noEmit', '--strict', '--target', 'es2022', '--module', module,
      '--moduleResolution', module === 'nodenext' ? 'nodenext' : 'bundler',
      '--lib', 'es2022,esnext.disposable,dom', '--types', '', 'use.ts'], { cwd: folder });
  }
});
