// Files of Node that an index lives in.
//
// The lock has to end with its holder, however that ends, and native programs have to see it: so it
// is the flock that they take. Node has no call for it. On Linux a flock belongs to the open file,
// not to the process that asks: a child that inherits the open file asks for it and ends (flock(1),
// or perl or python3 where that is missing), and the lock stays until the last descriptor of the
// file is closed, by us or by our end. BSD's and Windows' open() lock by a flag. A lock file with a
// process's number was rejected: natives would not see it, numbers are given again, and who
// removes a stale one races with others who do.
//
// I1: the descriptor belongs to the realm that claimed the file. Worker threads use its number;
//     Node closes what a thread opened when that ends, and with it the lock would go.
import { VicinalError } from '../errors.js';
import { importNode } from '../platform/environment.js';
import type { SaveTarget } from '../types.js';
import { ioError } from './byte_source.js';
import type { FileTable, OpenFile } from './file_table.js';
import { following, type FileClaim, type FilePlace } from './index_file.js';
import { checkKind, isMissing, nodeSource, pathOf, type FileStat } from './node_file.js';

interface Stat extends Pick<FileStat, 'isFile' | 'isDirectory'> {
  readonly size: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
}

interface NodeFs {
  readonly constants: { readonly O_RDONLY: number; readonly O_RDWR: number;
    readonly O_CREAT: number; readonly O_NONBLOCK?: number; };
  openSync(path: string, flags: number, mode?: number): number;
  closeSync(fd: number): void;
  fstatSync(fd: number, options: { bigint: true }): Stat;
  statSync(path: string, options: { bigint: true; throwIfNoEntry: false }): Stat | undefined;
  readSync(fd: number, to: Uint8Array, offset: number, length: number, position: number): number;
  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number): number;
  fdatasyncSync(fd: number): void;
  ftruncateSync(fd: number, bytes: number): void;
  unlinkSync(path: string): void;
}

interface Child {
  once(event: 'error', listener: (error: unknown) => void): void;
  once(event: 'exit', listener: (code: number | null) => void): void;
}

interface ChildProcesses {
  spawn(command: string, args: readonly string[], options: object): Child;
}

/** Each further turn follows a file that got another's name in between. */
const kTurnsMax = 100;
/** Of the live page, where a writer says which process it is: docs/format.md. */
const kWriterAt = 12288 + 24;
/** Descriptor 3 of the child is the file: 0 locked, 1 somebody else has it. */
const kLockers: readonly (readonly [string, readonly string[]])[] = [
  ['flock', ['-n', '-x', '3']],
  ['perl', ['-e', 'open(my $f, "+<&=", 3) or exit 2; exit(flock($f, 6) ? 0 : 1)']],
  ['python3', ['-c', 'import fcntl, sys\ntry: fcntl.flock(3, 6)\nexcept OSError: sys.exit(1)']],
];
/** open() of these platforms locks by a flag; what it says when somebody else has the file. */
const kLockFlags: Record<string, { readonly flag: number; readonly busy: string }> = {
  darwin: { flag: 0x20, busy: 'EAGAIN' },
  freebsd: { flag: 0x20, busy: 'EAGAIN' },
  openbsd: { flag: 0x20, busy: 'EAGAIN' },
  win32: { flag: 0x1000_0000, busy: 'EBUSY' },
};

const fsModule = (): Promise<NodeFs> => importNode<NodeFs>('fs');

export function nodePlace(path: string): FilePlace {
  return {
    async head() {
      const source = await nodeSource(path);
      try {
        return source && (await source.next() ?? new Uint8Array(0));
      } finally {
        await source?.cancel();
      }
    },
    claim: (create) => claim(path, create),
    async follow() {
      const stat = (await fsModule()).statSync(path, { bigint: true, throwIfNoEntry: false });
      return following({ kind: 'node reading', path }, Number(stat?.size ?? 0));
    },
  };
}

