// Writes on their way: checked, encoded, submitted in the order of the calls, and answered.
//
// Thread safety: belongs to the realm that created the index.
// I1: a message is submitted after those of all earlier calls.
// I2: no slice of encoding takes much more than kSliceMs, and on a main thread with threads large
//     writes are not encoded at all but lent to the encoder's worker (lent_rows.ts); what a slice
//     leaves is copied before the event loop or any code of the caller's runs, so that callers may
//     change or transfer their arrays as soon as the call has returned, or in its onProgress.
// I3: nothing is queued after close(): user code runs before the check of a call, not behind it.
// I4: a write that rejects before its submit has changed nothing.
//     One in parts has changed what its parts before have landed, and its error tells.
// I5: rows are encoded for the calibration that is there when their message is made: none is made
//     while a calibration is on its way.
// I6: a part is one message, made when the part before it has landed: a write in parts stays the
//     first in the queue until its last part is submitted.
// I7: nothing here blocks or spins: a full ring, a writer and an encoder are waited for by their
//     next answer, or their death.
import {
  VicinalError, closedError, throwIfAborted, withLanded, writeError, type Landed,
} from '../errors.js';
import type { CoreBackend, Handle, MessageKind, MessageOutcome } from '../backend/core_backend.js';
import type { Applier, Encoder } from '../backend/home.js';
import { isStrings, sliceIds, type PackedIds } from '../id_codec.js';
import { yieldToLoop } from '../platform/environment.js';
import { sliceStrings, stringsWithin, unpackStrings } from '../string_ids.js';
import type { WriteOptions } from '../types.js';
import type { RowSource } from '../vector_input.js';
import { LentRows, type Filled, type Filling } from './lent_rows.js';

const kSliceMs = 3;
/** Of a part's strings. */
const kPartTextBytes = 2 ** 22;

/** One write, its input checked. */
export interface Write {
  readonly kind: MessageKind;
  /** Rows or ids, in all and at most in a part; Infinity: it lands as a whole. */
  readonly count: number;
  readonly partCount: number;
  readonly ids: PackedIds;
  readonly rows: RowSource | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: WriteOptions['onProgress'];
}

/** What became of it. */
export type WriteOutcome = Pick<MessageOutcome, 'sequence' | 'affected'>;

class Job implements Filling {
  readonly write: Write;
  /** Of the part at hand, with `count` rows behind the `before` of parts that have landed. */
  message: Handle = 0;
  before = 0;
  count: number;
  read = 0;
  encoded = 0;
  /** Where its rows are encoded. */
  lent = false;
  /** The writer has a part of it, and it is not the last one. */
  landing = false;
  landed: Landed | undefined;
  /** What a part came to. */
  error: unknown;
  resolve!: (outcome: WriteOutcome) => void;
  reject!: (error: unknown) => void;
  readonly done: Promise<WriteOutcome>;

  constructor(write: Write) {
    this.write = write;
    this.count = this.#partCount();
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.done.catch(() => undefined);  // the caller gets it too, and may be late
  }

  get rows(): RowSource {
    return this.write.rows!;
  }

  /** Rows or ids behind the part at hand. */
  get left(): number {
    return this.write.count - this.before - this.count;
  }

  get ids(): PackedIds {
    return sliceIds(this.write.ids, this.before, this.before + this.count);
  }

  /** The string of a row of the part at hand. */
  idOf(row: number): string {
    const { ids } = this.write;
    const at = this.before + row;
    return isStrings(ids) ? unpackStrings(sliceStrings(ids, at, at + 1))[0]! : String(at);
  }

  /** Of the part behind those that have landed. */
  #partCount(): number {
    const { count, partCount, ids } = this.write;
    const most = Math.min(count - this.before, partCount);
    if (!isStrings(ids) || partCount === Infinity || most < 2) return most;
    return stringsWithin(ids, this.before, most, kPartTextBytes);
  }

  keep(): void {
    this.write.rows?.keep(this.before + this.read);
  }

  /** The part at hand has landed, and the next may; or nothing behind it. */
  land({ sequence, affected }: MessageOutcome, error: VicinalError | undefined): void {
    this.error = error;
    this.message = 0;
    this.landing = false;
    if (error) return;
    this.landed = { sequence, count: (this.landed?.count ?? 0) + affected };
    this.before += this.count;
    this.count = this.#partCount();
    this.read = this.encoded = 0;
  }

  /** The last part, or the whole of it, has landed. */
  end({ sequence, affected }: MessageOutcome): void {
    this.resolve({ sequence, affected: (this.landed?.count ?? 0) + affected });
  }

  fail(error: unknown): void {
    this.reject(withLanded(error, this.landed));
  }
}

type Step = 'submitted' | 'slice is over' | 'others must go on';

export class WriteQueue {
  readonly #backend: CoreBackend;
  readonly #index: Handle;
  readonly #waiting: Job[] = [];
  readonly #submitted = new Map<Handle, Job>();
  #applier: Applier | undefined;
  #running = false;
  #closed = false;
  #death: VicinalError | undefined;
  #onRoom: (() => void) | undefined;
  #sequence = 0;
  readonly #lent: LentRows | undefined;

  /** @param encoder for large writes of rows; none: they are encoded here. */
  constructor(backend: CoreBackend, index: Handle, dim: number, encoder: Encoder | undefined) {
    this.#backend = backend;
    this.#index = index;
    this.#lent = encoder && new LentRows(backend, encoder, dim, () => this.#onRoom?.());
  }

  setApplier(applier: Applier): void {
    this.#applier = applier;
  }

  /** A version that shows every write that has its outcome. */
  get sequence(): number {
    return this.#sequence;
  }

