// Files of Node: read in slices; written beside the old file, which the new one replaces in one
// step.
//
// I1: until the rename the old file is as it was; after it the new one is whole and on the disk.
// I2: a temporary file that is given up is removed. A process that ends before leaves one behind,
//     under a name that ends in .tmp.
// I3: a file that somebody writes to is not replaced, who would go on in one without a name: its
//     lock is taken before, and kept until the name leads to the new file.
import { VicinalError } from '../errors.js';
import { importNode } from '../platform/environment.js';
import { ioError, type ByteSource } from './byte_source.js';
import type { ByteSink } from './byte_sink.js';
import { writeError } from './file_errors.js';
import {
  busy, isTaken, kWriterAt, kWriterBytes, lock, lockFlag, locksName,
} from './node_lock.js';

export interface FileStat {
  readonly mode: number;
  readonly size: number;
  readonly dev: number;
  readonly ino: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

interface FileHandle {
  readonly fd: number;
  stat(): Promise<FileStat>;
  read(buffer: Uint8Array, offset: number, length: number, position: number):
    Promise<{ bytesRead: number }>;
  write(buffer: Uint8Array, offset: number, length: number, position: number):
    Promise<{ bytesWritten: number }>;
  chmod(mode: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface FileSystem {
  readonly constants: { readonly O_RDONLY: number; readonly O_NONBLOCK?: number };
  open(path: string, flags: string | number, mode?: number): Promise<FileHandle>;
  stat(path: string): Promise<FileStat>;
  realpath(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
}

const kSliceBytes = 2 ** 20;
/** Each further turn follows a file that another took the place of in between. */
const kTurnsMax = 100;

const fileSystem = (): Promise<FileSystem> => importNode<FileSystem>('fs/promises');

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null | undefined)?.code;
}

/** The path of a file URL. */
export async function pathOf(url: URL | string): Promise<string> {
  const { fileURLToPath } =
    await importNode<{ fileURLToPath(url: URL | string): string }>('url');
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new VicinalError('BAD_OPTION', `${url}: is the URL of no file`, { cause });
  }
}

export function checkKind(path: string, stat: Pick<FileStat, 'isFile' | 'isDirectory'>): void {
  if (stat.isFile()) return;
  throw new VicinalError('IO', `${path}: is ${stat.isDirectory() ? 'a directory' : 'no file'}`);
}

/** IO; undefined when there is no such file. */
export async function nodeSource(path: string): Promise<ByteSource | undefined> {
  const fs = await fileSystem();
  let file: FileHandle;
  try {
    // Without waiting for the other end of a pipe.
    file = await fs.open(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw ioError(path, cause);
  }
  try {
    const stat = await file.stat();
    checkKind(path, stat);
    return sourceOf(file, path, stat.size);
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error instanceof VicinalError ? error : ioError(path, error);
  }
}

function sourceOf(file: FileHandle, path: string, size: number): ByteSource {
  const buffer = new Uint8Array(Math.min(kSliceBytes, size));
  let at = 0;
  return {
    totalBytes: size,
    async next() {
      if (at >= size) return undefined;
      try {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
        at += bytesRead;
        return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead);
      } catch (cause) {
        throw ioError(path, cause);
      }
    },
    cancel: () => file.close(),
  };
}

/**
 * IO, FULL, BUSY naming who writes to the file that is there. A symbolic link keeps its place, a
 * file that is replaced its permissions.
 */
export async function nodeSink(path: string): Promise<ByteSink> {
  const fs = await fileSystem();
  let held: FileHandle | undefined;
  try {
    const target = await fs.realpath(path).catch((error: unknown) => {
      if (isMissing(error)) return path;
      throw error;
    });
    const before = await statOf(fs, target);
    if (before) {
      checkKind(path, before);
      held = await hold(fs, path, target);
    }
    const temporary = `${target}.${crypto.getRandomValues(new Uint32Array(2)).join('-')}.tmp`;
    const file = await fs.open(temporary, 'wx', 0o666);
    const sink = new NodeSink(fs, file, temporary, target, held);
    try {
      if (before) await file.chmod(before.mode & 0o7777);
    } catch (error) {
      await sink.abandon();
      throw error;
    }
    return sink;
  } catch (error) {
    await held?.close().catch(() => undefined);
    throw error instanceof VicinalError ? error : writeError(path, error);
  }
}

function statOf(fs: FileSystem, path: string): Promise<FileStat | undefined> {
  return fs.stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}

/**
 * The file there, locked; undefined for one that we may not look at, or when there is no way to
 * lock it: then nobody can be asked. BUSY.
 */
async function hold(
  fs: FileSystem, path: string, target: string,
): Promise<FileHandle | undefined> {
  for (let turn = 0; turn < kTurnsMax; ++turn) {
    const file = await openLocked(fs, path, target);
    if (!file) return undefined;
    try {
      const held = await file.stat();
      const found = await statOf(fs, target);
      if (found?.ino === held.ino && found.dev === held.dev) return file;
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
    await file.close().catch(() => undefined);
  }
  throw new VicinalError('BUSY', `${path}: others replace the file again and again`);
}

async function openLocked(
  fs: FileSystem, path: string, target: string,
): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
  let file: FileHandle;
  try {
    file = await fs.open(target, O_RDONLY | O_NONBLOCK | lockFlag());
  } catch (error) {
    if (isTaken(error)) throw busy(path);
    return undefined;
  }
  let locked: boolean | undefined;
  let told: Uint8Array | undefined;
  try {
    locked = await lock(file.fd, path);
    if (locked) return file;
    const said = new Uint8Array(kWriterBytes);
    told = said.subarray(0, (await file.read(said, 0, kWriterBytes, kWriterAt)).bytesRead);
  } catch { /* told below */ }
  await file.close().catch(() => undefined);
  if (locked === false) throw busy(path, told);
  return undefined;
}

class NodeSink implements ByteSink {
  readonly #fs: FileSystem;
  readonly #file: FileHandle;
  readonly #temporary: string;
  readonly #target: string;
  /** The file that is replaced. */
  #held: FileHandle | undefined;
  #renamed = false;

