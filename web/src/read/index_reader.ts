// The read methods, over the newest version or over one that was kept.
//
// Thread safety: a reader belongs to the realm that opened it.
// I1: user code runs before the reader's block is filled, never between that and the copy of the
//     result, so a callback that searches through the same reader finds it unused.
// I2: user code may close the reader: the handle is asked for right before the core is, and nothing
//     of the core's is opened behind that but what close() knows of.
// I3: the core keeps an index's memory as long as a reader of it is open.
import type { CoreBackend, Handle } from '../backend/core_backend.js';
import type { Home } from '../backend/home.js';
import { kAsyncDispose, kDispose } from '../dispose.js';
import { VicinalError, abortable, closedError, throwIfAborted } from '../errors.js';
import { Filter } from '../filter.js';
import { toHits, type FoundRows } from '../hits.js';
import { packId } from '../id_codec.js';
import { checkSignal, type IndexShape } from '../index_options.js';
import { canShare } from '../platform/environment.js';
import { checkSearchOptions, type SearchRequest } from '../search_options.js';
import type {
  AsyncSearchOptions, Hits, Id, IdList, Metric, Queries, Reader, SearchOptions, Snapshot, Stats,
  Vector,
} from '../types.js';
import { queryVector, queryVectors } from '../vector_input.js';
import { CompiledFilters } from './compiled_filters.js';

/**
 * What a reader is made of. It takes over the reader's handle and one entry of the home.
 */
export interface ReaderParts {
  readonly home: Home;
  readonly index: Handle;
  readonly shape: IndexShape;
  readonly handle: Handle;
  /** Whether it shows one version for ever. */
  readonly fixed: boolean;
  /** Readers that end with the index they were taken from. */
  readonly family: Set<IndexReader>;
}

/**
 * Search over an index. Every method is to be called in the realm that has the reader; none waits
 * for the writer or for another reader. After `close()`, or when the index was closed: CLOSED.
 */
export class IndexReader implements Reader, AsyncDisposable {
  readonly #parts: ReaderParts;
  readonly #backend: CoreBackend;
  readonly #filters: CompiledFilters;
  #closed = false;
  #closing: Promise<void> | undefined;
  /** The reader that another thread may have at this moment; 0 until there is one. */
  #lent: Handle = 0;
  readonly #underWay = new Set<Promise<FoundRows>>();

