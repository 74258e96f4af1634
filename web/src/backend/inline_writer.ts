// The writer of an index without threads: the caller's thread, a slice of work at a time.
import { VicinalError, messageOf } from '../errors.js';
import type { FileTable } from '../files/file_table.js';
import { flushError } from '../files/file_errors.js';
import { yieldToLoop } from '../platform/environment.js';
import type { CoreBackend, Handle } from './core_backend.js';
import type { Applier, ApplierEvents } from './home.js';

const kSliceMs = 3;
const kSliceUs = kSliceMs * 1000;

/** Of an index that lives in one. */
export interface InlineFile {
  readonly files: FileTable;
  readonly path: string;
}

export class InlineWriter implements Applier {
  readonly #backend: CoreBackend;
  readonly #index: Handle;
  readonly #events: ApplierEvents;
  readonly #file: InlineFile | undefined;
  #running = false;
  #ended = false;

  constructor(backend: CoreBackend, index: Handle, events: ApplierEvents, file?: InlineFile) {
    this.#file = file;
    this.#backend = backend;
    this.#index = index;
    this.#events = events;
  }

  submitted(): void {
    if (!this.#running) void this.#run();
  }

  setBusy(): void { /* what is pending keeps the event loop busy by itself */ }

  async stop(): Promise<VicinalError | undefined> {
    this.#ended = true;
    if (!this.#file) return undefined;
    const { files, path } = this.#file;
    const lost = flushError(this.#backend.closeFile(this.#index), files);
    files.remove(path);
    return lost;
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      let slice = performance.now();
      while (!this.#ended && this.#backend.pump(this.#index, kSliceUs) > 0) {
        this.#events.onApplied();
        this.#serve();  // writes may come without end
        if (performance.now() - slice < kSliceMs) continue;
        await yieldToLoop();
        slice = performance.now();
      }
      if (!this.#ended) this.#serve();
    } catch (cause) {
      this.#events.onDeath(new VicinalError('IO', `the writer has stopped: ${messageOf(cause)}`));
    }
    this.#running = false;
  }

  #serve(): void {
    const flushed = this.#file && this.#backend.serveFlush(this.#index);
    if (!flushed) return;
    this.#events.onFlushed?.(flushed.asks, flushError(flushed.status, this.#file!.files));
  }
}
