// The writer of an index without threads: the caller's thread, a slice of work at a time.
import { VicinalError, messageOf } from '../errors.js';
import { yieldToLoop } from '../platform/environment.js';
import type { CoreBackend, Handle } from './core_backend.js';
import type { Applier, ApplierEvents } from './home.js';

const kSliceMs = 3;
const kSliceUs = kSliceMs * 1000;

export class InlineWriter implements Applier {
  readonly #backend: CoreBackend;
  readonly #index: Handle;
  readonly #events: ApplierEvents;
  #running = false;

  constructor(backend: CoreBackend, index: Handle, events: ApplierEvents) {
    this.#backend = backend;
    this.#index = index;
    this.#events = events;
  }

  submitted(): void {
    if (!this.#running) void this.#run();
  }

  setBusy(): void { /* what is pending keeps the event loop busy by itself */ }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      let slice = performance.now();
      while (this.#backend.pump(this.#index, kSliceUs) > 0) {
        this.#events.onApplied();
        if (performance.now() - slice < kSliceMs) continue;
        await yieldToLoop();
        slice = performance.now();
      }
    } catch (cause) {
      this.#events.onDeath(new VicinalError('IO', `the writer has stopped: ${messageOf(cause)}`));
    }
    this.#running = false;
  }
}
