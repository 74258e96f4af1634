// Files of Node: read in slices; written beside the old file, which the new one replaces in one
// step.
//
// I1: until the rename the old file is as it was; after it the new one is whole and on the disk.
// I2: a temporary file that is given up is removed. A process that ends before leaves one behind,
//     under a name that ends in .tmp.
import { VicinalError } from '../errors.js';
import { importNode } from '../platform/environment.js';
import { ioError, type ByteSource } from './byte_source.js';
import type { ByteSink } from './byte_sink.js';

export interface FileStat {
  readonly mode: number;
  readonly size: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

interface FileHandle {
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

/** IO. A symbolic link keeps its place, a file that is replaced its permissions. */
export async function nodeSink(path: string): Promise<ByteSink> {
  const fs = await fileSystem();
  try {
    const target = await fs.realpath(path).catch((error: unknown) => {
      if (isMissing(error)) return path;
      throw error;
    });
    const before = await fs.stat(target).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (before) checkKind(path, before);
    const temporary = `${target}.${crypto.getRandomValues(new Uint32Array(2)).join('-')}.tmp`;
    const file = await fs.open(temporary, 'wx', 0o666);
    const sink = new NodeSink(fs, file, temporary, target);
    try {
      if (before) await file.chmod(before.mode & 0o7777);
    } catch (error) {
      await sink.abandon();
      throw error;
    }
    return sink;
  } catch (error) {
    throw error instanceof VicinalError ? error : ioError(path, error);
  }
}

class NodeSink implements ByteSink {
  readonly #fs: FileSystem;
  readonly #file: FileHandle;
  readonly #temporary: string;
  readonly #target: string;
  #renamed = false;

  constructor(fs: FileSystem, file: FileHandle, temporary: string, target: string) {
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
      throw ioError(this.#target, cause);
    }
  }

  async commit(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#file.close();
      await this.#fs.rename(this.#temporary, this.#target);
      this.#renamed = true;
      await this.#syncDirectory();
    } catch (cause) {
      throw ioError(this.#target, cause);
    }
  }

  async abandon(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    if (!this.#renamed) await this.#fs.unlink(this.#temporary).catch(() => undefined);
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
