// Files for browsers without an origin private file system: Blobs in IndexedDB, each a whole one.
//
// I1: a Blob takes the place of the one before in one transaction, when all of it is there; what
//     was read before stays whole.
import { ioError } from './byte_source.js';
import type { ByteSink } from './byte_sink.js';
import { writeError } from './file_errors.js';

const kDatabase = 'vicinal';
const kStore = 'files';

/** Whether this realm has a place for Blobs. */
export function canStoreBlobs(): boolean {
  return typeof globalThis.indexedDB !== 'undefined';
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(kDatabase, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(kStore);
  return settled(request);
}

/** IO; undefined when there is no such file. */
export async function storedBlob(name: string): Promise<Blob | undefined> {
  let database: IDBDatabase | undefined;
  try {
    database = await open();
    const store = database.transaction(kStore, 'readonly').objectStore(kStore);
    return await settled(store.get(name) as IDBRequest<Blob | undefined>);
  } catch (cause) {
    throw ioError(name, cause);
  } finally {
    database?.close();
  }
}

async function put(name: string, blob: Blob): Promise<void> {
  let database: IDBDatabase | undefined;
  try {
    database = await open();
    const transaction = database.transaction(kStore, 'readwrite', { durability: 'strict' });
    const over = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    transaction.objectStore(kStore).put(blob, name);
    await over;
  } catch (cause) {
    throw writeError(name, cause);
  } finally {
    database?.close();
  }
}

/** Takes what a save writes, in any order, and puts it in its place at once. IO, FULL. */
export function storedBlobSink(name: string): ByteSink {
  const parts = new Map<number, Blob>();
  return {
    async write(offset, bytes) {
      parts.set(offset, new Blob([new Uint8Array(bytes)]));
    },
    async commit() {
      const inOrder = Array.from(parts).sort(([a], [b]) => a - b).map(([, part]) => part);
      await put(name, new Blob(inOrder));
    },
    async abandon() {
      parts.clear();
    },
  };
}
