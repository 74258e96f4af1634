// Running other programs, and saying in one line what is being done.
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** An error whose message is all the user needs: no stack is shown for it. */
export class Refusal extends Error {}

export function say(line) {
  console.log(line);
}

/** @returns an absolute path inside the repository. */
export function inRoot(...parts) {
  return path.join(ROOT, ...parts);
}

/**
 * Runs a program, its output passed through.
 * @returns its exit status; 127 when it could not be started.
 */
export function run(command, args, { env = {}, cwd = ROOT } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'inherit' });
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(127);
    });
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** As run, but a failure ends the script with one line. */
export async function mustRun(command, args, options) {
  const code = await run(command, args, options);
  if (code !== 0) throw new Refusal(`failed (${code}): ${command} ${args.join(' ')}`);
}

/** Runs a program silently. @returns { code, output }: standard output and error together. */
export function capture(command, args, { env = {}, cwd = ROOT } = {}) {
  const result = spawnSync(command, args, {
    cwd, env: { ...process.env, ...env }, encoding: 'utf8', maxBuffer: 64 << 20,
  });
  if (result.error) return { code: 127, output: result.error.message };
  return { code: result.status ?? 1, output: result.stdout + result.stderr };
}

/** Runs main, prints a Refusal as one line, and sets the exit status. */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Refusal ? error.message : error);
    process.exitCode = 1;
  }
}

/** Whether the module with this import.meta.url is the program that was started. */
export function isMain(url) {
  return process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(url);
}
