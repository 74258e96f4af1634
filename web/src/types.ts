/// <reference lib="esnext.disposable" preserve="true" />
import type { Filter } from './filter.js';

/** A row's name: a safe non-negative integer as number, or 0 <= id < 2^64 as bigint. */
export type Id = number | bigint;

/** Ids of an index's kind: of one with `ids: 'string'` strings. */
export type IdList = Iterable<Id | string> | ArrayLike<Id> | ArrayLike<string>;

/** The coordinates of one vector; its length is the index's `dim`. */
export type Vector = Float32Array | Float64Array | ArrayLike<number>;

/** Vectors of a write: `ids.length * dim` numbers, row after row, or one array-like per row. */
export type Vectors = Float32Array | Float64Array | ArrayLike<ArrayLike<number>>;

/** Vectors of a batch: a multiple of `dim` numbers, or one array-like per query. */
export type Queries = Float32Array | Float64Array | ArrayLike<Vector>;

export type Metric = 'cosine' | 'ip' | 'l2';

export interface IndexOptions {
  /** Coordinates of a vector, 1..16384. */
  dim: number;
  /** Default 'cosine'. */
  metric?: Metric;
  /** Bits a coordinate in memory. Default 4. */
  bits?: 1 | 2 | 3 | 4 | 8;
  /**
   * Rows kept as they were given, beside their codes, for exact scores and `get`. Default 'none'.
   * 'float16' rounds; magnitudes of 65,520 and more are NOT_FINITE then.
   */
  originals?: 'none' | 'float16' | 'float32';
  /** Default 'auto'. Both words mean a flat index here; a number is UNSUPPORTED in this version. */
  partitions?: 'auto' | 'none' | number;
  /**
   * The kind of id that results carry. Default 'number'. 'number' and 'bigint' take both in, as far
   * as the kind can hold them. 'string' takes strings of up to 65,535 bytes of UTF-8, the empty one
   * included, without lone surrogates, and nothing else; such an index cannot be saved in this
   * version.
   */
  ids?: 'number' | 'bigint' | 'string';
  /** Seed of the rotation, 0 <= seed < 2^64. Default 0. */
  seed?: Id;
}

/**
 * A worker of either platform: Node's (with `on`) or a browser's (with `addEventListener`). Without
 * these methods it is BAD_OPTION.
 */
export interface WorkerLike {
  postMessage(message: unknown): void;
  terminate(): unknown;
}

export interface LoadOptions {
  /**
   * Memory budget in bytes, default 1 GiB, at most 4 GiB. An index that needs more gets FULL. All
   * indexes of a realm share one memory of the largest budget asked for first; a later, larger one
   * makes another memory.
   */
  maxBytes?: number;
  /** Stops waiting for files and for the worker: ABORTED, nothing made. */
  signal?: AbortSignal;
  /** Called while the WebAssembly file arrives; not called when it is loaded already. */
  onProgress?(p: { loadedBytes: number; totalBytes?: number }): void;
  /**
   * Where the WebAssembly file is, or its content. By default beside this package's code. It has to
   * be the file of the build that is loaded: vicinal.wasm or vicinal-relaxed.wasm with threads,
   * vicinal-scalar.wasm with `simd: 'scalar'`, vicinal-single.wasm without threads; another one is
   * BAD_OPTION or VERSION, and vicinal-relaxed.wasm UNSUPPORTED where `simd: 'relaxed'` would be.
   */
  wasm?: URL | string | Response | ArrayBuffer | WebAssembly.Module;
  /**
   * Where `vicinal/worker` is, or a module worker that runs it and belongs to this index from now
   * on. By default beside this package's code.
   */
  worker?: URL | string | WorkerLike;
  /**
   * false: the thread-less build. true: UNSUPPORTED where shared memory is missing. By default
   * threads where the platform has them. A number, 32 at most: the same, with so many workers of
   * the index's own that help its long searches while processors are free. No result depends on
   * them.
   */
  threads?: boolean | number;
  /**
   * The instructions to use: 'wasm' is SIMD128, 'relaxed' relaxed SIMD with it. Default 'auto': the
   * fastest that this engine has and computes right. 'relaxed' is UNSUPPORTED where the engine
   * lacks it or fails a test of it. 'relaxed' and 'scalar' need threads. Results do not differ.
   */
  simd?: 'auto' | 'wasm' | 'relaxed' | 'scalar';
  /** Default 'auto'. 'native' is UNSUPPORTED in this version. */
  backend?: 'auto' | 'wasm' | 'native';
}

