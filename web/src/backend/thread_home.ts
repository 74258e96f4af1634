// Indexes in shared memory: this realm's part of a heap that it made or was given.
import type { LoadOptions } from '../types.js';
import type { Handle, LoadedIndex } from './core_backend.js';
import { HelperWorkers } from './helper_workers.js';
import type { Applier, ApplierEvents, FileRequest, Helpers, Home } from './home.js';
import { ThreadInstance, type HeapHandle } from './thread_instance.js';
import type { WasmBackend } from './wasm_backend.js';
import { WorkerEncoder } from './worker_encoder.js';
import { WorkerSearcher } from './worker_searcher.js';
import { WorkerWriter } from './worker_writer.js';

export class ThreadHome implements Home {
  readonly heap: HeapHandle;
  readonly backend: WasmBackend;
  readonly searcher: WorkerSearcher;
  readonly encoder: WorkerEncoder | undefined;
  readonly #instance: ThreadInstance;
  readonly #worker: URL | undefined;
  readonly #onEmpty: (() => void) | undefined;
  #readers = 0;
  #left = false;

  /** @param onEmpty for a realm that was given the heap: when nothing here uses it any more. */
  constructor(instance: ThreadInstance, worker: URL | undefined, onEmpty?: () => void) {
    this.#instance = instance;
    this.heap = instance.heap;
    this.backend = instance.backend;
    this.searcher = new WorkerSearcher(instance.heap, worker, instance.lockedLife);
    this.encoder = instance.onMainThread
      ? new WorkerEncoder(instance.heap, worker, instance.lockedLife) : undefined;
    this.#worker = worker;
    this.#onEmpty = onEmpty;
  }

  share(): HeapHandle {
    return this.heap;
  }

  startWriter(
    index: Handle, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<Applier> {
    return WorkerWriter.start(this.#instance, index, worker, events, signal);
  }

  startFileWriter(
    file: FileRequest, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<{ applier: Applier; loaded: LoadedIndex }> {
    return WorkerWriter.startWithFile(this.#instance, file, worker, events, signal);
  }

  async startHelpers(
    index: Handle, count: number, signal: AbortSignal | undefined,
  ): Promise<Helpers> {
    const helpers = new HelperWorkers(this.#instance, index, this.#worker);
    try {
      await helpers.start(count, signal);
    } catch (error) {
      await helpers.stop();
      throw error;
    }
    return helpers;
  }

  enter(): boolean {
    if (this.#left) return false;
    ++this.#readers;
    return true;
  }

  async leave(): Promise<void> {
    if (--this.#readers > 0) return;
    const stopping = Promise.all([this.searcher.stop(), this.encoder?.stop()]);
    if (this.#onEmpty) {
      this.#left = true;
      this.#onEmpty();
      this.#instance.leave();
    }
    await stopping;
  }
}
