// The Spin models of tests/model: each is checked in full, and each broken variant must be refuted.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { inRoot, say } from './process.mjs';

const DEPTH_MAX = 4_000_000;
const MEMORY_MIB_MAX = 4096;
const JOBS = 2;

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

/** Runs a program silently. @returns { ok, output }: standard output and error together. */
function capture(command, args, cwd) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ ok: error === null, output: stdout + stderr });
    });
  });
}

/** Checks one entry of models.json. @returns { ok, text } */
async function checkModel({ file, defines = [], expect, cflags = [], pan = [] }, directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  copyFileSync(inRoot('tests', 'model', file), path.join(directory, file));
  const steps = [
    // A define counts only in front of -a.
    ['spin', [...defines.map((name) => `-D${name}`), '-a', file]],
    ['gcc', ['-O1', `-DMEMLIM=${MEMORY_MIB_MAX}`, ...cflags, '-w', '-o', 'pan', 'pan.c']],
    ['./pan', [`-m${DEPTH_MAX}`, ...pan]],
  ];
  let output = '';
  for (const [command, args] of steps) {
    const step = await capture(command, args, directory);
    output = step.output;
    if (command !== './pan' && !step.ok) return { ok: false, text: output };
  }
  const found = verdict(output);
  return { ok: found === expect, text: `${found}, expected ${expect}` };
}

/** Runs every model. @returns { passed, failed, skipped } */
export async function runModels() {
  const list = inRoot('tests', 'model', 'models.json');
  const count = { passed: 0, failed: 0, skipped: 0 };
  const models = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
  const waiting = [...models.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, model] = next;
      const { ok, text } = await checkModel(model, inRoot('build', 'model', String(index)));
      const name = [model.file, ...(model.defines ?? [])].join(' -D');
      say(`${ok ? 'ok' : 'FAILED'}: ${name}: ${text}`);
      count[ok ? 'passed' : 'failed'] += 1;
    }
  };
  await Promise.all(Array.from({ length: JOBS }, work));
  if (models.length === 0) count.failed = 1;
  return count;
}