  constructor(
    fs: FileSystem, file: FileHandle, temporary: string, target: string,
    held: FileHandle | undefined,
  ) {
    this.#held = held;
    this.#fs = fs;
    this.#file = file;
    this.#temporary = temporary;
    this.#target = target;
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const copy = new Uint8Array(bytes);
    try {
      for (let at = 0; at < copy.length;) {
        const { bytesWritten } = await this.#file.write(copy, at, copy.length - at, offset + at);
        at += bytesWritten;
      }
    } catch (cause) {
      throw writeError(this.#target, cause);
    }
  }

  async commit(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#file.close();
      if (locksName()) await this.#letGo();
      await this.#fs.rename(this.#temporary, this.#target);
      this.#renamed = true;
      await this.#letGo();
      await this.#syncDirectory();
    } catch (cause) {
      throw writeError(this.#target, cause);
    }
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    if (!this.#renamed) await this.#fs.unlink(this.#temporary).catch(() => undefined);
    await this.#letGo();
  }

  async #letGo(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.close().catch(() => undefined);
  }

  /** The rename itself is durable once the directory is. */
  async #syncDirectory(): Promise<void> {
    const { dirname } = await importNode<{ dirname(path: string): string }>('path');
    let directory: FileHandle;
    try {
      directory = await this.#fs.open(dirname(this.#target), this.#fs.constants.O_RDONLY);
    } catch (error) {
      // Windows opens no directories, and some may be written to but not read.
      if (['EISDIR', 'EPERM', 'EACCES'].includes(String(codeOf(error)))) return;
      throw error;
    }
    try {
      await directory.sync().catch((error: unknown) => {
        // A file system that cannot flush directories: nothing more can be done.
        if (!['EINVAL', 'EPERM', 'EISDIR'].includes(String(codeOf(error)))) throw error;
      });
    } finally {
      await directory.close();
    }
  }
}
