// The writer of a shared index: a worker that sleeps on the index's doorbell.
//
// I1: the worker touches the index between 'ready' and 'stopped' only.
import type { FromWorker, ToWorker } from '../platform/worker_protocol.js';
import { isOurs } from '../platform/worker_protocol.js';
import { kStartMs, kStopMs, openWorker, type WorkerPort } from '../platform/worker_port.js';
import { within } from '../platform/within.js';
import { VicinalError, abortable } from '../errors.js';
import type { LoadOptions } from '../types.js';
import type { Handle } from './core_backend.js';
import type { Applier, ApplierEvents } from './home.js';
import type { ThreadInstance } from './thread_instance.js';

const kControlBytes = 64;

export class WorkerWriter implements Applier {
  readonly #instance: ThreadInstance;
  readonly #events: ApplierEvents;
  readonly #doorbell: number;
  readonly #control: number;
  #port!: WorkerPort;
  #busy = false;
  #ready: { resolve: () => void; reject: (error: VicinalError) => void } | undefined;
  #stopped: ((stopped: boolean) => void) | undefined;
  #dead = false;

  private constructor(instance: ThreadInstance, index: Handle, events: ApplierEvents) {
    this.#instance = instance;
    this.#events = events;
    this.#doorbell = instance.backend.doorbell(index);
    this.#control = instance.backend.allocate(kControlBytes);
  }

  /** Resolves when the worker is at work. IO, also after kStartMs without an answer; ABORTED. */
  static async start(
    instance: ThreadInstance, index: Handle, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<WorkerWriter> {
    const writer = new WorkerWriter(instance, index, events);
    writer.#port = await openWorker(worker, {
      onMessage: (message) => writer.#message(message),
      onEnd: (error) => writer.#end(error),
    });
    writer.#port.hold();
    try {
      const ready = new Promise<void>((resolve, reject) => {
        writer.#ready = { resolve, reject };
      });
      const answer = within(ready, kStartMs, () => {
        throw new VicinalError('IO', `the writer's worker gave no answer in ${kStartMs} ms`);
      });
      answer.catch(() => undefined);  // when the post throws, nobody waits for it
      const message: ToWorker = {
        vicinal: 'write', heap: instance.heap, index,
        doorbell: writer.#doorbell, control: writer.#control,
      };
      writer.#port.post(message);
      await abortable(answer, signal);
    } catch (error) {
      writer.#dead = true;
      // One that comes late leaves at once. Its control word stays: it may look there at any time.
      writer.#tellToStop();
      writer.#ready?.resolve();  // ends the wait
      await writer.#port.terminate();
      throw error;
    } finally {
      writer.#port.free();
    }
    return writer;
  }

  submitted(): void { /* the submit has rung the doorbell */ }

  setBusy(busy: boolean): void {
    if (busy === this.#busy) return;
    this.#busy = busy;
    if (busy) this.#port.hold();
    else this.#port.free();
  }

  async stop(): Promise<void> {
    if (this.#dead) return;
    this.#port.hold();
    const ended = new Promise<boolean>((resolve) => {
      this.#stopped = resolve;
    });
    this.#tellToStop();
    const stopped = await within(ended, kStopMs, () => false);
    this.#dead = true;
    await this.#port.terminate();
    // Otherwise it may still look there.
    if (stopped) this.#instance.backend.release(this.#control);
  }

  #tellToStop(): void {
    const { words } = this.#instance;
    Atomics.store(words, this.#control >>> 2, 1);
    // As the core rings: first the word changes, then whoever sleeps on its old value is woken.
    Atomics.add(words, this.#doorbell >>> 2, 1);
    Atomics.notify(words, this.#doorbell >>> 2);
  }

  #message(message: unknown): void {
    if (!isOurs(message)) return;
    const event = message as FromWorker;
    if (event.vicinal === 'applied') this.#events.onApplied();
    if (event.vicinal === 'ready') this.#ready?.resolve();
    if (event.vicinal === 'stopped') this.#stopped?.(true);
    if (event.vicinal === 'died') {
      this.#end(new VicinalError(event.code, `the writer has stopped: ${event.message}`));
    }
  }

  #end(error: VicinalError): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#ready?.reject(error);
    this.#stopped?.(false);
    this.#events.onDeath(error);
  }
}
