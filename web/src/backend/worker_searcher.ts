// Searches in a worker of their own, started by the first one.
import { VicinalError } from '../errors.js';
import type { FoundRows } from '../hits.js';
import { isOurs, type FromWorker, type ToWorker } from '../platform/worker_protocol.js';
import { openWorker, type WorkerPort } from '../platform/worker_port.js';
import type { SearchRequest } from '../search_options.js';
import type { Handle } from './core_backend.js';
import type { Searcher } from './home.js';
import type { HeapHandle } from './thread_instance.js';

interface Call {
  resolve(found: FoundRows): void;
  reject(error: VicinalError): void;
}

export class WorkerSearcher implements Searcher {
  readonly #heap: HeapHandle;
  readonly #worker: URL | undefined;
  readonly #calls = new Map<number, Call>();
  #port: Promise<WorkerPort> | undefined;
  #stopped: (() => void) | undefined;
  #lastCall = 0;

  /** @param worker the script, when it is not where it is by default. */
  constructor(heap: HeapHandle, worker: URL | undefined) {
    this.#heap = heap;
    this.#worker = worker;
  }

  async search(reader: Handle, query: Float32Array, request: SearchRequest): Promise<FoundRows> {
    const port = await (this.#port ??= this.#open());
    const call = ++this.#lastCall;
    port.hold();
    try {
      return await new Promise<FoundRows>((resolve, reject) => {
        this.#calls.set(call, { resolve, reject });
        const message: ToWorker = { vicinal: 'search', call, reader, query, request };
        port.post(message);
      });
    } finally {
      this.#calls.delete(call);
      port.free();
    }
  }

  /** When no call is under way. A later one starts another worker. */
  async stop(): Promise<void> {
    const opening = this.#port;
    this.#port = undefined;
    const port = await opening?.catch(() => undefined);
    if (!port) return;
    port.hold();
    await new Promise<void>((resolve) => {
      this.#stopped = resolve;
      port.post({ vicinal: 'stop' } satisfies ToWorker);
    });
    this.#stopped = undefined;
    await port.terminate();
  }

  async #open(): Promise<WorkerPort> {
    try {
      const port = await openWorker(this.#worker, {
        onMessage: (message) => this.#message(message),
        onEnd: (error) => this.#end(error),
      });
      port.post({ vicinal: 'read', heap: this.#heap } satisfies ToWorker);
      return port;
    } catch (error) {
      this.#port = undefined;
      throw error;
    }
  }

  #message(message: unknown): void {
    if (!isOurs(message)) return;
    const event = message as FromWorker;
    if (event.vicinal === 'found') this.#calls.get(event.call)?.resolve(event.found);
    if (event.vicinal === 'failed') {
      this.#calls.get(event.call)?.reject(new VicinalError(event.code, event.message));
    }
    if (event.vicinal === 'stopped') this.#stopped?.();
    if (event.vicinal === 'died') this.#end(new VicinalError(event.code, event.message));
  }

  #end(error: VicinalError): void {
    this.#port?.then((port) => port.terminate(), () => undefined);
    this.#port = undefined;
    this.#stopped?.();
    for (const call of this.#calls.values()) call.reject(error);
  }
}
