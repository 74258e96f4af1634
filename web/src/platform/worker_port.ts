// A worker of either platform behind one face, and how one is started.
//
// I1: a worker keeps a Node process alive only between hold() and the free() that belongs to it.
// I2: after onEnd was told, nothing else is.
import { spawnWebWorker, spawnWebWorkerAt, workerUrl } from '../assets.js';
import { toUrl } from '../backend/load_module.js';
import { VicinalError, messageOf } from '../errors.js';
import type { LoadOptions, WorkerLike } from '../types.js';
import { importNode, isNode } from './environment.js';
import { within } from './within.js';

/** A worker has its script, and has entered the memory, at most this much after it was started. */
export const kStartMs = 30_000;
/** A worker that is asked to stop is between two batches at most this much later. */
export const kStopMs = 10_000;
/** The platform ends a worker within this; what is not ours to wait for is left behind. */
const kTerminateMs = 5_000;

interface NodeWorker extends WorkerLike {
  on(event: 'message' | 'error' | 'exit', listener: (value: unknown) => void): void;
  ref?(): void;
  unref?(): void;
}

type NodeWorkers = {
  Worker: new (file: URL, options: { execArgv: string[]; name: string }) => NodeWorker;
};

export interface WorkerEvents {
  onMessage(message: unknown): void;
  /** It failed, exited, or could not be started. IO. */
  onEnd(error: VicinalError): void;
}

export class WorkerPort {
  readonly #worker: NodeWorker | Worker;
  readonly #events: WorkerEvents;
  /** Node: when its thread has ended. Elsewhere never: nobody tells. */
  readonly exited: Promise<void>;
  #holds = 0;
  #ended = false;

  constructor(worker: NodeWorker | Worker, events: WorkerEvents) {
    this.#worker = worker;
    this.#events = events;
    this.exited = new Promise((resolve) => {
      if (isNodeWorker(worker)) worker.on('exit', () => resolve());
    });
    if (isNodeWorker(worker)) {
      worker.on('message', (message) => this.#message(message));
      worker.on('error', (error) => this.#end(messageOf(error)));
      worker.on('exit', (code) => this.#end(`it exited with code ${String(code)}`));
      worker.unref?.();
    } else {
      worker.addEventListener('message', (event) => this.#message(event.data));
      worker.addEventListener('error', (event) => {
        this.#end(event.message || 'its script could not be loaded');
      });
    }
  }

  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  hold(): void {
    if (++this.#holds === 1 && isNodeWorker(this.#worker) && !this.#ended) this.#worker.ref?.();
  }

  free(): void {
    if (--this.#holds === 0 && isNodeWorker(this.#worker) && !this.#ended) this.#worker.unref?.();
  }

  /** Ends the worker for good; nothing is told any more. */
  async terminate(): Promise<void> {
    this.#ended = true;
    try {
      const ending = Promise.resolve(this.#worker.terminate()).then(() => undefined);
      await within(ending, kTerminateMs, () => undefined);
    } catch { /* a caller's worker that cannot be ended concerns nobody any more */ }
  }

  #message(message: unknown): void {
    if (!this.#ended) this.#events.onMessage(message);
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onEnd(new VicinalError('IO', `a worker of the index has ended: ${reason}`));
  }
}

function isNodeWorker(worker: NodeWorker | Worker): worker is NodeWorker {
  return typeof (worker as NodeWorker).on === 'function';
}

function isWorker(source: unknown): source is NodeWorker | Worker {
  return typeof (source as WorkerLike | undefined)?.postMessage === 'function';
}

/** BAD_OPTION naming the method that a caller's worker lacks. */
function checkWorker(source: NodeWorker | Worker): void {
  const has = (name: string): boolean =>
    typeof (source as unknown as Record<string, unknown>)[name] === 'function';
  const missing = !has('terminate') ? 'terminate'
    : has('addEventListener') || (isNode() && has('on')) ? undefined
    : isNode() ? 'on or addEventListener' : 'addEventListener';
  if (missing === undefined) return;
  throw new VicinalError('BAD_OPTION', `worker: found an object without ${missing}, expected a URL`
    + ' or a Worker');
}

/** The address that `worker` of the load options gives, if it is one. BAD_OPTION. */
export function workerAddress(source: LoadOptions['worker']): URL | undefined {
  if (isWorker(source)) checkWorker(source);
  return source === undefined || isWorker(source) ? undefined : toUrl(source, 'worker');
}

/** Starts `vicinal/worker`, or takes the worker that is given. BAD_OPTION, IO. */
export async function openWorker(
  source: LoadOptions['worker'], events: WorkerEvents,
): Promise<WorkerPort> {
  if (isWorker(source)) return new WorkerPort(source, events);
  const url = workerAddress(source);
  try {
    if (isNode()) {
      const { Worker } = await importNode<NodeWorkers>('worker_threads');
      // Flags of the program (--input-type, loaders) are not meant for our file.
      const options = { execArgv: [], name: 'vicinal' };
      return new WorkerPort(new Worker(url ?? workerUrl(), options), events);
    }
    return new WorkerPort(url ? spawnWebWorkerAt(url) : spawnWebWorker(), events);
  } catch (cause) {
    throw new VicinalError('IO', `no worker could be started: ${messageOf(cause)}`, { cause });
  }
}
