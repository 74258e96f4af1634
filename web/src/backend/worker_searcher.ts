// Searches in a worker of their own, started by the first one.
//
// I1: a worker's calls, its death and its stop are its own: what comes late from one that was
//     stopped concerns nobody else.
import { VicinalError } from '../errors.js';
import type { FoundRows } from '../hits.js';
import { within } from '../platform/within.js';
import { isOurs, type FromWorker, type ToWorker } from '../platform/worker_protocol.js';
import { lockReleased } from '../platform/realm_watch.js';
import { kStartMs, kStopMs, openWorker, type WorkerPort } from '../platform/worker_port.js';
import type { SearchRequest } from '../search_options.js';
import type { Handle } from './core_backend.js';
import type { Searcher } from './home.js';
import type { HeapHandle } from './thread_instance.js';

interface Call {
  resolve(found: FoundRows): void;
  reject(error: VicinalError): void;
}

/** When the worker runs no more that an error tells of; see Searcher.deathOf. */
const deaths = new WeakMap<VicinalError, Promise<boolean>>();

class SearchWorker {
  readonly #heap: string;
  readonly #calls = new Map<number, Call>();
  readonly #onDeath: (worker: SearchWorker) => void;
  /** When the worker is at work. */
  readonly #port: Promise<WorkerPort>;
  #death: VicinalError | undefined;
  #life: number | undefined;
  #ready: { resolve: () => void; reject: (error: VicinalError) => void } | undefined;
  #stopped: (() => void) | undefined;
  #lastCall = 0;

  constructor(
    heap: HeapHandle, script: URL | undefined, parent: number | undefined,
    onDeath: (worker: SearchWorker) => void,
  ) {
    this.#heap = heap.id;
    this.#onDeath = onDeath;
    this.#port = this.#open(heap, script, parent);
    this.#port.catch(() => undefined);  // told to each call
  }

  async search(reader: Handle, query: Float32Array, request: SearchRequest): Promise<FoundRows> {
    const port = await this.#port;
    if (this.#death) throw this.#death;
    const call = ++this.#lastCall;
    port.hold();
    try {
      return await new Promise<FoundRows>((resolve, reject) => {
        this.#calls.set(call, { resolve, reject });
        port.post({ vicinal: 'search', call, reader, query, request } satisfies ToWorker);
      });
    } finally {
      this.#calls.delete(call);
      port.free();
    }
  }

  async stop(): Promise<void> {
    const port = await this.#port.catch(() => undefined);
    if (!port || this.#death) return;
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
      port.post({ vicinal: 'read', heap, parent } satisfies ToWorker);
      await within(ready, kStartMs, () => {
        throw new VicinalError('IO', `the worker for searches gave no answer in ${kStartMs} ms`);
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
      this.#life = event.life;
      this.#ready?.resolve();
    }
    if (event.vicinal === 'found') this.#calls.get(event.call)?.resolve(event.found);
    if (event.vicinal === 'failed') {
      this.#calls.get(event.call)?.reject(new VicinalError(event.code, event.message));
    }
    if (event.vicinal === 'stopped') this.#stopped?.();
    if (event.vicinal === 'died') this.#die(new VicinalError(event.code, event.message));
  }

  #die(error: VicinalError): void {
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
    // One that was never at work has no reader.
    const port = this.#port.catch(() => new Promise<never>(() => undefined));
    const exited = port.then(({ exited: gone }) => gone).then(() => true);
    const life = this.#life;
    if (life === undefined) return exited;
    const released = lockReleased({ heap: this.#heap, life }).then(() => false);
    return Promise.race([exited, released]);
  }
}

export class WorkerSearcher implements Searcher {
  readonly #heap: HeapHandle;
  readonly #script: URL | undefined;
  readonly #parent: number | undefined;
  #worker: SearchWorker | undefined;

  /**
   * @param script of the worker, when it is not where it is by default.
   * @param parent the lockedLife of this realm.
   */
  constructor(heap: HeapHandle, script: URL | undefined, parent: number | undefined) {
    this.#heap = heap;
    this.#script = script;
    this.#parent = parent;
  }

  search(reader: Handle, query: Float32Array, request: SearchRequest): Promise<FoundRows> {
    this.#worker ??= new SearchWorker(this.#heap, this.#script, this.#parent, (dead) => {
      if (this.#worker === dead) this.#worker = undefined;
    });
    return this.#worker.search(reader, query, request);
  }

  deathOf(error: VicinalError): Promise<boolean> | undefined {
    return deaths.get(error);
  }

  /** When no call is under way. A later one starts another worker. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.stop();
  }
}
