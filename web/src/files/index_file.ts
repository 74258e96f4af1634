// The file that an index lives in: claimed by the realm that opens the index, used by its writer's
// worker.
//
// I1: a file is written by who holds its lock, which dies with its holder: in Node a flock of the
//     open file (node_index_file.ts), in browsers a Web Lock and the access handle itself
//     (opfs_index_file.ts).
// I2: the claim outlives workers: a writer's worker that dies leaves the lock where it is, and its
//     successor uses the file again.
import type { FileTable } from './file_table.js';
import { addNodeFile, addNodeReading } from './node_index_file.js';
import { addOpfsFile, addOpfsReading } from './opfs_index_file.js';
import type { SaveTarget } from '../types.js';

/** What a worker needs to have the file; cloneable. `path` is what the core knows it by. */
export type FileSpec =
  | { readonly kind: 'node'; readonly path: string; readonly fd: number }
  | { readonly kind: 'opfs'; readonly path: string; readonly handle: FileSystemFileHandle }
  /** The same for whoever reads along. */
  | { readonly kind: 'node reading'; readonly path: string }
  | { readonly kind: 'opfs reading'; readonly path: string; readonly handle: FileSystemFileHandle };

export interface FileClaim {
  readonly spec: FileSpec;
  /** Its length; 0: an index's file is to be made of it. */
  readonly bytes: number;
  /** Whether `target` names this file. */
  isAt(target: SaveTarget): Promise<boolean>;
  /**
   * When nobody uses it any more; once more, it does nothing. `unmade`: one that was made for this
   * goes again.
   */
  release(unmade: boolean): Promise<void>;
}

/** A place whose file can be kept open for writing. */
export interface FilePlace {
  /** Its first bytes, none of an empty file; undefined: there is no such file. IO. */
  head(): Promise<Uint8Array | undefined>;
  /** BUSY naming who has it, IO, UNSUPPORTED. `create`: made, where it is missing. */
  claim(create: boolean): Promise<FileClaim>;
  /** To read what others write, now and later; there is nothing to be released. IO. */
  follow(): Promise<FileClaim>;
}

/** What keeps a file that is read as new as it is; undefined: it always is. */
export type Renew = (() => Promise<void>) | undefined;

const kMagic = [0x56, 0x49, 0x43, 0x49, 0x4e, 0x41, 0x4c, 0x0a];
/** The first version of the format that is written to in its place: docs/format.md. */
const kLogVersion = 3;

/** Whether a file that begins like this is a log, or one of a newer kind. */
export function isLog(head: Uint8Array): boolean {
  if (head.length < 12 || kMagic.some((byte, i) => head[i] !== byte)) return false;
  return new DataView(head.buffer, head.byteOffset).getUint32(8, true) >= kLogVersion;
}

/** Has the file ready in the calling realm. IO; ABORTED when a wait for it is `stopped`. */
export async function addFile(
  table: FileTable, spec: FileSpec, stopped: () => boolean,
): Promise<Renew> {
  switch (spec.kind) {
    case 'node': return void await addNodeFile(table, spec.path, spec.fd);
    case 'opfs': return void await addOpfsFile(table, spec.path, spec.handle, stopped);
    case 'node reading': return void await addNodeReading(table, spec.path);
    case 'opfs reading': return addOpfsReading(table, spec.path, spec.handle);
  }
}

/** Whoever reads along has the file without a lock. */
export function following(spec: FileSpec, bytes: number): FileClaim {
  return { spec, bytes, isAt: async () => false, release: async () => undefined };
}
