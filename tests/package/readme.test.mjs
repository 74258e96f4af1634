// Every example of README.md runs as it is printed there. Convention: a fenced block whose info
// string has file=NAME is an example; the end of NAME says how it is run (see
// support/examples.mjs).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageOf, runPage } from './support/browser.mjs';
import {
  ROOT, buildConsumer, installNative, installPackage, runProgram, temporaryFolder,
} from './support/commands.mjs';
import { examplesOf, runnerOf } from './support/examples.mjs';
import { writeVectors } from './support/vectors.mjs';

const readme = path.join(ROOT, 'README.md');
const examples = existsSync(readme) ? examplesOf(readFileSync(readme, 'utf8')) : [];
const { folder, remove } = temporaryFolder('readme');
const prefix = path.join(folder, 'prefix');
const nodeTypes = path.join(ROOT, 'node_modules', '@types');

const runners = {
  node: (file) => runProgram('node', [file], { cwd: folder }),
  shell: (file) => {
    const PATH = `${path.join(prefix, 'bin')}${path.delimiter}${process.env.PATH}`;
    return runProgram('bash', ['-euo', 'pipefail', file], { cwd: folder, env: { PATH } });
  },
  native: (file) => {
    const source = path.join(folder, file);
    const program = buildConsumer(source, prefix, path.join(folder, `${file}.build`));
    return runProgram(program, [], { cwd: folder });
  },
  types: (file) => {
    const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    runProgram('node', [compiler, '--noEmit', '--strict', '--target', 'es2022', '--module',
      'nodenext', '--lib', 'es2022,esnext.disposable,dom', '--typeRoots', nodeTypes,
      '--types', 'node', file], { cwd: folder });
    return 'compiles';
  },
  browser: async (file) => {
    let page = file;
    if (file.endsWith('.mjs')) {
      page = `${file}.html`;
      writeFileSync(path.join(folder, page), pageOf(file));
    }
    return (await runPage(folder, page)).map((line) => `${line}\n`).join('');
  },
};

beforeAll(() => {
  mkdirSync(prefix);
  installNative(prefix);
  installPackage(folder);
  writeVectors(folder);
  for (const { file, text } of examples) writeFileSync(path.join(folder, file), text);
});
afterAll(remove);

describe('README.md', () => {
  it.each(['node', 'browser', 'native', 'shell'])('has an example for %s', (runner) => {
    expect(examples.map(({ file }) => runnerOf(file))).toContain(runner);
  });

  it.each(examples)('line $line: $file runs', async ({ file, output }) => {
    const run = runners[runnerOf(file)];
    expect(run, 'no runner takes this name').toBeDefined();
    const printed = await run(file);
    expect(printed, 'an example shows a result').not.toBe('');
    if (output !== undefined) expect(printed).toBe(output);
  });
});

describe('the extraction', () => {
  it('takes named blocks only and joins an example with its output', () => {
    const text = ['```js file=a.mjs', 'x', '```', '```sh', 'y', '```', '```text output=a.mjs', 'z',
      '```', ''].join('\n');
    expect(examplesOf(text)).toEqual(
      [{ file: 'a.mjs', language: 'js', text: 'x\n', line: 1, output: 'z\n' }]);
  });

  it('refuses two examples of one name', () => {
    const block = '```js file=a.mjs\nx\n```\n';
    expect(() => examplesOf(block + block)).toThrow('two examples');
  });

  it('fails on an example that fails', () => {
    writeFileSync(path.join(folder, 'broken.mjs'), 'throw new Error("broken example");');
    expect(() => runners.node('broken.mjs')).toThrow('broken example');
    writeFileSync(path.join(folder, 'broken.sh'), 'false | true\n');
    expect(() => runners.shell('broken.sh')).toThrow('exit status');
  });

  it('fails on a page that fails', async () => {
    writeFileSync(path.join(folder, 'broken.browser.mjs'), 'throw new Error("broken page");');
    await expect(runners.browser('broken.browser.mjs')).rejects.toThrow('broken page');
  });

  it('runs pages with SharedArrayBuffer', async () => {
    writeFileSync(path.join(folder, 'isolated.browser.mjs'), 'console.log(crossOriginIsolated);');
    expect(await runners.browser('isolated.browser.mjs')).toBe('true\n');
  });
});
