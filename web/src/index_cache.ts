// Many index files behind one budget: opened when they are first asked for, closed by a clock when
// others need the room.
//
// I1: an entry with pins is not closed: a session has it in hand, or somebody waits for its
//     opening. Whoever waits pins before the wait, so that it is there afterwards.
// I2: the bytes of open entries are at most the budget, but for those that grew while they were
//     pinned.
// I3: a file that cannot be opened is forgotten when those who waited for it know why.
// I4: what is closed counts no more; its memory is there once `#closing` is settled.
import { kAsyncDispose, kDispose } from './dispose.js';
import { VicinalError, abortable, closedError, throwIfAborted } from './errors.js';
import { badOption, checkOpenOptions, checkSignal } from './index_options.js';
import type { CacheOptions, CacheStats, CachedReader } from './types.js';
import { VectorIndex } from './vector_index.js';

/** So many hits, and it is looked at whether the index has grown. */
const kHitsPerLook = 64;

interface Entry {
  readonly key: string;
  /** Once it is open. */
  index: VectorIndex | undefined;
  opening: Promise<void> | undefined;
  pins: number;
  /** Since the clock's hand was here. */
  used: boolean;
  bytes: number;
  hitsLeft: number;
  sequence: number;
  /** To be closed when nobody has it in hand. */
  dropped: boolean;
}

/**
 * Indexes in files, by name, of which as many are open as a number of bytes allows.
 *
 * Each is opened with `readOnly` where a path is the place of an index, and follows whoever writes
 * there. A file that several ask for is opened once. When an index has no room, those go that were
 * not used since the clock's hand came by last, but never one that a session has in hand.
 *
 * Thread safety: belongs to the realm that made it; other workers have caches of their own.
 */
export class IndexCache implements AsyncDisposable {
  readonly #maxBytes: number;
  readonly #options: CacheOptions;
  readonly #entries = new Map<string, Entry>();
  /** The same in the order of the clock; the hand is before #clock[#hand]. */
  #clock: Entry[] = [];
  #hand = 0;
  #bytes = 0;
  readonly #closing = new Set<Promise<void>>();
  readonly #sessions = new Set<CacheSession>();
  readonly #counts = { hits: 0, misses: 0, opens: 0, failures: 0, evictions: 0 };
  #closed: Promise<void> | undefined;

  /**
   * Opens nothing.
   * @param maxBytes what all open indexes may hold together, above 0.
   * @param options of each opening, as VectorIndex.open has them.
   * @throws VicinalError BAD_OPTION, UNSUPPORTED.
   */
  constructor(maxBytes: number, options: CacheOptions = {}) {
    checkOpenOptions({ ...options, maxBytes });
    this.#maxBytes = Math.floor(maxBytes);
    this.#options = options;
  }

