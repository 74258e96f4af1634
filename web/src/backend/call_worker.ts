// A worker of this realm's that answers calls: started by the first one, replaced when it ends.
//
// I1: a worker's calls, its death and its stop are its own: what comes late from one that was
//     stopped concerns nobody else.
// I2: what a call lends to a worker is the worker's from `onPosted` to the answer. When there is
//     none it is until the worker is known to run no more; see deathOf.
import { VicinalError } from '../errors.js';
import { lockReleased } from '../platform/realm_watch.js';
import { within } from '../platform/within.js';
import { isOurs, type FromWorker, type ToWorker } from '../platform/worker_protocol.js';
import { kStartMs, kStopMs, openWorker, type WorkerPort } from '../platform/worker_port.js';
import type { HeapHandle } from './thread_instance.js';

export type CallAnswer = Extract<FromWorker, { vicinal: 'found' | 'encoded' }>;

interface Call {
  resolve(answer: CallAnswer): void;
  reject(error: VicinalError): void;
}

/** When the worker runs no more that an error tells of. */
const deaths = new WeakMap<VicinalError, Promise<boolean>>();

/**
 * For the error of a call whose worker has ended: resolves when it is known to run no more, which
 * may never be; true: nor does its thread.
 */
export function deathOf(error: VicinalError): Promise<boolean> | undefined {
  return deaths.get(error);
}

class OneWorker {
  readonly #heap: string;
  readonly #calls = new Map<number, Call>();
  readonly #onDeath: (worker: OneWorker) => void;
  /** When the worker is at work. */
  readonly #port: Promise<WorkerPort>;
  #death: VicinalError | undefined;
  #life: number | undefined;
  #ready: { resolve: () => void; reject: (error: VicinalError) => void } | undefined;
  #stopped: (() => void) | undefined;
  #leaving = false;
  #lastCall = 0;

  constructor(
    heap: HeapHandle, script: URL | undefined, parent: number | undefined,
    onDeath: (worker: OneWorker) => void,
  ) {
    this.#heap = heap.id;
    this.#onDeath = onDeath;
    this.#port = this.#open(heap, script, parent);
    this.#port.catch(() => undefined);  // told to each call
  }

  async call(
    message: (call: number) => ToWorker, onPosted: (() => void) | undefined,
  ): Promise<CallAnswer> {
    const port = await this.#port;
    if (this.#death) throw this.#death;
    const call = ++this.#lastCall;
    port.hold();
    try {
      return await new Promise<CallAnswer>((resolve, reject) => {
        this.#calls.set(call, { resolve, reject });
        port.post(message(call));
        onPosted?.();
      });
    } finally {
      this.#calls.delete(call);
      port.free();
    }
  }

  async stop(): Promise<void> {
    const port = await this.#port.catch(() => undefined);
    if (!port || this.#death) return;
    this.#leaving = true;
    port.hold();
    const stopped = new Promise<void>((resolve) => {
      this.#stopped = resolve;
    });
    port.post({ vicinal: 'stop' } satisfies ToWorker);
    await within(stopped, kStopMs, () => undefined);
    await port.terminate();
  }

  async #open(
    heap: HeapHandle, script: URL | undefined, parent: number | undefined,
  ): Promise<WorkerPort> {
    let port: WorkerPort | undefined;
    try {
      port = await openWorker(script, {
        onMessage: (message) => this.#message(message),
        onEnd: (error) => this.#die(error),
      });
      port.hold();
      const ready = new Promise<void>((resolve, reject) => {
        this.#ready = { resolve, reject };
      });
      port.post({ vicinal: 'serve', heap, parent } satisfies ToWorker);
      await within(ready, kStartMs, () => {
        throw new VicinalError('IO', `a worker of the index gave no answer in ${kStartMs} ms`);
      });
      port.free();
      return port;
    } catch (error) {
      this.#onDeath(this);
      await port?.terminate();
      throw error;
    }
  }

  #message(message: unknown): void {
    if (!isOurs(message)) return;
    const event = message as FromWorker;
    if (event.vicinal === 'ready') {
      this.#atWork(event.life);
    }
    if (event.vicinal === 'found' || event.vicinal === 'encoded') {
      this.#calls.get(event.call)?.resolve(event);
    }
    if (event.vicinal === 'failed') {
      this.#calls.get(event.call)?.reject(new VicinalError(event.code, event.message));
    }
    if (event.vicinal === 'stopped') this.#stopped?.();
    if (event.vicinal === 'died') this.#die(new VicinalError(event.code, event.message));
  }

  #atWork(life: number | undefined): void {
    this.#ready?.resolve();
    if (life === undefined) return;
    this.#life = life;
    // A page hears nothing else of a worker that was terminated by others.
    void lockReleased({ heap: this.#heap, life }).then(() => {
      this.#die(new VicinalError('IO', 'a worker of the index has ended'));
    });
  }

  #die(error: VicinalError): void {
    if (this.#leaving) return;
    if (!this.#death) deaths.set(error, this.#proof());
    this.#death ??= error;
    this.#onDeath(this);
    this.#port.then((port) => port.terminate(), () => undefined);
    this.#ready?.reject(error);
    this.#stopped?.();
    for (const call of this.#calls.values()) call.reject(error);
  }

  /** Resolves when it runs no more; true: nor does its thread. */
  #proof(): Promise<boolean> {
    // One that was never at work was lent nothing.
    const port = this.#port.catch(() => new Promise<never>(() => undefined));
    const exited = port.then(({ exited: gone }) => gone).then(() => true);
    const life = this.#life;
    if (life === undefined) return exited;
    const released = lockReleased({ heap: this.#heap, life }).then(() => false);
    return Promise.race([exited, released]);
  }
}

export class CallWorker {
  readonly #heap: HeapHandle;
  readonly #script: URL | undefined;
  readonly #parent: number | undefined;
  #worker: OneWorker | undefined;

  /**
   * @param script of the worker, when it is not where it is by default.
   * @param parent the lockedLife of this realm.
   */
  constructor(heap: HeapHandle, script: URL | undefined, parent: number | undefined) {
    this.#heap = heap;
    this.#script = script;
    this.#parent = parent;
  }

  /** The answer; what the worker throws, or IO when it has ended: see deathOf. */
  call(message: (call: number) => ToWorker, onPosted?: () => void): Promise<CallAnswer> {
    this.#worker ??= new OneWorker(this.#heap, this.#script, this.#parent, (dead) => {
      if (this.#worker === dead) this.#worker = undefined;
    });
    return this.#worker.call(message, onPosted);
  }

  /** When no call is under way. A later one starts another worker. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.stop();
  }
}
