// Workers that help the long searches of one index: each sleeps in the core until a search asks.
//
// I1: a worker touches the index before its 'stopped' only, and not at all when it is told to stop
//     before it has begun.
// I2: one that ends at its work is replaced, a few times in all: the core has mended its death
//     before another one could notice it (platform/realm_watch.ts).
// I3: once `stop` was called no worker hears of the index any more, whatever was being started.
import type { FromWorker, ToWorker } from '../platform/worker_protocol.js';
import { isOurs } from '../platform/worker_protocol.js';
import { kStartMs, kStopMs, openWorker, type WorkerPort } from '../platform/worker_port.js';
import { lockReleased } from '../platform/realm_watch.js';
import { within } from '../platform/within.js';
import { VicinalError, abortable, closedError } from '../errors.js';
import type { Handle } from './core_backend.js';
import type { ThreadInstance } from './thread_instance.js';

const kControlBytes = 64;
const kReplacementsMax = 8;

interface HelperWorker {
  port: WorkerPort;
  ready: boolean;
  ended: boolean;
  stopped: Promise<boolean>;
  onStopped: (stopped: boolean) => void;
}

export class HelperWorkers {
  readonly #instance: ThreadInstance;
  readonly #index: Handle;
  readonly #script: URL | undefined;
  readonly #control: number;
  readonly #workers = new Set<HelperWorker>();
  #replacements = 0;
  #stopping = false;

  constructor(instance: ThreadInstance, index: Handle, script: URL | undefined) {
    this.#instance = instance;
    this.#index = index;
    this.#script = script;
    this.#control = instance.backend.allocate(kControlBytes);
  }

  /** Resolves when `count` more are at work. IO, BUSY (32 help already), FULL, ABORTED. */
  async start(count: number, signal: AbortSignal | undefined): Promise<void> {
    await abortable(Promise.all(Array.from({ length: count }, () => this.#startOne())), signal);
  }

  /** When none touches the index any more, or has not said so for kStopMs. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const { words, backend } = this.#instance;
    Atomics.store(words, this.#control >>> 2, 1);
    backend.wakeHelpers(this.#index);
    const all = await Promise.all(Array.from(this.#workers, async (worker) => {
      worker.port.hold();
      const stopped = worker.ended || await within(worker.stopped, kStopMs, () => false);
      await worker.port.terminate();
      return stopped;
    }));
    // Otherwise one may still look there.
    if (all.every(Boolean)) backend.release(this.#control);
  }

  async #startOne(): Promise<void> {
    let onReady!: () => void;
    let onFailure!: (error: VicinalError) => void;
    const ready = new Promise<void>((resolve, reject) => {
      onReady = resolve;
      onFailure = reject;
    });
    ready.catch(() => undefined);
    let onStopped!: (stopped: boolean) => void;
    const stopped = new Promise<boolean>((resolve) => { onStopped = resolve; });
    const end = (error: VicinalError): void => {
      onFailure(error);
      onStopped(true);  // it runs no more, or never began
      if (worker) this.#ended(worker);
    };
    let worker: HelperWorker | undefined;
    const port = await openWorker(this.#script, {
      onMessage: (message) => {
        if (!isOurs(message)) return;
        const event = message as FromWorker;
        if (event.vicinal === 'ready') {
          if (worker) worker.ready = true;
          onReady();
          this.#watch(event.life, end);
        }
        if (event.vicinal === 'stopped') onStopped(true);
        if (event.vicinal === 'died') end(new VicinalError(event.code, event.message));
      },
      onEnd: end,
    });
    if (this.#stopping) {  // I3
      await port.terminate();
      throw closedError('index');
    }
    worker = { port, ready: false, ended: false, stopped, onStopped };
    this.#workers.add(worker);
    port.hold();
    try {
      port.post({
        vicinal: 'help', heap: this.#instance.heap, index: this.#index, control: this.#control,
      } satisfies ToWorker);
      await within(ready, kStartMs, () => {
        throw new VicinalError('IO', `a helper's worker gave no answer in ${kStartMs} ms`);
      });
    } finally {
      port.free();
    }
  }

  /** A page hears nothing else of a worker that was terminated by others. */
  #watch(life: number | undefined, end: (error: VicinalError) => void): void {
    if (life === undefined) return;
    void lockReleased({ heap: this.#instance.heap.id, life }).then(() => {
      end(new VicinalError('IO', 'a helper of the index has ended'));
    });
  }

  #ended(worker: HelperWorker): void {
    if (worker.ended) return;
    worker.ended = true;
    this.#workers.delete(worker);
    void worker.port.terminate();
    if (!worker.ready || this.#stopping || this.#replacements >= kReplacementsMax) return;
    ++this.#replacements;
    this.#startOne().catch(() => undefined);  // then searches have one helper less
  }
}
