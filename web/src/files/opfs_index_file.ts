// Files of the origin's private file system that an index lives in.
//
// A Web Lock, named by the file, elects who writes; it ends with the page or worker that holds it.
// The writer's worker opens the file by an access handle of its own, of which there can be one:
// where a worker was terminated its handle stays for about two seconds, in which it may still
// write, and so the next one waits for it.
//
// I1: who holds the lock and waits kHandleMs in vain gives up: somebody else has the file without
//     the lock.
import { VicinalError } from '../errors.js';
import type { SaveTarget } from '../types.js';
import {
  findOpfs, isFileHandle, isMissing, kOpfs, needsBlobs,
} from './browser_file.js';
import { ioError } from './byte_source.js';
import { writeError } from './file_errors.js';
import type { FileTable } from './file_table.js';
import { following, type FileClaim, type FilePlace, type Renew } from './index_file.js';

/** What the library of the DOM has no types for in windows. */
interface SyncAccessHandle {
  getSize(): number;
  read(to: Uint8Array, options: { at: number }): number;
  write(from: Uint8Array, options: { at: number }): number;
  flush(): void;
  truncate(bytes: number): void;
  close(): void;
}

interface FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

type WithHandles = FileSystemFileHandle & {
  createSyncAccessHandle?(): Promise<SyncAccessHandle>;
};

/** The live page, docs/format.md: its bytes that are not zero. */
const kLiveAt = 12288;
const kLiveBytes = 32;
const kHeadBytes = 64;
const kTurnsMax = 100;
const kHandleMs = 10_000;
const kRetryMs = 50;

/** The lock's name: the path in the origin's private file system. */
export function lockName(path: string): string {
  return `vicinal file ${path}`;
}

/** Undefined where this realm cannot keep such a file open. */
export async function opfsPlace(
  source: string | FileSystemFileHandle,
): Promise<FilePlace | undefined> {
  const locks = globalThis.navigator?.locks as LockManager | undefined;
  const handles = (globalThis as { FileSystemFileHandle?: { prototype: object } })
    .FileSystemFileHandle?.prototype;
  // Only workers see the method, but where there is none in windows there is the class.
  if (!locks || !handles || needsBlobs()) return undefined;
  const path = typeof source === 'string' ? source : await pathOf(source);
  if (path === undefined) return undefined;
  return {
    async head() {
      const handle = typeof source === 'string' ? await find(source, false) : source;
      return handle && headOf(handle);
    },
    claim: (create) => claim(locks, path, create),
    async follow() {
      const handle = await find(path, false);
      if (!handle) throw new VicinalError('IO', `${path}: there is no such file`);
      return following({ kind: 'opfs reading', path, handle }, (await handle.getFile()).size);
    },
  };
}

/** A file that is written to meanwhile may be refused: another one is had of what it is then. */
async function headOf(handle: FileSystemFileHandle): Promise<Uint8Array | undefined> {
  for (let turn = 1;; ++turn) {
    let file: File;
    try {
      file = await handle.getFile();
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw ioError(handle.name, error);
    }
    try {
      return new Uint8Array(await file.slice(0, kHeadBytes).arrayBuffer());
    } catch (error) {
      if (turn === kTurnsMax) throw ioError(handle.name, error);
    }
  }
}

/** 'opfs:NAME' of a handle; undefined for a file that is elsewhere. */
async function pathOf(handle: FileSystemFileHandle): Promise<string | undefined> {
  try {
    const root = await navigator.storage.getDirectory();
    const names = await root.resolve(handle);
    return names ? kOpfs + names.join('/') : undefined;
  } catch {
    return undefined;
  }
}

async function find(path: string, make: boolean): Promise<FileSystemFileHandle | undefined> {
  try {
    const { directory, name } = await findOpfs(path, make);
    return await directory.getFileHandle(name, { create: make });
  } catch (error) {
    if (!make && isMissing(error)) return undefined;
    throw error instanceof VicinalError ? error : writeError(path, error);
  }
}

async function claim(locks: LockManager, path: string, create: boolean): Promise<FileClaim> {
  const unlock = await hold(locks, lockName(path));
  if (!unlock) throw await busy(locks, path);
  try {
    const had = await find(path, false);
    const handle = await find(path, create);
    if (!handle) throw new VicinalError('IO', `${path}: there is no such file`);
    const bytes = (await handle.getFile()).size;
    let held = true;
    return {
      spec: { kind: 'opfs', path, handle },
      bytes,
      isAt: async (target: SaveTarget) => isFileHandle(target)
        ? handle.isSameEntry(target).catch(() => false) : String(target) === path,
      async release(unmade: boolean) {
        if (!held) return;
        held = false;
        try {
          if (unmade && !had && bytes === 0) await remove(path);
        } finally {
          unlock();
        }
      },
    };
  } catch (error) {
    unlock();
    throw error instanceof VicinalError ? error : writeError(path, error);
  }
}

