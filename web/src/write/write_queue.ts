// Writes on their way: checked, encoded in slices, submitted in the order of the calls, and
// answered.
//
// Thread safety: belongs to the realm that created the index.
// I1: a message is submitted after those of all earlier calls.
// I2: no slice of encoding takes much more than kSliceMs; what a slice leaves is copied before the
//     event loop or any code of the caller's runs, so that callers may change or transfer their
//     arrays as soon as the call has returned, or in its onProgress.
// I3: nothing is queued after close(): user code runs before the check of a call, not behind it.
// I4: a write that rejects before its submit has changed nothing.
// I5: rows are encoded for the calibration that is there when their message is made: none is made
//     while a calibration is on its way.
import {
  VicinalError, closedError, statusError, throwIfAborted,
} from '../errors.js';
import type { CoreBackend, Handle, MessageKind, MessageOutcome } from '../backend/core_backend.js';
import type { Applier } from '../backend/home.js';
import type { IdWords } from '../id_codec.js';
import { yieldToLoop } from '../platform/environment.js';
import type { WriteOptions } from '../types.js';
import type { RowSource } from '../vector_input.js';

const kSliceMs = 3;

/** One write, its input checked. */
export interface Write {
  readonly kind: MessageKind;
  /** Rows or ids. */
  readonly count: number;
  readonly ids: IdWords;
  readonly rows: RowSource | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: WriteOptions['onProgress'];
}

class Job {
  readonly write: Write;
  readonly count: number;
  message: Handle = 0;
  encoded = 0;
  resolve!: (outcome: MessageOutcome) => void;
  reject!: (error: unknown) => void;
  readonly done: Promise<MessageOutcome>;

  constructor(write: Write) {
    this.write = write;
    this.count = write.count;
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.done.catch(() => undefined);  // the caller gets it too, and may be late
  }

  keep(): void {
    this.write.rows?.keep(this.encoded);
  }
}

type Step = 'submitted' | 'slice is over' | 'writer must go on';

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

  constructor(backend: CoreBackend, index: Handle) {
    this.#backend = backend;
    this.#index = index;
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
  add(write: Write): Promise<MessageOutcome> {
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

  /** Answers every message that is done. */
  settle(): void {
    for (const [message, job] of this.#submitted) {
      const outcome = this.#backend.outcome(message);
      if (!outcome) continue;
      this.#submitted.delete(message);
      this.#backend.releaseMessage(message);
      this.#sequence = Math.max(this.#sequence, outcome.sequence);
      if (outcome.status.code === 0) job.resolve(outcome);
      else job.reject(statusError(outcome.status));
    }
    this.#onRoom?.();
    this.#rest();
  }

  /** Nothing will be applied any more: every write without an outcome rejects. */
  die(error: VicinalError): void {
    this.#death = error;
    // Their memory is lost: nobody can tell whether the writer still looks at it.
    for (const job of this.#submitted.values()) job.reject(error);
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
      await (step === 'writer must go on' ? this.#room() : yieldToLoop());
      deadline = performance.now() + kSliceMs;
    }
    this.#running = false;
    this.#rest();
  }

  #advance(job: Job, deadline: number): Step {
    const { kind, ids, signal, onProgress } = job.write;
    if (this.#death) throw this.#death;
    throwIfAborted(signal);
    if (job.message === 0) {
      if (job.write.rows && this.#calibrating()) return 'writer must go on';  // I5
      job.message = this.#backend.createMessage(this.#index, kind, job.count, ids);
    }
    this.#encode(job, deadline);
    if (onProgress) {
      job.keep();
      onProgress({ done: job.encoded, total: job.count });
      throwIfAborted(signal);
    }
    if (job.write.rows && job.encoded < job.count) return 'slice is over';
    if (!this.#backend.submit(job.message)) {
      if (this.#submitted.size > 0) return 'writer must go on';
      throw new VicinalError('BUSY', 'the writer takes no messages at the moment');
    }
    this.#waiting.shift();
    this.#submitted.set(job.message, job);
    this.#applier?.submitted();
    return 'submitted';
  }

  #calibrating(): boolean {
    for (const job of this.#submitted.values()) {
      if (job.write.kind === 'calibrate') return true;
    }
    return false;
  }

  #encode(job: Job, deadline: number): void {
    const { rows } = job.write;
    if (!rows) {
      job.encoded = job.count;
      return;
    }
    const slice = this.#backend.stagingRows(job.message);
    while (job.encoded < job.count) {
      const count = Math.min(slice, job.count - job.encoded);
      rows.read(job.encoded, count, this.#backend.staging(job.message));
      this.#backend.encode(job.message, job.encoded, count);
      job.encoded += count;
      if (performance.now() >= deadline) return;
    }
  }

  #drop(job: Job, error: unknown): void {
    this.#waiting.splice(this.#waiting.indexOf(job), 1);
    if (job.message !== 0) this.#backend.releaseMessage(job.message);
    job.reject(error);
  }

  /** When a message is done, or nothing will be. */
  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = () => {
        this.#onRoom = undefined;
        resolve();
      };
    });
  }
}
