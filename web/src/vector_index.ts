import type { Handle, MessageKind } from './backend/core_backend.js';
import type { Applier, ApplierEvents, Helpers, Home } from './backend/home.js';
import { attachHome, openHome } from './backend/open_home.js';
import { kAbiVersion } from './backend/blocks.js';
import type { HeapHandle } from './backend/thread_instance.js';
import { VicinalError, abortable, throwIfAborted, unsupported } from './errors.js';
import { countIds, packIds, type PackedIds } from './id_codec.js';
import type { ByteSource } from './files/byte_source.js';
import { MemorySink, saveTo, type ByteSink } from './files/byte_sink.js';
import type { FileClaim, FilePlace } from './files/index_file.js';
import { loadIndex } from './files/load_index.js';
import { canLiveIn, idKindOf, livingPlace, openIndexFile } from './files/open_index_file.js';
import { openSource, sinkAt } from './files/places.js';
import {
  badOption, checkIndexOptions, checkLoadOptions, checkOpenOptions, checkPlaces, checkProgress,
  checkSignal, type IndexShape, type OpenPlan,
} from './index_options.js';
import { workerAddress } from './platform/worker_port.js';
import { IndexReader, type ReaderParts } from './read/index_reader.js';
import type {
  Id, IndexOptions, LoadOptions, OpenOptions, OpenSource, Reader, Receipt, SaveOptions, SaveTarget,
  SharedIndex, Vectors, WriteOptions,
} from './types.js';
import { flatRows, rowSource, type RowSource } from './vector_input.js';
import { Flusher } from './write/flusher.js';
import { WriteQueue, type Write, type WriteOutcome } from './write/write_queue.js';

/** What SharedIndex is, to us. */
interface SharedParts extends SharedIndex {
  readonly abi: number;
  readonly heap: HeapHandle;
  readonly index: Handle;
  readonly shape: IndexShape;
  readonly worker: string | undefined;
}

interface IndexParts extends ReaderParts {
  readonly queue: WriteQueue;
  /** None of an index that is opened for reading. */
  readonly applier: Applier | undefined;
  /** Of an index that lives in a file. */
  readonly file: { readonly claim: FileClaim; readonly flusher: Flusher } | undefined;
  /** Of one that others write. */
  readonly follower: Applier | undefined;
  readonly helpers: Helpers;
  readonly worker: string | undefined;
}

interface IndexMade {
  readonly index: Handle;
  readonly shape: IndexShape;
  /** Already at work, where the index lives in a file. */
  readonly file?: { readonly claim: FileClaim; readonly applier: Applier };
}

/**
 * An index: rows of `dim` numbers under ids, found by nearness.
 *
 * Writes are applied one after the other in the order of the calls, each as a whole: a search sees
 * all of a write or nothing, unless it is asked to land in parts (`atomic: false`). A write copies
 * its ids and vectors before the call returns, then works in slices of a few milliseconds, so that
 * the event loop goes on; on a main thread a worker encodes the rows of large writes.
 *
 * Thread safety: the object belongs to the realm that created it, which alone writes; other workers
 * read through `share()` and `VectorIndex.attach()`.
 */
export class VectorIndex extends IndexReader {
  readonly #parts: IndexParts;
  #closing: Promise<void> | undefined;
  /** Under way. */
  readonly #saves = new Set<Promise<void>>();

  private constructor(parts: IndexParts) {
    if ((parts as Partial<IndexParts> | undefined)?.home === undefined) {
      throw new VicinalError('UNSUPPORTED',
        'new VectorIndex: an index is made by await VectorIndex.create(options)');
    }
    super(parts);
    this.#parts = parts;
  }

