// Many index files behind one budget: opened when they are first asked for, closed by a clock when
// others need the room.
//
// I1: an entry with pins is not closed, but by `close`: a session has it in hand, or somebody waits
//     for its opening. Whoever waits pins before the wait, so that it is there afterwards.
// I2: the bytes of open entries are at most the budget, but for those that grew while they were
//     pinned. None is closed for what has no room even so.
// I3: a file that cannot be opened is forgotten when those who waited for it know why.
// I4: what is closed counts no more; its memory is there once `#closing` is settled.
// I5: users get a LentReader: nobody but the cache can close an index.
import { kAsyncDispose, kDispose } from './dispose.js';
import { VicinalError, abortable, closedError, throwIfAborted } from './errors.js';
import { badOption, checkOpenOptions, checkSignal } from './index_options.js';
import { LentReader } from './read/lent_reader.js';
import type { CacheOptions, CacheStats, CachedReader } from './types.js';
import { VectorIndex } from './vector_index.js';

/** So many hits, and it is looked at whether the index has grown. */
const kHitsPerLook = 64;
/** A file that memory has no room for is opened so often: alone in the end. */
const kOpeningsMax = 3;

interface Entry {
  readonly key: string;
  /** Once it is open. */
  index: VectorIndex | undefined;
  lent: LentReader | undefined;
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
 * Each is opened with `readOnly`. With threads it follows whoever writes to its file, by a worker
 * of its own; without them it stays what it was when it was opened, until `drop`. A file that
 * several ask for is opened once. When an index has no room, those go that were not used again
 * since the clock's hand came by, but never one that a session has in hand.
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
  readonly #openings = new Set<Promise<void>>();
  readonly #sessions = new Set<CacheSession>();
  readonly #counts = { hits: 0, misses: 0, opens: 0, failures: 0, evictions: 0 };
  #closed: Promise<void> | undefined;

  /**
   * Opens nothing.
   * @param maxBytes what all open indexes may hold together, at least 1. One that is being opened
   *   is beside it until it has been measured.
   * @param options of each opening, as VectorIndex.open has them.
   * @throws VicinalError BAD_OPTION, UNSUPPORTED.
   */
  constructor(maxBytes: number, options: CacheOptions = {}) {
    if (!(maxBytes >= 1)) throw badOption('maxBytes', maxBytes, 'a number of bytes above 0');
    checkOpenOptions({ ...options, maxBytes });
    const { ids, wasm, worker, threads, simd, backend } = options;
    const given = Object.entries({ ids, wasm, worker, threads, simd, backend });
    this.#maxBytes = Math.floor(maxBytes);
    this.#options = Object.fromEntries(given.filter(([, value]) => value !== undefined));
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
    return wasOpen;  // one that is being opened is opened once more
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
    while (this.#openings.size > 0) await Promise.allSettled(this.#openings);
    for (const entry of [...this.#clock]) {
      this.#entries.delete(entry.key);
      this.#forget(entry);
      this.#closeIndex(entry);  // whoever waited for it finds it gone
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
      const had = this.#entries.get(key);
      const entry = had ?? this.#begin(key);
      if (had) had.used = true;
      ++entry.pins;
      try {
        await abortable(entry.opening ?? Promise.resolve(), signal);
      } catch (error) {
        this.#release(entry);
        throw error;
      }
      if (entry.index && !entry.dropped) return entry;
      this.#release(entry);  // dropped while it was opened
    }
  }

  #begin(key: string): Entry {
    const entry: Entry = {
      key, index: undefined, lent: undefined, opening: undefined, pins: 0, used: false, bytes: 0,
      hitsLeft: kHitsPerLook, sequence: 0, dropped: false,
    };
    this.#entries.set(key, entry);
    const opening = this.#open(entry);
    entry.opening = opening;
    this.#openings.add(opening);
    // An error is told to who waits, if anybody still does.
    opening.catch(() => undefined).finally(() => this.#openings.delete(opening));
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

  /** One that memory has no room for gets that of another one, then that of all that can go. */
  async #openFile(key: string): Promise<VectorIndex> {
    for (let turn = 1; ; ++turn) {
      try {
        return await VectorIndex.open(key,
          { ...this.#options, readOnly: true, maxBytes: this.#maxBytes });
      } catch (error) {
        const isFull = error instanceof VicinalError && error.code === 'FULL';
        if (!isFull || turn === kOpeningsMax || this.#closed || isTooLarge(error, this.#maxBytes)) {
          throw error;
        }
        const went = this.#evictOne();
        if (!went && this.#closing.size === 0) throw error;
        while (turn > 1 && this.#evictOne()) { /* all of them */ }
        await Promise.all(this.#closing);
      }
    }
  }

  async #admit(entry: Entry, index: VectorIndex): Promise<void> {
    try {
      if (this.#closed) throw closedError('cache');
      if (entry.dropped) return await index.close();
      const { bytes: { total: bytes }, sequence } = index.stats();
      if (!this.#makeRoom(bytes)) {
        throw new VicinalError('FULL', 'the memory budget is reached'
          + ` (${this.#bytes + bytes} of ${this.#maxBytes} in use): an index of ${bytes} bytes has`
          + ' no room beside those in use');
      }
      entry.index = index;
      entry.lent = new LentReader(index);
      entry.bytes = bytes;
      entry.sequence = sequence;
      this.#bytes += bytes;
      this.#clock.push(entry);
    } catch (error) {
      await index.close();
      throw error;
    }
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

  /** Closes indexes until `more` bytes fit, or none where they cannot. Whether they do. */
  #makeRoom(more: number): boolean {
    const used = this.#clock.reduce((sum, { pins, bytes }) => pins > 0 ? sum + bytes : sum, 0);
    if (more > 0 && used + more > this.#maxBytes) return false;
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
    entry.lent = undefined;
    const closing = index.close().catch(() => undefined)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** Whether it is FULL because of the budget for one index, which is as large as that for all. */
function isTooLarge(error: unknown, maxBytes: number): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes(` of ${maxBytes} in use`) || isTooLarge(error.cause, maxBytes);
}

/** What a session needs of its cache. */
interface CacheHooks {
  hit(key: string): Entry | undefined;
  get(key: string, signal: AbortSignal | undefined): Promise<Entry>;
  release(entry: Entry): void;
  leave(): void;
}

/**
 * Has one index of a cache in hand at a time; made by IndexCache.session(). Whoever needs two at
 * once has two sessions.
 */
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
    return entry.lent;
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
    return entry.lent!;
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
