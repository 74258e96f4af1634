// The lock of a file of Node: who has it writes there.
//
// It has to end with its holder, however that ends, and native programs have to see it: so it is
// the flock that they take. Node has no call for it. On Linux a flock belongs to the open file, not
// to the process that asks: a child that inherits the open file asks for it and ends (flock(1), or
// perl or python3 where that is missing), and the lock stays until the last descriptor of the file
// is closed, by us or by our end. BSD's and Windows' open() lock by a flag. A lock file with a
// process's number was rejected: natives would not see it, numbers are given again, and who
// removes a stale one races with others who do.
import { VicinalError } from '../errors.js';
import { importNode } from '../platform/environment.js';

interface Child {
  once(event: 'error', listener: (error: unknown) => void): void;
  once(event: 'exit', listener: (code: number | null) => void): void;
}

interface ChildProcesses {
  spawn(command: string, args: readonly string[], options: object): Child;
}

/** Of the live page, where a writer says which process it is: docs/format.md. */
export const kWriterAt = 12288 + 24;
export const kWriterBytes = 8;
/** What lies there in a file that is no log may be anything. */
const kProcessMax = 2 ** 32;
/** Descriptor 3 of the child is the file, open for reading or more: 0 locked, 1 it is taken. */
const kLockers: readonly (readonly [string, readonly string[]])[] = [
  ['flock', ['-n', '-x', '3']],
  ['perl', ['-e', 'open(my $f, "<&=", 3) or exit 2; exit(flock($f, 6) ? 0 : 1)']],
  ['python3', ['-c', 'import fcntl, sys\ntry: fcntl.flock(3, 6)\nexcept OSError: sys.exit(1)']],
];
/** open() of these platforms locks by a flag; what it says when somebody else has the file. */
const kLockFlags: Record<string, { readonly flag: number; readonly busy: string }> = {
  darwin: { flag: 0x20, busy: 'EAGAIN' },
  freebsd: { flag: 0x20, busy: 'EAGAIN' },
  openbsd: { flag: 0x20, busy: 'EAGAIN' },
  win32: { flag: 0x1000_0000, busy: 'EBUSY' },
};

function thisProcess(): { readonly pid: number; readonly platform: string } {
  return (globalThis as unknown as { process: { pid: number; platform: string } }).process;
}

/** What open() is to be told so that it locks; 0: `lock` does. */
export function lockFlag(): number {
  return kLockFlags[thisProcess().platform]?.flag ?? 0;
}

/** Whether an open() with lockFlag said by this that somebody else has the file. */
export function isTaken(error: unknown): boolean {
  const said = kLockFlags[thisProcess().platform]?.busy;
  return said !== undefined && (error as { code?: unknown } | null)?.code === said;
}

/** A name cannot be given to another file while this one is open and locked. */
export function locksName(): boolean {
  return thisProcess().platform === 'win32';
}

/** Of an open file, which was opened with lockFlag: whether it is locked. UNSUPPORTED. */
export async function lock(fd: number, path: string): Promise<boolean> {
  if (lockFlag() !== 0) return true;
  const { spawn } = await importNode<ChildProcesses>('child_process');
  for (const [command, args] of kLockers) {
    const code = await new Promise<number | null>((resolve) => {
      const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore', fd] });
      child.once('error', () => resolve(null));
      child.once('exit', resolve);
    });
    if (code === 0 || code === 1) return code === 0;
  }
  throw new VicinalError('UNSUPPORTED', `${path}: no way to lock the file was found: writing to it`
    + ' needs the command flock, perl or python3');
}

/** BUSY; `said`: what the file has at kWriterAt, as far as it goes. */
export function busy(path: string, said: Uint8Array = new Uint8Array(0)): VicinalError {
  const writer = said.length < kWriterBytes ? 0
    : Number(new DataView(said.buffer, said.byteOffset).getBigUint64(0, true));
  const { pid } = thisProcess();
  const who = writer === pid ? `this process (${pid}) has`
    : writer > 0 && writer < kProcessMax ? `process ${writer} has` : 'somebody else has';
  return new VicinalError('BUSY', `${path}: ${who} the file open for writing`);
}