  /**
   * An empty index. The first call of a realm loads the WebAssembly file and makes the memory.
   * @returns a promise that rejects with VicinalError BAD_OPTION (naming the option), UNSUPPORTED,
   *   FULL (no memory), IO (a file or the worker could not be had), CORRUPT or VERSION (the file is
   *   damaged, or another version's), ABORTED; whatever onProgress throws.
   */
  static async create(options: IndexOptions, load: LoadOptions = {}): Promise<VectorIndex> {
    const shape = checkIndexOptions(options);
    const plan = checkLoadOptions(load);
    checkPlaces(options, load);
    workerAddress(load.worker);  // told before anything is loaded
    const home = await openHome(plan, load);
    const make = async (): Promise<IndexMade> =>
      ({ index: home.backend.createIndex(shape, plan.maxBytes), shape });
    return VectorIndex.#begin(home, load, { ...plan, readOnly: false }, make);
  }

  /**
   * An index in a file, or from the bytes of one. A string or URL is a path or file URL in Node,
   * else an address to fetch; 'opfs:NAME' is a file of the origin's private file system.
   *
   * What such a place holds, or with `create` is to hold, is an index that lives there: every write
   * goes to the file as well. It is there for whoever opens the file later, and survives a loss of
   * power with `durable` or after `flush`. One writes at a time. With `readOnly` the index follows
   * what others write there, in this realm or another, a moment later (a copy of now without
   * threads). Of whatever else is opened (bytes, a Blob, a Response, a stream, an address, a handle
   * of a file elsewhere, a file of format 1 or 2) the index is a copy in memory: the file is not
   * kept open, and nothing is written to it but by `save`. Bytes in memory that change before the
   * promise is settled are CORRUPT. Options of the index come from the file.
   * @returns a promise that rejects, nothing made, with CORRUPT, VERSION (a newer format), FULL
   *   (`maxBytes`, or no room for the file), BUSY (naming who writes to it), IO (no such file,
   *   unreadable, a stream that failed, and as `create`), BAD_ID (see `ids`), BAD_OPTION,
   *   UNSUPPORTED, ABORTED; whatever onProgress throws.
   */
  static async open(source: OpenSource, options: OpenOptions = {}): Promise<VectorIndex> {
    const plan = checkOpenOptions(options);
    const { onProgress, signal, ...load } = options;
    workerAddress(load.worker);
    throwIfAborted(signal);
    const told = {
      ...(onProgress && { onProgress: onProgress.bind(options) }), ...(signal && { signal }),
    };
    const place = await livingPlace(source, plan, signal);
    if (place) {
      const home = await openHome(plan, signal ? { ...load, signal } : load);
      if (canLiveIn(home, plan)) return VectorIndex.#openPlace(home, place, options, plan, told);
    }
    const bytes = await sourceOf(source, signal, plan);
    try {
      const home = await openHome(plan, signal ? { ...load, signal } : load);
      return await VectorIndex.#begin(home, options, plan, async () => {
        if (!bytes) {
          const shape = plan.create!;
          return { index: home.backend.createIndex(shape, plan.maxBytes), shape };
        }
        return loadIndex(home.backend, bytes, { ...plan, ...told });
      });
    } finally {
      await bytes?.cancel().catch(() => undefined);
    }
  }

  static async #openPlace(
    home: Home, place: FilePlace, options: OpenOptions, plan: OpenPlan,
    told: Pick<OpenOptions, 'signal' | 'onProgress'>,
  ): Promise<VectorIndex> {
    const claim = await (plan.readOnly ? place.follow() : place.claim(plan.create !== undefined));
    try {
      return await VectorIndex.#begin(home, options, plan, async (events) => {
        const { applier, loaded } =
          await openIndexFile(home, claim, plan, options.worker, events, told);
        try {
          const shape = { ...loaded.shape, ids: idKindOf(loaded, plan.ids) };
          return { index: loaded.index, shape, file: { claim, applier } };
        } catch (error) {
          await applier.stop();
          home.backend.releaseIndex(loaded.index);
          throw error;
        }
      });
    } catch (error) {
      await claim.release(true);
      throw error;
    }
  }

  /** The index that `make` makes, with all that belongs to it, or nothing. */
  static async #begin(
    home: Home, load: LoadOptions, plan: Pick<OpenPlan, 'readOnly' | 'helpers'>,
    make: (events: ApplierEvents) => Promise<IndexMade>,
  ): Promise<VectorIndex> {
    const { backend } = home;
    home.enter();
    let index: Handle = 0;
    let handle: Handle = 0;
    let applier: Applier | undefined;
    let helpers: Helpers | undefined;
    let queue: WriteQueue | undefined;
    let flusher: Flusher | undefined;
    let follower: Applier | undefined;
    let made: VectorIndex;
    const events: ApplierEvents = {
      onApplied: () => queue?.settle() ?? false,
      onDeath(error) {
        queue?.die(error);
        flusher?.die(error);
      },
      onFlushed: (asks, error) => flusher?.answered(asks, error),
      onReplaced: () => flusher?.askAgain(),
    };
    try {
      const worker = workerAddress(load.worker)?.href;
      const { shape, file, ...found } = await make(events);
      index = found.index;
      if (plan.readOnly) follower = file?.applier;
      else applier = file?.applier;
      handle = backend.openReader(index);
      queue = new WriteQueue(backend, index, shape.dim, home.encoder);
      if (!plan.readOnly) {
        applier ??= await home.startWriter(index, load.worker, events, load.signal);
        queue.setApplier(applier);
      }
      if (file && applier) flusher = new Flusher(backend, index, applier);
      helpers = await home.startHelpers(index, plan.helpers, load.signal);
      const family = new Set<IndexReader>();
      made = new VectorIndex({
        home, index, shape, handle, fixed: false, family, queue, applier, helpers, worker,
        follower, file: file && flusher && { claim: file.claim, flusher },
      });
    } catch (error) {
      await (applier ?? follower)?.stop();
      await abandon(home, index, handle);
      throw error;
    }
    if (load.signal?.aborted) await (made.#closing = made.#end(true));
    throwIfAborted(load.signal);
    return made;
  }

  /**
   * A reader of an index that another worker shares, in this realm, on the same memory: 4,096 at
   * once with snapshots and the index's own, in any number of workers.
   * @returns a promise that rejects with CLOSED (the index is gone), VERSION (another version of
   *   this package shares it), BUSY (all reader slots are taken: close readers), FULL, BAD_OPTION
   *   (it is no handle).
   */
  static async attach(handle: SharedIndex): Promise<Reader> {
    const { heap, index, shape, worker } = checkShared(handle);
    const home = await attachHome(heap, worker === undefined ? undefined : new URL(worker));
    try {
      const reader = home.backend.openReader(index);
      const family = new Set<IndexReader>();
      return new IndexReader({ home, index, shape, handle: reader, fixed: false, family });
    } catch (error) {
      await home.leave();
      throw error;
    }
  }

  /**
   * Adds rows. `vectors`: `ids.length * dim` numbers, or one array for each id.
   * @returns a promise that rejects, nothing added (with `atomic: false`: what the error's `landed`
   *   tells), with DUPLICATE_ID (naming the id: present, or
   *   twice in the call), DIMENSION, NOT_FINITE (row and coordinate), BAD_ID, BAD_OPTION, FULL,
   *   BUSY (readers hold too much old memory), ABORTED, CLOSED, IO (the writer has ended).
   */
  async add(
    ids: ArrayLike<Id> | ArrayLike<string>, vectors: Vectors, options: WriteOptions = {},
  ): Promise<Receipt> {
    return this.#writeRows('add', ids, vectors, options);
  }

  /** As `add`, but rows whose id is present are replaced, in the same step. */
  async upsert(
    ids: ArrayLike<Id> | ArrayLike<string>, vectors: Vectors, options: WriteOptions = {},
  ): Promise<Receipt> {
    return this.#writeRows('upsert', ids, vectors, options);
  }

  /** Removes the rows with these ids; `removed` tells how many there were. Errors as `add`. */
  async remove(
    ids: ArrayLike<Id> | ArrayLike<string>, options: WriteOptions = {},
  ): Promise<Receipt & { removed: number }> {
    this.#check();
    const checked = this.#checked(options);
    const words = packIds(ids, this.#parts.shape.ids);
    const receipt = await this.#write('remove', words, undefined, checked);
    return { ...receipt, removed: receipt.count };
  }

  /** Removes every row that the writes before have left. */
  async clear(options: WriteOptions = {}): Promise<Receipt> {
    this.#check();
    return this.#write('clear', kNoIds, undefined, this.#checked(options));
  }

  /**
   * Fits the index to where vectors lie. Rows are measured from the centre of `sample` from now on,
   * which raises recall where vectors do not lie around zero, as embeddings of text: pass rows of
   * the kind that will be added, some hundreds to a thousand, drawn evenly. Works while the index
   * has no rows; `clear` keeps the calibration, calibrating again replaces it.
   * @param sample `dim` numbers for each of at least 32 rows, one row after the other; of more than
   *   1,024 rows as many are used.
   * @returns a promise that rejects, nothing changed, with BAD_OPTION (the index has rows, or the
   *   sample too few), DIMENSION, NOT_FINITE, UNSUPPORTED (metric 'ip': rows of equal length are
   *   ranked alike by 'cosine'), FULL, BUSY, ABORTED, CLOSED, IO.
   */
  async calibrate(sample: Float32Array, options: WriteOptions = {}): Promise<Receipt> {
    const { queue, shape } = this.#parts;
    this.#check();
    const checked = this.#checked(options);
    if (shape.metric === 'ip') throw unsupported("calibrate for metric 'ip'");
    const { rows, count } = flatRows(sample, shape.dim, 'sample');
    const write: Write = {
      kind: 'calibrate', count, partCount: Infinity, ids: kNoIds, rows, ...checked,
    };
    return this.#written(queue.add(write), checked);
  }

  /**
   * Rewrites, beside searches and other writes, what holds removed and replaced rows now, and small
   * parts together. Results stay as they are; the memory is free as soon as no reader keeps a
   * version from before. The index does this by itself where such rows become many. What does not
   * fit into memory is left as it is.
   * @returns a promise of how many of them went (`count`); it rejects with ABORTED (before it
   *   began), FULL, BUSY, CLOSED, IO.
   */
  async compact(options: WriteOptions = {}): Promise<Receipt> {
    this.#check();
    return this.#write('compact', kNoIds, undefined, this.#checked(options));
  }

  /**
   * Resolves when every write of an earlier call has its outcome, good or bad; also when the index
   * is closed meanwhile. Where the index lives in a file, what they have made of it survives a loss
   * of power then.
   * @returns a promise that rejects with CLOSED (it was closed before), and of a file with IO (it
   *   cannot be written, and READ_ONLY from then on), FULL (no room for it: what is not in the file
   *   stays in memory and is written as soon as there is).
   */
  async flush(): Promise<Receipt> {
    const { queue, file } = this.#parts;
    queue.check();
    await queue.flush();
    const { sequence } = queue;
    await file?.flusher.ask();
    return { sequence, count: 0 };
  }

  /**
   * What another worker needs to `attach`: post it as often as you like. It keeps nothing alive;
   * after the index was closed, attaching it is CLOSED.
   * @throws VicinalError UNSUPPORTED without threads, CLOSED.
   */
  share(): SharedIndex {
    const { home, index, shape, worker, queue } = this.#parts;
    queue.checkOpen();
    const parts: SharedParts = {
      vicinal: 'shared-index', abi: kAbiVersion, heap: home.share(), index, shape, worker,
    };
    return parts;
  }

  /**
   * Writes the index to a file: what writes of earlier calls have made of it, as one version.
   * Searches and later writes go on meanwhile. `target`: in Node a path or file URL; 'opfs:NAME',
   * a file of the origin's private file system; or a file handle. The old file is replaced in one
   * step, whatever happens: in Node when the new one is on the disk. The file that the index lives
   * in is not replaced but flushed.
   * @returns a promise that rejects, the old file untouched, with IO, FULL (no memory, or no room
   *   for the file), BUSY (somebody else writes to the file, whom it names, or no reader slot),
   *   UNSUPPORTED (the platform cannot write there), BAD_OPTION, ABORTED, CLOSED; whatever
   *   onProgress throws.
   */
  async save(target: SaveTarget, options: SaveOptions = {}): Promise<void> {
    this.#parts.queue.checkOpen();
    const checked = checkSaveOptions(options);
    const open = sinkAt(target);
    const { file } = this.#parts;
    return this.#save(open, checked, file?.claim.isAt(target));
  }

  /** The bytes that `save` would write, in memory of their own. Errors as `save`. */
  async toBytes(options: SaveOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    this.#parts.queue.checkOpen();
    const checked = checkSaveOptions(options);
    let sink: MemorySink | undefined;
    await this.#save(async (totalBytes) => sink = new MemorySink(totalBytes), checked);
    return sink!.bytes;
  }

  /**
   * Ends the index: later calls, also of its snapshots and of readers in other workers, are CLOSED.
   * Resolves when the writes and saves of earlier calls have their outcomes and the writer has
   * gone. The memory is given back when the readers in other workers have closed, too.
   * @returns a promise that rejects, when all of that is done, with FULL (no room) or IO: the file
   *   that the index lived in lacks what was written last, and no flush has told.
   */
  override close(): Promise<void> {
    return this.#closing ??= this.#end(false);
  }

  /** `unmade`: a file that was made for the index goes again. */
  async #end(unmade: boolean): Promise<void> {
    const { home, index, queue, applier, helpers, family, file, follower } = this.#parts;
    this.seal();
    await queue.close();
    await Promise.allSettled(this.#saves);
    await file?.flusher.settled();
    const lost = await (applier ?? follower)?.stop();
    family.delete(this);
    await Promise.all(Array.from(family, (reader) => reader.close()));
    await helpers.stop();
    home.backend.closeIndex(index);
    home.backend.releaseIndex(index);
    await file?.claim.release(unmade);
    await super.close();
    if (lost) throw lost;
  }

  #checked(options: WriteOptions): CheckedOptions {
    return checkWriteOptions(options, this.#parts.file !== undefined);
  }

  /** CLOSED, READ_ONLY, or what has ended the writer. */
  #check(): void {
    const { queue, applier } = this.#parts;
    queue.check();
    if (!applier) throw new VicinalError('READ_ONLY', 'the index was opened with readOnly: true');
  }

  /** `isOwn`: whether it goes to the file that the index lives in. */
  #save(
    open: (totalBytes: number) => Promise<ByteSink>, options: SaveOptions,
    isOwn: Promise<boolean> = Promise.resolve(false),
  ): Promise<void> {
    const { home, handle, queue, file } = this.#parts;
    const { signal } = options;
    // A later write is not waited for, and close() waits for this from now on.
    const save = abortable(Promise.all([isOwn, queue.flush()]), signal)
      .then(([own]) => own ? abortable(file!.flusher.ask(), signal)
        : saveTo(home.backend, handle, open, options))
      .finally(() => this.#saves.delete(save));
    this.#saves.add(save);
    return save;
  }

  #writeRows(
    kind: 'add' | 'upsert', ids: unknown, vectors: Vectors, options: WriteOptions,
  ): Promise<Receipt> {
    const { shape } = this.#parts;
    this.#check();
    const checked = this.#checked(options);
    const words = packIds(ids, shape.ids);
    const rows = rowSource(vectors, countIds(words), shape.dim);
    return this.#write(kind, words, rows, checked);
  }

  async #write(
    kind: MessageKind, ids: PackedIds, rows: RowSource | undefined, options: CheckedOptions,
  ): Promise<Receipt> {
    const count = countIds(ids);
    const { shape, queue } = this.#parts;
    if (count > 0 || kind === 'clear' || kind === 'compact') {
      const partCount = options.atomic ? Infinity : partOf(kind, shape.dim);
      return this.#written(queue.add({ kind, count, partCount, ids, rows, ...options }), options);
    }
    throwIfAborted(options.signal);
    await queue.flush();
    return this.#written({ sequence: queue.sequence, affected: 0 }, options);
  }

  /** The receipt of a write, when it is as certain as it was asked to be. */
  async #written(
    outcome: WriteOutcome | Promise<WriteOutcome>, { durable }: CheckedOptions,
  ): Promise<Receipt> {
    const { file } = this.#parts;
    const { sequence, affected } = await outcome;
    if (durable) await file!.flusher.ask();
    return { sequence, count: affected };
  }
}

