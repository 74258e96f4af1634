// Files of Node that an index lives in; their lock: node_lock.ts.
//
// I1: the descriptor belongs to the realm that claimed the file. Worker threads use its number;
//     Node closes what a thread opened when that ends, and with it the lock would go.
import { VicinalError } from '../errors.js';
import { importNode } from '../platform/environment.js';
import type { SaveTarget } from '../types.js';
import { writeError } from './file_errors.js';
import type { FileTable, OpenFile } from './file_table.js';
import { following, type FileClaim, type FilePlace } from './index_file.js';
import { checkKind, isMissing, nodeSource, pathOf, type FileStat } from './node_file.js';
import { busy, isTaken, kWriterAt, kWriterBytes, lock, lockFlag } from './node_lock.js';

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

/** Each further turn follows a file that got another's name in between. */
const kTurnsMax = 100;

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
      throw error instanceof VicinalError ? error : writeError(path, error);
    }
  }
  throw new VicinalError('BUSY', `${path}: others replace the file again and again`);
}

function toClaim(fs: NodeFs, path: string, fd: number, bytes: number, had: boolean): FileClaim {
  let held = true;
  return {
    spec: { kind: 'node', path, fd },
    bytes,
    async isAt(target: SaveTarget) {
      const named = typeof target === 'string' && !/^file:/i.test(target) ? target
        : await pathOf(target as URL | string).catch(() => undefined);
      if (named === undefined || named.includes('\0')) return false;
      const held = fs.fstatSync(fd, { bigint: true });
      let found: Stat | undefined;
      try {
        found = fs.statSync(named, { bigint: true, throwIfNoEntry: false });
      } catch {
        return false;  // one that cannot be looked at
      }
      return found?.ino === held.ino && found.dev === held.dev;
    },
    async release(unmade: boolean) {
      if (!held) return;
      held = false;  // the number may be another file's from now on
      try {
        if (unmade && !had && bytes === 0) fs.unlinkSync(path);
      } finally {
        fs.closeSync(fd);
      }
    },
  };
}

/** The file, open and locked. */
async function openLocked(fs: NodeFs, path: string, create: boolean): Promise<number> {
  const { O_RDWR, O_CREAT, O_NONBLOCK = 0 } = fs.constants;
  const flags = O_RDWR | O_NONBLOCK | (create ? O_CREAT : 0) | lockFlag();
  let fd: number;
  try {
    fd = fs.openSync(path, flags, 0o666);
  } catch (error) {
    if (isTaken(error)) throw busy(path);
    if (isMissing(error)) throw new VicinalError('IO', `${path}: there is no such file`);
    throw error;
  }
  try {
    checkKind(path, fs.fstatSync(fd, { bigint: true }));
    if (await lock(fd, path)) return fd;
    const said = new Uint8Array(kWriterBytes);
    throw busy(path, said.subarray(0, fs.readSync(fd, said, 0, kWriterBytes, kWriterAt)));
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
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