  /** A user of the cache, who has one index in hand at a time: a request, say. */
  session(): CacheSession {
    if (this.#closed) throw closedError('cache');
    const session = new CacheSession({
      hit: (key) => this.#hit(key),
      get: (key, signal) => this.#get(key, signal),
      release: (pinned) => this.#release(pinned),
      leave: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    return session;
  }

  /**
   * The next `get` opens the file anew: for files that were replaced by something other than a
   * writer of this library, which tells those who follow. Who has the old one in hand keeps it
   * until its session's next call. Whether it was open.
   */
  drop(source: string | URL): boolean {
    const entry = this.#entries.get(keyOf(source));
    if (!entry) return false;
    this.#entries.delete(entry.key);
    entry.dropped = true;
    const wasOpen = entry.index !== undefined;
    if (wasOpen) this.#forget(entry);
    return wasOpen;
  }

  /** Looks at the size of every index, and closes what is too much. */
  async trim(): Promise<void> {
    for (const entry of this.#clock) this.#measure(entry);
    this.#makeRoom(0);
    await Promise.all(this.#closing);
  }

  stats(): CacheStats {
    return {
      ...this.#counts, bytes: this.#bytes, maxBytes: this.#maxBytes,
      indexes: this.#clock.length, sessions: this.#sessions.size,
    };
  }

  /** Closes every index, also those in hand; sessions are CLOSED from now on. */
  close(): Promise<void> {
    return this.#closed ??= this.#end();
  }

  [kAsyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    for (const session of [...this.#sessions]) session.close();
    const openings = [...this.#entries.values()].map(({ opening }) => opening?.catch(() => {}));
    await Promise.all(openings);
    for (const entry of [...this.#clock]) {
      this.#forget(entry);
      this.#entries.delete(entry.key);
    }
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  #hit(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (!entry?.index) return undefined;
    ++this.#counts.hits;
    entry.used = true;
    ++entry.pins;
    if (--entry.hitsLeft === 0) this.#look(entry);
    return entry;
  }

  async #get(key: string, signal: AbortSignal | undefined): Promise<Entry> {
    ++this.#counts.misses;
    for (;;) {
      throwIfAborted(signal);
      if (this.#closed) throw closedError('cache');
      const entry = this.#entries.get(key) ?? this.#begin(key);
      ++entry.pins;
      try {
        await abortable(entry.opening ?? Promise.resolve(), signal);
      } catch (error) {
        this.#release(entry);
        throw error;
      }
      if (entry.index && !entry.dropped) {
        entry.used = true;
        return entry;
      }
      this.#release(entry);  // dropped while it was opened
    }
  }

  #begin(key: string): Entry {
    const entry: Entry = {
      key, index: undefined, opening: undefined, pins: 0, used: true, bytes: 0,
      hitsLeft: kHitsPerLook, sequence: 0, dropped: false,
    };
    this.#entries.set(key, entry);
    entry.opening = this.#open(entry);
    entry.opening.catch(() => undefined);  // told to who waits, if anybody still does
    return entry;
  }

  async #open(entry: Entry): Promise<void> {
    try {
      const index = await this.#openFile(entry.key);
      ++this.#counts.opens;
      await this.#admit(entry, index);
    } catch (error) {
      ++this.#counts.failures;
      if (!entry.dropped) this.#entries.delete(entry.key);  // I3
      throw error;
    } finally {
      entry.opening = undefined;
    }
  }

  /** One that has no memory beside the others gets that of one after the other. */
  async #openFile(key: string): Promise<VectorIndex> {
    for (;;) {
      try {
        return await VectorIndex.open(key,
          { ...this.#options, readOnly: true, maxBytes: this.#maxBytes });
      } catch (error) {
        const isFull = error instanceof VicinalError && error.code === 'FULL';
        if (!isFull || (!this.#evictOne() && this.#closing.size === 0)) throw error;
        await Promise.all(this.#closing);
      }
    }
  }

  async #admit(entry: Entry, index: VectorIndex): Promise<void> {
    const bytes = index.stats().bytes.total;
    if (this.#closed || entry.dropped) {
      await index.close();
      if (this.#closed) throw closedError('cache');
      return;
    }
    if (!this.#makeRoom(bytes)) {
      await index.close();
      throw new VicinalError('FULL', 'the memory budget is reached'
        + ` (${this.#bytes + bytes} of ${this.#maxBytes} in use): an index of ${bytes} bytes has`
        + ' no room beside those in use');
    }
    entry.index = index;
    entry.bytes = bytes;
    entry.sequence = index.sequence;
    this.#bytes += bytes;
    this.#clock.push(entry);
  }

  #release(entry: Entry): void {
    --entry.pins;
    if (entry.dropped && entry.pins === 0) this.#closeIndex(entry);
  }

  #look(entry: Entry): void {
    entry.hitsLeft = kHitsPerLook;
    const sequence = entry.index!.sequence;
    if (sequence === entry.sequence) return;
    this.#measure(entry);
    this.#makeRoom(0);
  }

  #measure(entry: Entry): void {
    const { bytes, sequence } = entry.index!.stats();
    this.#bytes += bytes.total - entry.bytes;
    entry.bytes = bytes.total;
    entry.sequence = sequence;
  }

  /** Closes indexes until `more` bytes fit. Whether they do. */
  #makeRoom(more: number): boolean {
    while (this.#bytes + more > this.#maxBytes && this.#evictOne()) { /* one after the other */ }
    return this.#bytes + more <= this.#maxBytes;
  }

  /** Whether one could go: each one's use is forgotten once, then it goes. */
  #evictOne(): boolean {
    for (let steps = 2 * this.#clock.length; steps > 0; --steps) {
      if (this.#hand >= this.#clock.length) this.#hand = 0;
      const entry = this.#clock[this.#hand]!;
      if (entry.pins > 0 || entry.used) {
        entry.used = entry.pins > 0 && entry.used;
        ++this.#hand;
        continue;
      }
      ++this.#counts.evictions;
      this.#entries.delete(entry.key);
      this.#forget(entry);
      return true;
    }
    return false;
  }

  /** An open entry that nobody finds any more counts no more, and goes when nobody has it. */
  #forget(entry: Entry): void {
    const at = this.#clock.indexOf(entry);
    if (at < this.#hand) --this.#hand;
    this.#clock.splice(at, 1);
    this.#bytes -= entry.bytes;
    entry.dropped = true;
    if (entry.pins === 0) this.#closeIndex(entry);
  }

  #closeIndex(entry: Entry): void {
    const { index } = entry;
    if (!index) return;
    entry.index = undefined;
    const closing = index.close().catch(() => undefined)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** What a session needs of its cache. */
interface CacheHooks {
  hit(key: string): Entry | undefined;
  get(key: string, signal: AbortSignal | undefined): Promise<Entry>;
  release(entry: Entry): void;
  leave(): void;
}

/** Has one index of a cache in hand at a time; made by IndexCache.session(). */
export class CacheSession implements Disposable {
  readonly #hooks: CacheHooks;
  #inHand: Entry | undefined;
  #closed = false;
  /** Counts calls: an opening that ends after a later one is not put in hand. */
  #calls = 0;

  /** @internal */
  constructor(hooks: CacheHooks) {
    this.#hooks = hooks;
  }

  /**
   * A reader of the index at `source` if it is open, at once; valid until this session's next call.
   * @throws VicinalError CLOSED, BAD_OPTION.
   */
  hit(source: string | URL): CachedReader | undefined {
    const key = this.#begin(source);
    const entry = this.#hooks.hit(key);
    if (!entry) return undefined;
    this.#inHand = entry;
    return entry.index;
  }

  /**
   * A reader of the index at `source`, a path or file URL in Node, 'opfs:NAME', or an address;
   * valid until this session's next call. Opens the file where nobody has. An index that outgrows
   * the whole budget while it is open stays at the version that fitted.
   * @returns a promise that rejects as VectorIndex.open, with FULL where the index has no room
   *   beside those in use, ABORTED (the opening goes on for others; also when this session was
   *   called again meanwhile), CLOSED.
   */
  async get(
    source: string | URL, options: { signal?: AbortSignal } = {},
  ): Promise<CachedReader> {
    const signal = checkSignal(options.signal);
    throwIfAborted(signal);
    const key = this.#begin(source);
    const call = this.#calls;
    const entry = this.#hooks.hit(key) ?? await this.#hooks.get(key, signal);
    if (this.#calls !== call) {
      this.#hooks.release(entry);
      throw this.#closed ? closedError('session')
        : new VicinalError('ABORTED', 'the session was asked for something else meanwhile');
    }
    this.#inHand = entry;
    return entry.index!;
  }

  /** What is in hand is the cache's again. */
  close(): void {
    if (this.#closed) return;
    this.#release();
    this.#closed = true;
    this.#hooks.leave();
  }

  [kDispose](): void {
    this.close();
  }

  #begin(source: string | URL): string {
    if (this.#closed) throw closedError('session');
    const key = keyOf(source);
    this.#release();
    return key;
  }

  #release(): void {
    ++this.#calls;
    const entry = this.#inHand;
    this.#inHand = undefined;
    if (entry) this.#hooks.release(entry);
  }
}

function keyOf(source: unknown): string {
  if (source instanceof URL) return source.href;
  if (typeof source === 'string' && source !== '') return source;
  throw badOption('source', source, 'a path, an address or a URL');
}