/** Where an index's bytes are. */
export type OpenSource =
  | string | URL | Uint8Array | ArrayBuffer | Blob | Response | ReadableStream<Uint8Array>
  | FileSystemFileHandle;

/** Where they are to be. */
export type SaveTarget = string | URL | FileSystemFileHandle;

export interface OpenOptions extends LoadOptions {
  /**
   * Default false. true: every write is READ_ONLY. Where an index lives in the place, this one
   * follows it: a worker looks every few hundredths of a second whether somebody has written there.
   * Without threads, and of anything else, it is a copy in memory of what is there now.
   */
  readOnly?: boolean;
  /**
   * For a path, an address or a file handle: the index to begin with when there is no such file
   * yet, or an empty one. The file is made at once where the index can live in it, else by `save`.
   * Without effect where there is one, whose `dim`, `metric`, `bits` and `seed` hold; `ids` must be
   * of its kind.
   */
  create?: IndexOptions;
  /**
   * The kind of id that results carry. Default that of `create`, or else 'string' for a file whose
   * ids are strings, and 'number' for others: then a file with an id above 2^53 - 1 is BAD_ID, and
   * so is a search that finds one which came later (`readOnly`). BAD_OPTION where the file's ids
   * are strings and this says numbers, or the other way round.
   */
  ids?: 'number' | 'bigint' | 'string';
  /** Stops the opening: ABORTED, nothing made. */
  signal?: AbortSignal;
  /**
   * Bytes of the index that have arrived, not those of the WebAssembly file. `totalBytes` as soon
   * as it is known. What it throws stops the opening, which rejects with it.
   */
  onProgress?(p: { loadedBytes: number; totalBytes?: number }): void;
}

export interface SaveOptions {
  /** Stops the save before it has replaced anything: ABORTED. */
  signal?: AbortSignal;
  /** Bytes written so far. What it throws stops the save, which rejects with it. */
  onProgress?(p: { done: number; total: number }): void;
}

export interface WriteOptions {
  /** Stops the write as long as it is not committed: ABORTED, nothing changed but see `atomic`. */
  signal?: AbortSignal;
  /**
   * Default false. true: the promise resolves when the write survives a loss of power; rejects with
   * IO, READ_ONLY or FULL as `flush`, though the write is visible then. UNSUPPORTED for an index
   * that does not live in a file.
   */
  durable?: boolean;
  /**
   * Default true. false: an add, upsert or remove of more than 4 MiB of coordinates or 262,144 ids
   * lands in parts of this size, each whole and in one version, in their order and before later
   * writes. Memory for encoded rows is then that of one part. When a part fails, or the signal
   * fires between two, the parts before it stay: the error's `landed` tells. The receipt is of the
   * last part, its count of all. No effect on other writes.
   */
  atomic?: boolean;
  /**
   * Rows encoded so far, or ids taken over; with `atomic: false` they land part by part behind
   * that. What it throws stops the write, and the write rejects with it; parts that have landed
   * stay.
   */
  onProgress?(p: { done: number; total: number }): void;
}

export interface Receipt {
  /** The first version that shows the write. */
  sequence: number;
  /** Rows added, replaced or removed. */
  count: number;
}

/** A row found. cosine and ip: larger is nearer. l2: the negative squared distance. */
export interface Hit {
  id: Id | string;
  score: number;
}

export interface SearchOptions {
  /** Rows wanted, an integer >= 0, default 10. More than there are: all of them. */
  k?: number;
  /** Only these rows may appear. Unknown ids are ignored; none allowed means none found. */
  filter?: Filter | Iterable<Id> | Iterable<string>;
  /**
   * So many of the best by their codes, `k` at least, are ranked by exact scores of their
   * originals; 0: codes decide. Default 4 k where the index keeps originals, else 0. BAD_OPTION for
   * more than 0 without originals, or together with `after`: all pages need 0.
   */
  rerank?: number;
  /** Only rows with at least this score. */
  minScore?: number;
  /** Target of a partitioned index, 0 < recall <= 1. A flat index reads every row: no effect. */
  recall?: number;
  /** Partitions to read, an integer >= 1 or 'all'. A flat index has one: no effect. */
  probes?: number | 'all';
  /** Score every row by its whole code. The same as `certainty: Infinity`. */
  exhaustive?: boolean;
  /** Standard deviations of the test that skips rows, >= 0, default 3. */
  certainty?: number;
  /** WOULD_BLOCK when the version that answers is older than this one. */
  minSequence?: number;
  /**
   * Only rows that come after this hit in result order: the next page. Of a string that is gone
   * meanwhile its place among rows of the same score is not known: all of these come again.
   */
  after?: Hit;
}

