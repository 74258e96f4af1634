// The seam: what the TypeScript above asks of a core, whichever is loaded.
//
// Thread safety: a backend belongs to one realm; several realms' backends may share one core's
// memory.
// I1: a view that a method returns is good until the next call of any method.
// I2: errors of the world are thrown as VicinalError; a view, a handle or a number never means one.
import type { CoreStatus } from '../errors.js';
import type { FoundRows } from '../hits.js';
import type { PackedIds } from '../id_codec.js';
import type { IndexShape } from '../index_options.js';
import type { SearchRequest } from '../search_options.js';
import type { kMessageKinds } from './blocks.js';

/**
 * An object of the core, not 0. An index's stays good for ever (CLOSED after its end); others are
 * not to be used after they were released or closed.
 */
export type Handle = number;

export type MessageKind = keyof typeof kMessageKinds;

/** What became of a message. */
export interface MessageOutcome {
  readonly status: CoreStatus;
  readonly sequence: number;
  readonly affected: number;
}

/** The figures of an index; see Stats. */
export interface CoreStats {
  readonly rows: number;
  readonly dead: number;
  readonly sequence: number;
  readonly segmentBytes: number;
  readonly idTableBytes: number;
  readonly stringBytes: number;
  readonly originalBytes: number;
  readonly versionBytes: number;
  readonly retiredBytes: number;
  readonly sharedBytes: number;
  readonly totalBytes: number;
  readonly oldestSequence: number;
  readonly segments: number;
  readonly readers: number;
  readonly readersMax: number;
  readonly slotsRetired: number;
  readonly writersReplaced: number;
  readonly leakedBytes: number;
  readonly helpers: number;
  readonly searchesShared: number;
  readonly chunksHelped: number;
  readonly oldestSlot: number;
  readonly ringDepth: number;
  readonly calibrated: boolean;
  readonly kernel: string;
}

/** An index that came from a file, and what the file says of it. */
export interface LoadedIndex {
  readonly index: Handle;
  readonly shape: Omit<IndexShape, 'ids'>;
  /** Whether ids are strings. */
  readonly strings: boolean;
  /** 0 without rows, and of strings. */
  readonly largestId: bigint;
}

/** What became of questions for certainty. */
export interface Flushed {
  /** Those up to this number are answered. */
  readonly asks: number;
  readonly status: CoreStatus;
}

/** Some bytes of a file, and where in it they belong. */
export interface FileSlice {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface CoreBackend {
  readonly threads: boolean;

  createIndex(shape: IndexShape, memoryBytesMax: number): Handle;
  /** From now on every write and search is CLOSED. */
  closeIndex(index: Handle): void;
  /** The creator's last call: the memory is given back when the last reader has closed. */
  releaseIndex(index: Handle): void;
  stats(index: Handle): CoreStats;
  /** Works on pending writes for about `budgetUs`; the number of messages completed. */
  pump(index: Handle, budgetUs: number): number;

  /** `count` rows or ids; of a sample's rows there are no ids. */
  createMessage(index: Handle, kind: MessageKind, count: number, ids: PackedIds): Handle;
  /** Rows that can be encoded at once, at least 1. */
  stagingRows(message: Handle): number;
  /** Room for at least stagingRows * dim coordinates: fill it, then encode. */
  staging(message: Handle): Float32Array;
  /**
   * Takes the first `rows` rows of the staging area as rows `first` .. of the message. An error
   * counts rows from `before` on.
   */
  encode(message: Handle, first: number, rows: number, before?: number): void;
  /** Memory for coordinates that another realm encodes. FULL. */
  allocate(bytes: number): number;
  release(address: number): void;
  /** What lies from there on. */
  coordinates(address: number): Float32Array;
  /** By another realm: takes the rows at `vectors`; a status with code 0, or why not. */
  encodeApart(message: Handle, first: number, rows: number, vectors: number): CoreStatus;
  /** By the message's owner: so many rows were encoded elsewhere. */
  countEncoded(message: Handle, rows: number): void;
  /** False: the queue is full, try again later. */
  submit(message: Handle): boolean;
  /** Undefined until the writer is done with it. */
  outcome(message: Handle): MessageOutcome | undefined;
  releaseMessage(message: Handle): void;

  openReader(index: Handle): Handle;
  /** A reader of the version that `reader` sees now. */
  snapshotReader(reader: Handle): Handle;
  closeReader(reader: Handle): void;
  /**
   * In place of closeReader for one that another realm used when it ended, with proof that it runs
   * no more. `reuse`: its thread has ended.
   */
  abandonReader(reader: Handle, reuse: boolean): void;
  /**
   * Ids for searches of this reader that name the result in place of their request's filter. It
   * ends with the reader, or when it is released.
   */
  compileFilter(reader: Handle, ids: PackedIds): Handle;
  releaseFilter(reader: Handle, compiled: Handle): void;
  search(
    reader: Handle, query: ArrayLike<number>, request: SearchRequest, compiled?: Handle,
  ): FoundRows;
  /** As search for each of `count` queries (count * dim numbers), all in one version. */
  searchBatch(
    reader: Handle, queries: ArrayLike<number>, count: number, request: SearchRequest,
    compiled?: Handle,
  ): FoundRows[];
  has(reader: Handle, id: PackedIds): boolean;
  get(reader: Handle, id: PackedIds, dim: number): Float32Array | undefined;
  refresh(reader: Handle): { rows: number; sequence: number };

  /** The file of the version that `reader` sees now, which is kept until releaseSave. */
  createSave(reader: Handle): Handle;
  /** Of the whole file. */
  saveBytes(save: Handle): number;
  /** Undefined behind the last. Every byte comes once; those at 0 last of all. */
  nextSlice(save: Handle): FileSlice | undefined;
  releaseSave(save: Handle): void;

  /** An index in the making, from a file's bytes in their order. FULL. */
  createLoad(memoryBytesMax: number, readOnly: boolean): Handle;
  /** Room for the file's next bytes: fill some of it, then take them. */
  loadRoom(load: Handle): Uint8Array;
  /** CORRUPT, VERSION, FULL. */
  takeBytes(load: Handle, bytes: number): void;
  /** How long the file's head says that it is; 0 until that has come. */
  loadBytes(load: Handle): number;
  /** Behind the last bytes. CORRUPT, FULL. */
  finishLoad(load: Handle): LoadedIndex;
  releaseLoad(load: Handle): void;

  /**
   * The index in a file that this realm has ready under the path; `create`: what an empty one is
   * to be. Reads all of it. Errors as thrown by the core.
   */
  openFile(
    path: string, create: IndexShape | undefined, memoryBytesMax: number, readOnly: boolean,
  ): LoadedIndex;
  /**
   * Whoever pumps is asked to make certain what has been written by now: the question's number.
   * READ_ONLY, CLOSED.
   */
  askFlush(index: Handle): number;
  /** By whoever pumps, after a 0: answers what was asked; undefined: nothing was. */
  serveFlush(index: Handle): Flushed | undefined;
  /** Of an index that others write, by who has its file: whether a newer version was published. */
  refreshIndex(index: Handle): boolean;
  /**
   * By whoever pumped, when nothing is written any more: the file has all of it, and is closed. IO,
   * FULL: it is closed without what came last, and nobody was told.
   */
  closeFile(index: Handle): CoreStatus;
}