async function remove(path: string): Promise<void> {
  const { directory, name } = await findOpfs(path, false);
  await directory.removeEntry(name).catch(() => undefined);
}

/** Holds the lock until what it returns is called; undefined: somebody else has it. */
function hold(locks: LockManager, name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    locks.request(name, { ifAvailable: true }, (lock) => {
      if (!lock) return resolve(undefined);
      return new Promise<void>((end) => resolve(end));
    }).catch(reject);
  });
}

async function busy(locks: LockManager, path: string): Promise<VicinalError> {
  const { held } = await locks.query();
  const holder = held?.find(({ name }) => name === lockName(path))?.clientId;
  return new VicinalError('BUSY', `${path}: another tab or worker`
    + `${holder ? ` (client ${holder})` : ''} has the file open for writing`);
}

/**
 * By a worker: the file under that path, as soon as nobody else has it. IO, UNSUPPORTED, BUSY;
 * ABORTED when the wait is `stopped`.
 */
export async function addOpfsFile(
  table: FileTable, path: string, handle: FileSystemFileHandle, stopped: () => boolean,
): Promise<void> {
  const file = await accessHandle(path, handle, stopped);
  table.add(path, {
    size: () => file.getSize(),
    read: (to, position) => file.read(to, { at: position }),
    write: (from, position) => file.write(from, { at: position }),
    sync: () => file.flush(),
    truncate: (bytes) => file.truncate(bytes),
    close: () => file.close(),
  });
}

/**
 * By a worker: what the file is each time that it is renewed. Another tab may have the access
 * handle, which lets nobody else open one, but a file can be had of what it has written. Its length
 * is that of the moment, its bytes are those of now: so the live page is kept from before, or the
 * end that it tells would lie behind the length again and again while somebody writes.
 */
export async function addOpfsReading(
  table: FileTable, path: string, handle: FileSystemFileHandle,
): Promise<Renew> {
  const reader = new (globalThis as unknown as { FileReaderSync: new () => FileReaderSync })
    .FileReaderSync();
  const read = (from: File, position: number, count: number): Uint8Array =>
    new Uint8Array(reader.readAsArrayBuffer(from.slice(position, position + count)));
  let file = await handle.getFile();
  let live: Uint8Array = new Uint8Array(0);
  const renew = async (): Promise<void> => {
    live = read(await handle.getFile(), kLiveAt, kLiveBytes);
    file = await handle.getFile();
  };
  await renew().catch(() => undefined);  // it is renewed before it is looked at again
  const refuse = (): never => {
    throw new VicinalError('READ_ONLY', `${path}: is only read here`);
  };
  table.add(path, {
    size: () => file.size,
    read(to, position) {
      const bytes = read(file, position, to.length);
      const from = Math.max(position, kLiveAt);
      const end = Math.min(position + bytes.length, kLiveAt + live.length);
      if (from < end) {
        bytes.set(live.subarray(from - kLiveAt, end - kLiveAt), from - position);
      }
      to.set(bytes);
      return bytes.length;
    },
    write: refuse,
    sync: refuse,
    truncate: refuse,
    close: () => undefined,
  });
  return renew;
}

async function accessHandle(
  path: string, handle: FileSystemFileHandle, stopped: () => boolean,
): Promise<SyncAccessHandle> {
  const { createSyncAccessHandle: make } = handle as WithHandles;
  if (!make) {
    throw new VicinalError('UNSUPPORTED', `${path}: this browser has no sync access handles`);
  }
  const deadline = performance.now() + kHandleMs;
  for (;;) {
    try {
      return await make.call(handle);
    } catch (error) {
      const taken = (error as { name?: unknown }).name === 'NoModificationAllowedError';
      if (!taken) throw ioError(path, error);
      if (stopped()) throw new VicinalError('ABORTED', `${path}: the wait for it was stopped`);
      if (performance.now() >= deadline) {
        throw new VicinalError('BUSY', `${path}: somebody else has the file open`);
      }
      await new Promise((resolve) => setTimeout(resolve, kRetryMs));
    }
  }
}
