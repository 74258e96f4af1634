// The Spin models of tests/model: each is checked in full, and each broken variant must be refuted.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { capture, inRoot, say } from './process.mjs';

const DEPTH_MAX = 4_000_000;
const MEMORY_MIB_MAX = 4096;

/**
 * Reads the verdict out of pan's report; its exit status says nothing.
 * @returns 'pass', 'fail', or 'incomplete' when the search was cut short.
 */
export function verdict(report) {
  const errors = /\berrors: (\d+)/.exec(report);
  if (!errors) return 'incomplete';
  if (Number(errors[1]) > 0) return 'fail';
  const cut = /max search depth too small|Search not completed|out of memory|reached -DMEMLIM/;
  return cut.test(report) ? 'incomplete' : 'pass';
}

/** Checks one entry of models.json. @returns { ok, text } */
function checkModel({ file, defines = [], expect, cflags = [], pan = [] }, directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  copyFileSync(inRoot('tests', 'model', file), path.join(directory, file));
  const steps = [
    // A define counts only in front of -a.
    ['spin', [...defines.map((name) => `-D${name}`), '-a', file]],
    ['gcc', ['-O2', `-DMEMLIM=${MEMORY_MIB_MAX}`, ...cflags, '-w', '-o', 'pan', 'pan.c']],
    ['./pan', [`-m${DEPTH_MAX}`, ...pan]],
  ];
  let output = '';
  for (const [command, args] of steps) {
    const step = capture(command, args, { cwd: directory });
    output = step.output;
    if (command !== './pan' && step.code !== 0) return { ok: false, text: output };
  }
  const found = verdict(output);
  return { ok: found === expect, text: `${found}, expected ${expect}` };
}

/** Runs every model. @returns { passed, failed, skipped } */
export function runModels() {
  const list = inRoot('tests', 'model', 'models.json');
  const count = { passed: 0, failed: 0, skipped: 0 };
  const models = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
  for (const [index, model] of models.entries()) {
    const { ok, text } = checkModel(model, inRoot('build', 'model', String(index)));
    const name = [model.file, ...(model.defines ?? [])].join(' -D');
    say(`${ok ? 'ok' : 'FAILED'}: ${name}: ${text}`);
    count[ok ? 'passed' : 'failed'] += 1;
  }
  if (models.length === 0) count.failed = 1;
  return count;
}