  /** CLOSED. */
  checkOpen(): void {
    if (this.#closed) throw closedError('index');
  }

  /** CLOSED, or what has ended the writer. */
  check(): void {
    this.checkOpen();
    if (this.#death) throw this.#death;
  }

  /** Resolves when the write is visible. Takes its copy of the input before it returns. */
  add(write: Write): Promise<WriteOutcome> {
    throwIfAborted(write.signal);
    this.check();
    const job = new Job(write);
    this.#waiting.push(job);
    this.#applier?.setBusy(true);
    if (this.#running) job.keep();
    else void this.#run();
    return job.done;
  }

  /** When every write of an earlier call has its outcome. */
  async flush(): Promise<void> {
    const jobs = [...this.#submitted.values(), ...this.#waiting];
    await Promise.allSettled(jobs.map((job) => job.done));
  }

  /** Takes no more writes; when those before have their outcomes. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
  }

  /** Answers every message that is done. Whether there was one. */
  settle(): boolean {
    let any = false;
    for (const [message, job] of this.#submitted) {
      const outcome = this.#backend.outcome(message);
      if (!outcome) continue;
      any = true;
      this.#submitted.delete(message);
      this.#releaseMessage(message);
      this.#sequence = Math.max(this.#sequence, outcome.sequence);
      const ok = outcome.status.code === 0;
      const error = ok ? undefined : writeError(outcome.status, (row) => job.idOf(row));
      if (job.landing) job.land(outcome, error);
      else if (ok) job.end(outcome);
      else job.fail(error);
    }
    this.#onRoom?.();
    this.#rest();
    return any;
  }

  /** Nothing will be applied any more: every write without an outcome rejects. */
  die(error: VicinalError): void {
    this.#death = error;
    // Their memory is lost: nobody can tell whether the writer still looks at it.
    for (const job of this.#submitted.values()) {
      job.message = 0;
      job.landing = false;
      job.fail(error);
    }
    this.#submitted.clear();
    this.#onRoom?.();
    this.#rest();
  }

  #rest(): void {
    if (this.#submitted.size === 0 && this.#waiting.length === 0) this.#applier?.setBusy(false);
  }

  /** Runs up to its first await inside the call of `add`. */
  async #run(): Promise<void> {
    this.#running = true;
    let deadline = performance.now() + kSliceMs;
    for (let job = this.#waiting[0]; job !== undefined; job = this.#waiting[0]) {
      let step: Step = 'submitted';
      try {
        step = this.#advance(job, deadline);
        if (step !== 'submitted') job.keep();
      } catch (error) {
        this.#drop(job, error);
        continue;
      }
      if (step === 'submitted' && performance.now() < deadline) continue;
      // Jobs behind this one came while it ran, and have their copies.
      if (this.#waiting.length === 0) continue;
      await (step === 'others must go on' ? this.#room() : yieldToLoop());
      deadline = performance.now() + kSliceMs;
    }
    this.#running = false;
    this.#rest();
  }

  #advance(job: Job, deadline: number): Step {
    const { kind, signal, onProgress, rows, count } = job.write;
    if (this.#death) throw this.#death;
    if (job.error !== undefined) throw job.error;
    if (job.landing) return 'others must go on';
    throwIfAborted(signal);
    if (job.message === 0) {
      if (rows && this.#calibrating()) return 'others must go on';  // I5
      job.message = this.#backend.createMessage(this.#index, kind, job.count, job.ids);
      const lendable = kind === 'add' || kind === 'upsert';
      job.lent = lendable && this.#lent?.worthwhile(job.count) === true;
    }
    const filled = this.#encode(job, deadline);
    if (onProgress) {
      job.keep();
      onProgress({ done: job.before + job.encoded, total: count });
      throwIfAborted(signal);
    }
    if (filled !== 'whole') return filled === 'wait' ? 'others must go on' : 'slice is over';
    if (!this.#backend.submit(job.message)) {
      if (this.#submitted.size > 0) return 'others must go on';
      throw new VicinalError('BUSY', 'the writer takes no messages at the moment');
    }
    job.landing = job.left > 0;
    if (!job.landing) this.#waiting.shift();
    this.#submitted.set(job.message, job);
    this.#applier?.submitted();
    return job.landing ? 'others must go on' : 'submitted';
  }

  #calibrating(): boolean {
    for (const job of this.#submitted.values()) {
      if (job.write.kind === 'calibrate') return true;
    }
    return false;
  }

  #encode(job: Job, deadline: number): Filled {
    const { rows } = job.write;
    if (!rows) job.encoded = job.count;
    if (job.encoded === job.count) return 'whole';
    if (job.lent) return this.#lent!.fill(job);
    const slice = this.#backend.stagingRows(job.message);
    while (job.encoded < job.count) {
      const count = Math.min(slice, job.count - job.encoded);
      rows!.read(job.before + job.encoded, count, this.#backend.staging(job.message));
      this.#backend.encode(job.message, job.encoded, count, job.before);
      job.encoded = job.read = job.encoded + count;
      if (performance.now() >= deadline) break;
    }
    return job.encoded === job.count ? 'whole' : 'again';
  }

  #drop(job: Job, error: unknown): void {
    this.#waiting.splice(this.#waiting.indexOf(job), 1);
    if (job.message !== 0) this.#releaseMessage(job.message);
    job.fail(error);
  }

  #releaseMessage(message: Handle): void {
    if (this.#lent) this.#lent.releaseMessage(message);
    else this.#backend.releaseMessage(message);
  }

  /** When a message is done, rows have come back, or nothing will be done any more. */
  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = () => {
        this.#onRoom = undefined;
        resolve();
      };
    });
  }
}