async function claim(path: string, create: boolean): Promise<FileClaim> {
  const fs = await fsModule();
  const had = fs.statSync(path, { bigint: true, throwIfNoEntry: false }) !== undefined;
  for (let turn = 0; turn < kTurnsMax; ++turn) {
    let fd: number | undefined;
    try {
      fd = await openLocked(fs, path, create);
      const held = fs.fstatSync(fd, { bigint: true });
      const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
      if (found?.ino === held.ino && found.dev === held.dev) {
        return toClaim(fs, path, fd, Number(held.size), had);
      }
      fs.closeSync(fd);
    } catch (error) {
      if (fd !== undefined) fs.closeSync(fd);
      throw error instanceof VicinalError ? error : ioError(path, error);
    }
  }
  throw new VicinalError('BUSY', `${path}: others replace the file again and again`);
}

function toClaim(fs: NodeFs, path: string, fd: number, bytes: number, had: boolean): FileClaim {
  return {
    spec: { kind: 'node', path, fd },
    bytes,
    async isAt(target: SaveTarget) {
      const named = typeof target === 'string' && !/^file:/i.test(target) ? target
        : await pathOf(target as URL | string).catch(() => undefined);
      if (named === undefined || named.includes('\0')) return false;
      const found = fs.statSync(named, { bigint: true, throwIfNoEntry: false });
      const held = fs.fstatSync(fd, { bigint: true });
      return found?.ino === held.ino && found.dev === held.dev;
    },
    async release(unmade: boolean) {
      if (unmade && !had && bytes === 0) fs.unlinkSync(path);
      fs.closeSync(fd);
    },
  };
}

/** The file, open and locked. */
async function openLocked(fs: NodeFs, path: string, create: boolean): Promise<number> {
  const { platform } = (globalThis as unknown as { process: { platform: string } }).process;
  const locks = kLockFlags[platform];
  const { O_RDWR, O_CREAT, O_NONBLOCK = 0 } = fs.constants;
  const flags = O_RDWR | O_NONBLOCK | (create ? O_CREAT : 0) | (locks?.flag ?? 0);
  let fd: number;
  try {
    fd = fs.openSync(path, flags, 0o666);
  } catch (error) {
    if ((error as { code?: unknown }).code === locks?.busy) throw busy(path, 0);
    if (isMissing(error)) throw new VicinalError('IO', `${path}: there is no such file`);
    throw error;
  }
  try {
    checkKind(path, fs.fstatSync(fd, { bigint: true }));
    if (locks || await lock(fd, path)) return fd;
    throw busy(path, writerOf(fs, fd));
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

async function lock(fd: number, path: string): Promise<boolean> {
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

/** Who says in the file that it has it. */
function writerOf(fs: NodeFs, fd: number): number {
  const bytes = new Uint8Array(8);
  if (fs.readSync(fd, bytes, 0, 8, kWriterAt) !== 8) return 0;
  return Number(new DataView(bytes.buffer).getBigUint64(0, true));
}

function busy(path: string, writer: number): VicinalError {
  const { pid } = (globalThis as unknown as { process: { pid: number } }).process;
  const who = writer === 0 ? 'somebody else has' : writer === pid
    ? `this process (${pid}) has` : `process ${writer} has`;
  return new VicinalError('BUSY', `${path}: ${who} the file open for writing`);
}

/** The descriptor under that path; it stays its owner's. */
export async function addNodeFile(table: FileTable, path: string, fd: number): Promise<void> {
  table.add(path, openFile(await fsModule(), fd));
}

/** The file of that name, each time it is opened. */
export async function addNodeReading(table: FileTable, path: string): Promise<void> {
  const fs = await fsModule();
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
  table.addOpener(path, () => {
    const fd = fs.openSync(path, O_RDONLY | O_NONBLOCK);
    return { ...openFile(fs, fd), close: () => fs.closeSync(fd) };
  });
}

function openFile(fs: NodeFs, fd: number): OpenFile {
  return {
    size: () => Number(fs.fstatSync(fd, { bigint: true }).size),
    read: (to, position) => fs.readSync(fd, to, 0, to.length, position),
    write: (from, position) => fs.writeSync(fd, from, 0, from.length, position),
    sync: () => fs.fdatasyncSync(fd),
    truncate: (bytes) => fs.ftruncateSync(fd, bytes),
    close: () => undefined,
  };
}