const kNoIds: PackedIds = new Uint32Array(0);

/** A part's rows as they come, or a removal's ids with what undoing it takes. */
const kPartBytes = 2 ** 22;

function partOf(kind: MessageKind, dim: number): number {
  return kind === 'remove' ? kPartBytes / 16 : Math.max(1, Math.floor(kPartBytes / (4 * dim)));
}

type CheckedOptions = Pick<Write, 'signal' | 'onProgress'> & {
  readonly atomic: boolean;
  readonly durable: boolean;
};

/** The caller's options, looked at once and before its rows: a getter is user code. */
function checkWriteOptions(options: WriteOptions, lives: boolean): CheckedOptions {
  if (typeof options !== 'object' || options === null) {
    throw badOption('write options', options, 'an object');
  }
  const { durable = false, atomic = true, onProgress } = options;
  const signal = checkSignal(options.signal);
  checkProgress(onProgress);
  if (typeof durable !== 'boolean') throw badOption('durable', durable, 'a boolean');
  if (typeof atomic !== 'boolean') throw badOption('atomic', atomic, 'a boolean');
  if (durable && !lives) throw unsupported('durable: true for an index in memory');
  return {
    atomic, durable, signal,
    onProgress: onProgress && ((progress) => onProgress.call(options, progress)),
  };
}

