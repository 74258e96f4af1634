// What a result is worth nothing without: commit, machine, compiler, seed, command.
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';

function firstLine(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n')[0].trim() : 'unknown';
}

/** The `env` of a result. `seed`: of made data, 0 where the data is real. */
export function environment(command, seed = 0) {
  const changed = firstLine('git', ['status', '--porcelain']) !== '';
  return {
    commit: firstLine('git', ['rev-parse', 'HEAD']) + (changed ? ' and changes' : ''),
    machine: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    kernel: firstLine('uname', ['-sr']),
    compiler: firstLine('g++', ['--version']),
    node: process.version,
    seed,
    command,
  };
}
