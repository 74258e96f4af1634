// Where the indexes of a realm live: a core, who does its writes, and who searches
// elsewhere. Nothing above knows whether threads are behind it.
import type { CoreStatus, VicinalError } from '../errors.js';
import type { FoundRows } from '../hits.js';
import type { SearchRequest } from '../search_options.js';
import type { LoadOptions } from '../types.js';
import type { CoreBackend, Handle } from './core_backend.js';
import type { HeapHandle } from './thread_instance.js';

/** Gets submitted messages done. */
export interface Applier {
  /** A message was submitted. */
  submitted(): void;
  /** Keeps the process alive from the first submit to the last outcome. */
  setBusy(busy: boolean): void;
  /** After the last outcome. */
  stop(): Promise<void>;
}

export interface ApplierEvents {
  /** Look for messages that are done; whether there was one. */
  onApplied(): boolean;
  /** Nothing will be applied any more. */
  onDeath(error: VicinalError): void;
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
  /** Workers that help long searches of the index. IO, BUSY, FULL, ABORTED. */
  startHelpers(index: Handle, count: number, signal: AbortSignal | undefined): Promise<Helpers>;
  /** One more reader uses it. False: it was left by its last one and is of no use. */
  enter(): boolean;
  /** One less. The last one's takes down what this realm can start again. */
  leave(): Promise<void>;
}
