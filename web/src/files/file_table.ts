// What the core asks of files (core/platform/wasm/file_system.cpp), in one realm: files that were
// opened before, since browsers open none at once, under the paths that the core knows them by.
//
// Thread safety: belongs to one realm, as its files do.
// I1: a number that the core gets is good until the realm leaves; closing it here closes nothing,
//     since others lead to the same file. Where each opening opens the file anew, it is closed.
// I2: the core is told a number for what went wrong; `failure` is what the platform said last.

/** A file that can be read and written at once. Methods throw what the platform throws. */
export interface OpenFile {
  size(): number;
  /** Bytes moved; 0 at the file's end. */
  read(to: Uint8Array, position: number): number;
  write(from: Uint8Array, position: number): number;
  sync(): void;
  truncate(bytes: number): void;
  close(): void;
}

/** As core/platform/wasm/file_system.cpp has them. */
const kErrors = {
  missing: 1, directory: 2, notAFile: 3, noSpace: 4, busy: 5, stopped: 6, unsupported: 7, other: 8,
} as const;
const kErrnoBase = 1000;
/** EDQUOT, for which Node has no name there. */
const kLinuxNoQuota = -122;
const kErrnoMax = 4096;
const kHow = { begin: 2 } as const;
/** crypto gives no more at once. */
const kRandomBytesMax = 65536;

interface PlatformError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly errno?: unknown;
}

export function isFull(error: unknown): boolean {
  const { name, code, errno } = (error ?? {}) as PlatformError;
  return name === 'QuotaExceededError' || code === 'ENOSPC' || code === 'EDQUOT'
    || errno === kLinuxNoQuota;
}

function numberOf(error: unknown): number {
  if (isFull(error)) return -kErrors.noSpace;
  const { name, code, errno } = (error ?? {}) as PlatformError;
  if (name === 'NotFoundError' || code === 'ENOENT') return -kErrors.missing;
  // Node's are those of the system, negated; what other platforms have instead says nothing.
  if (typeof errno === 'number' && errno < 0 && errno > -kErrnoMax) return errno - kErrnoBase;
  return -kErrors.other;
}

export type FileFunctions = Record<string, (...values: number[]) => number | void>;

export class FileTable {
  readonly #files: (OpenFile | undefined)[] = [];
  readonly #names = new Map<string, number>();
  readonly #openers = new Map<string, () => OpenFile>();
  readonly #anew = new Set<number>();
  /** What the platform said when something went wrong last. */
  failure: unknown;
  #onRead: ((bytes: number) => boolean) | undefined;
  #bytesRead = 0;

  /** Called before each read with what was read since it was set; true: it is to stop. */
  set onRead(onRead: ((bytes: number) => boolean) | undefined) {
    this.#onRead = onRead;
    this.#bytesRead = 0;
  }

  /** From now on the path leads to this file, which is this table's to close. */
  add(path: string, file: OpenFile): void {
    this.#names.set(path, this.#files.push(file) - 1);
  }

  /** From now on each opening of the path is one of the file that has this name then. */
  addOpener(path: string, open: () => OpenFile): void {
    this.#openers.set(path, open);
  }

  /** It leads nowhere again, and the file is closed. */
  remove(path: string): void {
    const file = this.#names.get(path);
    if (file === undefined) return;
    this.#names.delete(path);
    this.#close(file);
  }

  #close(file: number): void {
    try {
      this.#files[file]?.close();
    } catch (error) {
      this.failure = error;
    }
    this.#files[file] = undefined;
  }

  /** Before the realm leaves. */
  close(): void {
    for (const path of Array.from(this.#names.keys())) this.remove(path);
    for (const file of this.#anew) this.#close(file);
    this.#anew.clear();
  }

  /** The functions that the module imports, over its memory. */
  functions(memory: () => ArrayBufferLike): FileFunctions {
    const bytes = (address: number, count: number): Uint8Array =>
      new Uint8Array(memory() as ArrayBuffer, address >>> 0, count >>> 0);
    // Of a copy: what is shared cannot be decoded.
    const text = (address: number, count: number): string =>
      new TextDecoder().decode(bytes(address, count).slice());
    const told = (file: number, run: (file: OpenFile) => number | void): number => {
      const open = this.#files[file];
      if (!open) return file < 0 ? file : -kErrors.other;
      try {
        return run(open) ?? 0;
      } catch (error) {
        this.failure = error;
        return numberOf(error);
      }
    };
    return {
      vicinal_file_open: (path, count, how) => {
        const name = text(path!, count!);
        const opener = this.#openers.get(name);
        if (opener) return this.#openAnew(opener);
        const file = this.#names.get(name);
        if (file === undefined) return -kErrors.missing;
        return told(file, (open) =>
          how !== kHow.begin && open.size() === 0 ? -kErrors.missing : file);
      },
      vicinal_file_close: (file) => {
        if (this.#anew.delete(file!)) this.#close(file!);  // I1
      },
      vicinal_file_size: (file) => told(file!, (open) => open.size()),
      vicinal_file_read: (file, position, to, count) => told(file!, (open) => {
        if (this.#onRead?.(this.#bytesRead)) return -kErrors.stopped;
        const moved = open.read(bytes(to!, count!), position!);
        this.#bytesRead += moved;
        return moved;
      }),
      vicinal_file_write: (file, position, from, count) =>
        told(file!, (open) => open.write(bytes(from!, count!), position!)),
      vicinal_file_sync: (file) => told(file!, (open) => open.sync()),
      vicinal_file_truncate: (file, length) => told(file!, (open) => open.truncate(length!)),
      vicinal_file_lock: (file) => told(file!, () => 0),  // by whoever opened it
      vicinal_file_is_at: (file, path, count) => this.#names.get(text(path!, count!)) === file
        ? 1 : 0,
      vicinal_random: (to, count) => {
        for (let at = 0; at < count!; at += kRandomBytesMax) {
          const some = new Uint8Array(Math.min(kRandomBytesMax, count! - at));
          bytes(to! + at, some.length).set(crypto.getRandomValues(some));
        }
      },
      vicinal_process_id: () =>
        (globalThis as { process?: { pid?: number } }).process?.pid ?? 0,
    };
  }

  #openAnew(opener: () => OpenFile): number {
    try {
      const file = this.#files.push(opener()) - 1;
      this.#anew.add(file);
      return file;
    } catch (error) {
      this.failure = error;
      return numberOf(error);
    }
  }
}