  /** @internal */
  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#backend = parts.home.backend;
    this.#filters = new CompiledFilters(this.#backend);
    parts.family.add(this);
  }

  get dim(): number {
    return this.#parts.shape.dim;
  }

  get metric(): Metric {
    return this.#parts.shape.metric;
  }

  get bits(): number {
    return this.#parts.shape.bits;
  }

  /** Live rows of the version that a search would see now. CLOSED. */
  get size(): number {
    return this.#backend.refresh(this.#handle()).rows;
  }

  /** The number of the version that a search would see now. CLOSED. */
  get sequence(): number {
    return this.#backend.refresh(this.#handle()).sequence;
  }

  /**
   * The rows nearest to `query` (dim numbers), best first, in one committed version. Synchronous,
   * takes no lock and waits for nobody, on a page's main thread as well.
   * @throws VicinalError DIMENSION, NOT_FINITE (naming the coordinate), BAD_OPTION (naming the
   *   option), BAD_ID, FULL (no memory for k or the filter), WOULD_BLOCK (minSequence is not
   *   reached), CLOSED; whatever the filter's iterator throws.
   */
  search(query: Vector, options: SearchOptions = {}): Hits {
    const { shape } = this.#parts;
    this.#handle();
    const request = checkSearchOptions(options, shape.ids);
    const vector = queryVector(query, shape.dim);
    const handle = this.#handle();
    const compiled = this.#filters.of(handle, request);
    return this.#hits(this.#backend.search(handle, vector, request, compiled), request);
  }

  /**
   * One result for each query: `n * dim` numbers, or an array of vectors. All are answered by one
   * version, the newest when the call begins, and are what `search` would find there, to the bit.
   * @throws as `search`, naming the query, before any is answered for what the queries' form shows;
   *   FULL when the queries and their results do not fit in the memory together.
   */
  searchBatch(queries: Queries, options: SearchOptions = {}): Hits[] {
    const { shape } = this.#parts;
    this.#handle();
    const request = checkSearchOptions(options, shape.ids);
    const vectors = queryVectors(queries, shape.dim);
    const handle = this.#handle();
    const compiled = this.#filters.of(handle, request);
    const count = vectors.length / shape.dim;
    return this.#backend.searchBatch(handle, vectors, count, request, compiled)
      .map((found) => this.#hits(found, request));
  }

  /**
   * As `search`, outside this turn of the event loop: in a worker of this realm, started by the
   * first call, or on this thread where the index has no threads. The query is copied before it
   * returns.
   * @returns a promise that rejects with what `search` throws, ABORTED, or IO when the worker
   *   ended.
   */
  async searchAsync(query: Vector, options: AsyncSearchOptions = {}): Promise<Hits> {
    const { home, shape } = this.#parts;
    this.#handle();
    const request = checkSearchOptions(options, shape.ids);
    const signal = checkSignal(options.signal);
    throwIfAborted(signal);
    const vector = new Float32Array(queryVector(query, shape.dim));
    this.#handle();
    const lent = this.#lend();
    const answer = home.searcher.search(lent, vector, request);
    this.#underWay.add(answer);
    answer.then(
      () => this.#underWay.delete(answer),
      (error: unknown) => {
        this.#underWay.delete(answer);
        if (error instanceof VicinalError && error.code === 'IO') this.#lose(lent, error);
      });
    return this.#hits(await abortable(answer, signal), request);
  }

  /** Whether a row has this id. BAD_ID, CLOSED. */
  has(id: Id | string): boolean {
    return this.#backend.has(this.#handle(), packId(id, this.#parts.shape.ids));
  }

  /** The vector that the row's code stands for, dim numbers; undefined without such a row. */
  get(id: Id | string): Float32Array | undefined {
    const { dim, ids } = this.#parts.shape;
    return this.#backend.get(this.#handle(), packId(id, ids), dim);
  }

  /**
   * Checks and packs a list of ids for the `filter` of many searches, of any reader. BAD_ID naming
   * the position.
   */
  filter(ids: IdList): Filter {
    this.#handle();
    return Filter.of(ids, this.#parts.shape.ids);
  }

  /**
   * The version that is newest now, as it is, until it is disposed: close it, since it keeps what
   * the version needs in memory. BUSY when all reader slots are taken.
   */
  snapshot(): Snapshot {
    const handle = this.#backend.snapshotReader(this.#handle());
    this.#parts.home.enter();
    return new IndexReader({ ...this.#parts, handle, fixed: true });
  }

  /**
   * A moment's figures of the whole index, also on a snapshot. BUSY when all reader slots are
   * taken, since it needs one for that moment; CLOSED.
   */
  stats(): Stats {
    this.#backend.refresh(this.#handle());  // CLOSED when the index is
    const found = this.#backend.stats(this.#parts.index);
    return {
      size: found.rows,
      sequence: found.sequence,
      dead: found.dead,
      bytes: {
        segments: found.segmentBytes, idTable: found.idTableBytes, versions: found.versionBytes,
        strings: found.stringBytes, originals: found.originalBytes,
        retired: found.retiredBytes, shared: found.sharedBytes, total: found.totalBytes,
        leaked: found.leakedBytes,
      },
      segments: found.segments,
      readers: found.readers,
      readersMax: found.readersMax,
      slotsRetired: found.slotsRetired,
      writersReplaced: found.writersReplaced,
      helpers: found.helpers,
      searchesShared: found.searchesShared,
      chunksHelped: found.chunksHelped,
      oldestSlot: found.oldestSlot,
      oldestSequence: found.oldestSequence,
      ringDepth: found.ringDepth,
      calibrated: found.calibrated,
      kernel: found.kernel,
      threads: this.#backend.threads,
      isolated: canShare(),
      backend: 'wasm',
    };
  }

  /** Gives the reader's slot back. Calls of searchAsync that are under way are answered. */
  close(): Promise<void> {
    return this.#closing ??= this.#release();
  }

  [kDispose](): void {
    void this.close();
  }

  [kAsyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal From now on CLOSED, though not closed yet. */
  protected seal(): void {
    this.#closed = true;
  }

  async #release(): Promise<void> {
    const { home, handle, family } = this.#parts;
    this.#closed = true;
    family.delete(this);
    this.#backend.closeReader(handle);
    if (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    if (this.#lent !== 0) this.#backend.closeReader(this.#lent);
    await home.leave();
  }

  #handle(): Handle {
    if (this.#closed) throw closedError(this.#parts.fixed ? 'snapshot' : 'index or reader');
    return this.#parts.handle;
  }

  #lend(): Handle {
    const { index, handle, fixed } = this.#parts;
    if (this.#lent === 0) {
      this.#lent = fixed
        ? this.#backend.snapshotReader(handle) : this.#backend.openReader(index);
    }
    return this.#lent;
  }

  /** A worker that ended may still be in there: its pin stays until it is known not to be. */
  #lose(lent: Handle, error: VicinalError): void {
    const { home } = this.#parts;
    const death = home.searcher.deathOf(error);
    if (!death || this.#lent !== lent) return;  // no worker had it
    this.#lent = 0;
    home.enter();
    void death.then((whole) => {
      this.#backend.abandonReader(lent, whole);
      return home.leave();
    });
  }

  #hits(found: FoundRows, request: SearchRequest): Hits {
    if (found.sequence < request.minSequence) {
      throw new VicinalError('WOULD_BLOCK', `version ${request.minSequence} is not there yet:`
        + ` the newest here is ${found.sequence}`);
    }
    return toHits(found, this.#parts.shape.ids);
  }
}
