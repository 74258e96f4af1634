// What a realm and the workers that it starts say to each other.
import type { LoadedIndex } from '../backend/core_backend.js';
import type { FileRequest, LentRows } from '../backend/home.js';
import type { HeapHandle } from '../backend/thread_instance.js';
import type { CoreStatus, ErrorCode } from '../errors.js';
import type { FoundRows } from '../hits.js';
import type { SearchRequest } from '../search_options.js';

export interface WriteJob {
  readonly vicinal: 'write';
  readonly heap: HeapHandle;
  /** 0: the one that the file has. */
  readonly index: number;
  readonly control: number;
  /** Of an index that lives in one. */
  readonly file?: FileRequest | undefined;
}

export type ToWorker =
  /** Be the writer of an index until the control word is not 0. */
  | WriteJob
  /** Help long searches of an index until the control word is not 0. */
  | { vicinal: 'help'; heap: HeapHandle; index: number; control: number }
  /** Be ready for calls with what the realm has whose lockedLife is `parent`. */
  | { vicinal: 'serve'; heap: HeapHandle; parent: number | undefined }
  /** Search through a reader's handle, which is this worker's until the answer. */
  | { vicinal: 'search'; call: number; reader: number; query: Float32Array; request: SearchRequest }
  /** Encode rows of a message. */
  | { vicinal: 'encode'; call: number; rows: LentRows }
  | { vicinal: 'stop' };

/** An error that is one of ours there, too. */
export interface ToldError {
  readonly code: ErrorCode;
  readonly message: string;
}

export type FromWorker =
  /** It has entered the memory and is at work; its lockedLife, but of a writer's. */
  | { vicinal: 'ready'; life?: number | undefined }
  /** So much of the index's file was read. */
  | { vicinal: 'reading'; bytes: number }
  /** The index of the file is there: now it is its writer. */
  | { vicinal: 'opened'; loaded: LoadedIndex }
  /** Questions up to this number are answered: with a yes, or why not. */
  | { vicinal: 'flushed'; asks: number; error?: ToldError | undefined }
  /** Messages are done. */
  | { vicinal: 'applied' }
  | { vicinal: 'found'; call: number; found: FoundRows }
  | { vicinal: 'encoded'; call: number; status: CoreStatus }
  | { vicinal: 'failed'; call: number; code: ErrorCode; message: string }
  /** It has followed a file for a while. */
  | { vicinal: 'following' }
  /** It has left the memory and can be terminated; `error`: its file lacks what came last. */
  | { vicinal: 'stopped'; error?: ToldError | undefined }
  /** It cannot go on. */
  | { vicinal: 'died'; code: ErrorCode; message: string };

/** Whether a message is one of ours, in a worker that may be used for other things as well. */
export function isOurs(message: unknown): message is { vicinal: string } {
  return typeof (message as { vicinal?: unknown } | null | undefined)?.vicinal === 'string';
}