function checkSaveOptions(options: SaveOptions): SaveOptions {
  if (typeof options !== 'object' || options === null) {
    throw badOption('save options', options, 'an object');
  }
  const { signal, onProgress } = options;
  return {
    ...(signal && { signal }), ...(onProgress && { onProgress: onProgress.bind(options) }),
  };
}

/** A file's bytes; undefined where it is still to be made. IO, ABORTED. */
async function sourceOf(
  source: OpenSource, signal: AbortSignal | undefined, plan: OpenPlan,
): Promise<ByteSource | undefined> {
  const orNew = plan.create !== undefined && !plan.readOnly;
  const found = Promise.resolve(openSource(source, signal, orNew));
  try {
    const bytes = await abortable(found, signal);
    if (bytes || orNew) return bytes;
  } catch (error) {
    // One that comes late is of no use.
    found.then((late) => late?.cancel()).catch(() => undefined);
    throw error;
  }
  const { name = String(source) } = source as { name?: string };
  throw new VicinalError('IO', `${name}: there is no such file`);
}

function checkShared(handle: SharedIndex): SharedParts {
  const parts = handle as SharedParts | null | undefined;
  if (parts?.vicinal !== 'shared-index' || !(parts.heap?.memory instanceof WebAssembly.Memory)
      || !(parts.heap.module instanceof WebAssembly.Module)) {
    throw badOption('handle', handle, 'what share() returned');
  }
  if (parts.abi !== kAbiVersion) {
    throw new VicinalError('VERSION', 'the index is shared by another version of this package');
  }
  return parts;
}

async function abandon(home: Home, index: Handle, reader: Handle): Promise<void> {
  if (reader !== 0) home.backend.closeReader(reader);
  if (index !== 0) home.backend.releaseIndex(index);
  await home.leave();
}
