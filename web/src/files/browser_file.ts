// Files of browsers: handles that the user or the origin's private file system gave.
//
// I1: the platform writes beside the old file and replaces it in one step, when the stream is
//     closed. A file that this made and could not write is removed.
// I2: where there is no private file system, 'opfs:NAME' is a Blob in IndexedDB.
import { VicinalError } from '../errors.js';
import { blobSource, ioError, type ByteSource } from './byte_source.js';
import type { ByteSink } from './byte_sink.js';
import { writeError } from './file_errors.js';
import { canStoreBlobs, storedBlob, storedBlobSink } from './stored_blob.js';

export const kOpfs = 'opfs:';

interface OpfsFile {
  readonly name: string;
  readonly directory: FileSystemDirectoryHandle;
}

export function isFileHandle(value: unknown): value is FileSystemFileHandle {
  const handle = value as Partial<FileSystemFileHandle> | null | undefined;
  return typeof handle === 'object' && handle?.kind === 'file'
    && typeof handle.getFile === 'function';
}

export function isMissing(error: unknown): boolean {
  return (error as { name?: unknown } | null)?.name === 'NotFoundError';
}

/** Whether this realm's files are kept elsewhere, as Blobs (stored_blob.ts). */
export function needsBlobs(): boolean {
  const storage = globalThis.navigator?.storage as Partial<StorageManager> | undefined;
  return typeof storage?.getDirectory !== 'function' && canStoreBlobs();
}

/** The names of directories and of the file. BAD_OPTION. */
function partsOf(address: string): string[] {
  const parts = address.slice(kOpfs.length).split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw new VicinalError('BAD_OPTION', `${JSON.stringify(address)}: expected 'opfs:NAME'`);
  }
  return parts;
}

/** BAD_OPTION for no name. Of directories only those are there that `make` makes. */
export async function findOpfs(address: string, make: boolean): Promise<OpfsFile> {
  const storage = (globalThis.navigator as Navigator | undefined)?.storage as
    Partial<StorageManager> | undefined;
  if (typeof storage?.getDirectory !== 'function') {
    throw new VicinalError('UNSUPPORTED', `${address}: this realm has no origin private file system`
      + ' (browsers have one, in secure contexts)');
  }
  const parts = partsOf(address);
  let directory = await storage.getDirectory();
  for (const part of parts.slice(0, -1)) {
    directory = await directory.getDirectoryHandle(part, { create: make });
  }
  return { name: parts.at(-1)!, directory };
}

/** IO, UNSUPPORTED; undefined when there is no such file. */
export async function opfsSource(address: string, emptyIsMissing: boolean):
Promise<ByteSource | undefined> {
  if (needsBlobs()) {
    const blob = await storedBlob(partsOf(address).join('/'));
    return blob && blobSource(blob, address);
  }
  try {
    const { directory, name } = await findOpfs(address, false);
    return await handleSource(await directory.getFileHandle(name), emptyIsMissing);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error instanceof VicinalError ? error : ioError(address, error);
  }
}

/**
 * As opfsSource. A handle can be had with its file alone, so that one which shall still be made may
 * be there and empty.
 */
export async function handleSource(
  handle: FileSystemFileHandle, emptyIsMissing: boolean,
): Promise<ByteSource | undefined> {
  let file: File;
  try {
    file = await handle.getFile();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw ioError(handle.name, error);
  }
  return file.size === 0 && emptyIsMissing ? undefined : blobSource(file, handle.name);
}

/** IO, FULL, UNSUPPORTED. */
export async function opfsSink(address: string): Promise<ByteSink> {
  if (needsBlobs()) return storedBlobSink(partsOf(address).join('/'));
  try {
    const { directory, name } = await findOpfs(address, true);
    let made = false;
    const handle = await directory.getFileHandle(name).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      made = true;
      return directory.getFileHandle(name, { create: true });
    });
    return await handleSink(handle, async () => {
      // Another save may have written it meanwhile.
      if (made && (await handle.getFile()).size === 0) await directory.removeEntry(name);
    });
  } catch (error) {
    throw error instanceof VicinalError ? error : writeError(address, error);
  }
}

/** IO, FULL, UNSUPPORTED. `undo`: when nothing was written. */
export async function handleSink(
  handle: FileSystemFileHandle, undo: () => Promise<void> = async () => undefined,
): Promise<ByteSink> {
  const quietly = (run: Promise<void>): Promise<void> => run.catch(() => undefined);
  if (typeof (handle as Partial<FileSystemFileHandle>).createWritable !== 'function') {
    await quietly(undo());
    throw new VicinalError('UNSUPPORTED', `${handle.name}: this browser cannot write through file`
      + ' handles (createWritable); use toBytes()');
  }
  const told = async <T>(run: Promise<T>): Promise<T> => {
    try {
      return await run;
    } catch (cause) {
      throw writeError(handle.name, cause);
    }
  };
  let stream: FileSystemWritableFileStream;
  try {
    stream = await told(handle.createWritable());
  } catch (error) {
    await quietly(undo());
    throw error;
  }
  return {
    write: (position, bytes) =>
      told(stream.write({ type: 'write', position, data: new Uint8Array(bytes) })),
    commit: () => told(stream.close()),
    async abandon() {
      await quietly(stream.abort());
      await quietly(undo());
    },
  };
}