export interface AsyncSearchOptions extends SearchOptions {
  signal?: AbortSignal;
}

/**
 * What a search found, best first; equal scores by ascending id, with strings by age. A copy: it
 * never changes.
 */
export interface Hits extends Iterable<Hit> {
  readonly length: number;
  readonly ids: Float64Array | BigUint64Array | string[];
  readonly scores: Float32Array;
  /** The version that answered. */
  readonly sequence: number;
  /** Whether the scores are exact, from originals. */
  readonly reranked: boolean;
}

/** A moment's figures of an index. Bytes are of memory in use by it. */
export interface Stats {
  /** Live rows. */
  readonly size: number;
  /** Rows removed or replaced whose memory is not reused yet. */
  readonly dead: number;
  readonly sequence: number;
  readonly bytes: {
    /** Codes, factors and ids. */
    readonly segments: number;
    /** Rows as they were given. */
    readonly originals: number;
    readonly idTable: number;
    /** Ids that are strings, of removed rows, too, until their memory is reused. */
    readonly strings: number;
    readonly versions: number;
    /** Waiting for a reader to move on. */
    readonly retired: number;
    /** Reader slots, rings, rotation. */
    readonly shared: number;
    readonly total: number;
    /** Lost with writers that were ended; not part of `total`, and never given back. */
    readonly leaked: number;
  };
  readonly segments: number;
  /** Reader slots in use, and how many there can be. */
  readonly readers: number;
  readonly readersMax: number;
  /** Slots of workers that were ended, out of use for good. */
  readonly slotsRetired: number;
  /** Times that the writer's worker was ended in the middle of its work, and replaced. */
  readonly writersReplaced: number;
  /** Workers that help long searches; searches that asked them; parts of those that they did. */
  readonly helpers: number;
  readonly searchesShared: number;
  readonly chunksHelped: number;
  /** The slot that holds the oldest version, and that version. */
  readonly oldestSlot: number;
  readonly oldestSequence: number;
  /** Writes that wait for the writer. */
  readonly ringDepth: number;
  /** Whether rows are measured from a sample's centre. */
  readonly calibrated: boolean;
  /** The instruction set in use. */
  readonly kernel: string;
  /** Whether threads share the index. */
  readonly threads: boolean;
  /** Whether this realm can share memory. */
  readonly isolated: boolean;
  readonly backend: 'wasm' | 'native';
}

/** Search over the newest version, in one thread. */
export interface Reader extends Disposable {
  readonly dim: number;
  readonly metric: Metric;
  readonly bits: number;
  /** Live rows of the newest version. */
  readonly size: number;
  /** The newest version's number. */
  readonly sequence: number;
  search(query: Vector, options?: SearchOptions): Hits;
  searchBatch(queries: Queries, options?: SearchOptions): Hits[];
  searchAsync(query: Vector, options?: AsyncSearchOptions): Promise<Hits>;
  has(id: Id | string): boolean;
  get(id: Id | string): Float32Array | undefined;
  filter(ids: IdList): Filter;
  snapshot(): Snapshot;
  stats(): Stats;
  close(): Promise<void>;
}

/** The read methods over one version that stays as it is until this is disposed. */
export type Snapshot = Reader;

/** How an IndexCache opens files; what it does not have of OpenOptions is the cache's own. */
export type CacheOptions =
  Omit<OpenOptions, 'maxBytes' | 'readOnly' | 'create' | 'signal' | 'onProgress'>;

/** An index that a cache has open, and closes. */
export type CachedReader = Omit<Reader, 'close' | keyof Disposable>;

export interface CacheStats {
  /** Of gets: the index was open; and all others. */
  readonly hits: number;
  readonly misses: number;
  /** Files that were opened; that could not be, or had no room; indexes closed to make room. */
  readonly opens: number;
  readonly failures: number;
  readonly evictions: number;
  /** Of the open indexes, as last measured: at every 64th hit of one that has changed. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** Open ones. */
  readonly indexes: number;
  readonly sessions: number;
}

/**
 * What `share()` returns: pass it to other workers by postMessage. Its fields are nobody's
 * business.
 */
export interface SharedIndex {
  readonly vicinal: 'shared-index';
}
