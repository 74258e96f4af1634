// Where the indexes of a realm live: a core, who does its writes, and who searches
// elsewhere. Nothing above knows whether threads are behind it.
import type { CoreStatus, VicinalError } from '../errors.js';
import type { FoundRows } from '../hits.js';
import type { SearchRequest } from '../search_options.js';
import type { LoadOptions } from '../types.js';
import type { FileSpec } from '../files/index_file.js';
import type { IndexShape } from '../index_options.js';
import type { CoreBackend, Handle, LoadedIndex } from './core_backend.js';
import type { HeapHandle } from './thread_instance.js';

/** Who wants the process to go on. */
export type Waiting = 'for writes' | 'for flushes';

/** Gets submitted messages done, and what is asked for of an index's file. */
export interface Applier {
  /** A message was submitted, or certainty asked for. */
  submitted(): void;
  /** Keeps the process alive from the first submit or question to the last outcome or answer. */
  setBusy(busy: boolean, waiting?: Waiting): void;
  /**
   * After the last outcome. An index's file is closed then, with all that was written; else the
   * error that tells why not, FULL or IO, if nobody was told yet.
   */
  stop(): Promise<VicinalError | undefined>;
}

/** The file that an index is to live in. */
export interface FileRequest {
  readonly spec: FileSpec;
  /** What an empty one is to be; undefined: there is something in it. */
  readonly create: IndexShape | undefined;
  readonly maxBytes: number;
  /** Others write it: the applier follows what they do. */
  readonly readOnly: boolean;
}

export interface ApplierEvents {
  /** Look for messages that are done; whether there was one. */
  onApplied(): boolean;
  /** Nothing will be applied any more. */
  onDeath(error: VicinalError): void;
  /** Questions up to this number are answered; `error`: with a no. */
  onFlushed?(asks: number, error: VicinalError | undefined): void;
  /** A successor is at work, who may not have heard of what was asked. */
  onReplaced?(): void;
  /** An index's file is being read. */
  onRead?(bytes: number): void;
}

/** Searches elsewhere than in the caller's turn of the event loop. */
export interface Searcher {
  /** One call at a time uses a reader's handle; IO: its worker ended; see deathOf. */
  search(reader: Handle, query: Float32Array, request: SearchRequest): Promise<FoundRows>;
  /**
   * For such an error, when a worker has ended: resolves when it is known to run no more, which may
   * never be; true: nor does its thread.
   */
  deathOf(error: VicinalError): Promise<boolean> | undefined;
}

/** Rows in memory that is another's until its answer. */
export interface LentRows {
  readonly message: Handle;
  /** Of the message, from `first` on. */
  readonly first: number;
  readonly count: number;
  /** Where their coordinates lie. */
  readonly vectors: number;
}

/** Encodes rows of messages elsewhere than in this realm. */
export interface Encoder {
  /**
   * A status with code 0, or why they were not encoded. What was lent is the encoder's from
   * `onPosted` to the answer. IO: its worker ended; then see deathOf.
   */
  encode(rows: LentRows, onPosted: () => void): Promise<CoreStatus>;
  /** As Searcher.deathOf. */
  deathOf(error: VicinalError): Promise<boolean> | undefined;
}

/** Who helps an index's long searches. */
export interface Helpers {
  /** Before the index is released. */
  stop(): Promise<void>;
}

export interface Home {
  readonly backend: CoreBackend;
  readonly searcher: Searcher;
  /** Where this realm is a main thread. */
  readonly encoder: Encoder | undefined;
  /** What another realm needs to use the same core. UNSUPPORTED without threads. */
  share(): HeapHandle;
  /** IO, ABORTED. */
  startWriter(
    index: Handle, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<Applier>;
  /**
   * The same of an index that lives in a file, which is opened first. CORRUPT, VERSION, FULL,
   * UNSUPPORTED, BUSY and whatever the core says of the file.
   */
  startFileWriter(
    file: FileRequest, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly applier: Applier; readonly loaded: LoadedIndex }>;
  /** Workers that help long searches of the index. IO, BUSY, FULL, ABORTED. */
  startHelpers(index: Handle, count: number, signal: AbortSignal | undefined): Promise<Helpers>;
  /** One more reader uses it. False: it was left by its last one and is of no use. */
  enter(): boolean;
  /** One less. The last one's takes down what this realm can start again. */
  leave(): Promise<void>;
}
