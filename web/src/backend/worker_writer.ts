// The writer of a shared index: a worker that sleeps on the index's doorbell, and its successors.
//
// A worker that dies is followed by another when it is certain that it runs no more: Node's exit, a
// browser's lock (platform/realm_watch.ts). The same certainty frees the writer's role in the core,
// where the successor goes on with the writes, none lost and none applied twice. Meanwhile they
// wait, and searches go on. The wait for the certainty has a bound, kProofMs: where it never comes,
// or can never come, and when kDeathsMax workers in a row died without an outcome, there is no
// writer any more, as nobody can tell what became of the writes.
//
// I1: a worker touches the index between 'ready' and 'stopped' only.
// I2: one worker at a time is followed; what comes late from one before it concerns nobody.
import type { FromWorker, ToWorker } from '../platform/worker_protocol.js';
import { isOurs } from '../platform/worker_protocol.js';
import {
  kStartMs, kStopMs, openWorker, workerAddress, type WorkerPort,
} from '../platform/worker_port.js';
import { isNode } from '../platform/environment.js';
import { lockReleased } from '../platform/realm_watch.js';
import { within } from '../platform/within.js';
import { VicinalError, abortable, messageOf } from '../errors.js';
import type { LoadOptions } from '../types.js';
import type { Handle } from './core_backend.js';
import type { Applier, ApplierEvents } from './home.js';
import type { ThreadInstance } from './thread_instance.js';

const kControlBytes = 64;
/** A browser lets a worker that was terminated go on for about two seconds. */
const kProofMs = 30_000;
const kDeathsMax = 3;

/** One worker that writes. */
interface Post {
  readonly port: WorkerPort;
  /** Its lockedLife, once it is ready. */
  life: number | undefined;
  /** Why it is at work no more. */
  over: VicinalError | undefined;
}

export class WorkerWriter implements Applier {
  readonly #instance: ThreadInstance;
  readonly #index: Handle;
  readonly #events: ApplierEvents;
  readonly #doorbell: number;
  readonly #control: number;
  #post!: Post;
  #busy = false;
  #stopped: ((stopped: boolean) => void) | undefined;
  /** Of a worker that died, by another. */
  #replacement: Promise<void> | undefined;
  #replaced = false;
  #deaths = 0;
  #ended = false;

  private constructor(instance: ThreadInstance, index: Handle, events: ApplierEvents) {
    this.#instance = instance;
    this.#index = index;
    this.#events = events;
    this.#doorbell = instance.backend.doorbell(index);
    this.#control = instance.backend.allocate(kControlBytes);
  }

  /** Resolves when the worker is at work. IO, also after kStartMs without an answer; ABORTED. */
  static async start(
    instance: ThreadInstance, index: Handle, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<WorkerWriter> {
    const script = workerAddress(worker);
    const writer = new WorkerWriter(instance, index, events);
    try {
      writer.#follow(await writer.#start(worker, script, signal), script);
    } catch (error) {
      writer.#ended = true;
      throw error;
    }
    return writer;
  }

  submitted(): void { /* the submit has rung the doorbell */ }

  setBusy(busy: boolean): void {
    if (busy === this.#busy) return;
    this.#busy = busy;
    if (busy) this.#post.port.hold();
    else this.#post.port.free();
  }

  async stop(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#replacement) {
      this.#tellToStop();
      await this.#replacement;
      return;
    }
    const { port } = this.#post;
    port.hold();
    const ended = new Promise<boolean>((resolve) => {
      this.#stopped = resolve;
    });
    this.#tellToStop();
    const stopped = await within(ended, kStopMs, () => false);
    await port.terminate();
    // Otherwise it, or one before it, may still look there.
    if (stopped && !this.#replaced) this.#instance.backend.release(this.#control);
  }

  /** A worker at work. IO, ABORTED, BAD_OPTION. */
  async #start(
    worker: LoadOptions['worker'], script: URL | undefined, signal: AbortSignal | undefined,
  ): Promise<Post> {
    let resolveReady!: () => void;
    let rejectReady!: (error: VicinalError) => void;
    const ready = new Promise<void>((resolve, reject) => {
      resolveReady = resolve;
      rejectReady = reject;
    });
    let post: Post | undefined;
    const port = await openWorker(worker, {
      onMessage: (message) => {
        if (!isOurs(message)) return;
        const event = message as FromWorker;
        if (event.vicinal === 'ready' && post) {
          post.life = event.life;
          resolveReady();
        }
        if (event.vicinal === 'died') {
          end(new VicinalError(event.code, `the writer has stopped: ${event.message}`));
        }
        if (post) this.#message(post, event);
      },
      onEnd: (error) => end(error),
    });
    const end = (error: VicinalError): void => {
      rejectReady(error);
      if (!post) return;
      post.over ??= error;
      this.#end(post, script);
    };
    post = { port, life: undefined, over: undefined };
    port.hold();
    try {
      const answer = within(ready, kStartMs, () => {
        throw new VicinalError('IO', `the writer's worker gave no answer in ${kStartMs} ms`);
      });
      answer.catch(() => undefined);  // when the post throws, nobody waits for it
      const message: ToWorker = {
        vicinal: 'write', heap: this.#instance.heap, index: this.#index,
        doorbell: this.#doorbell, control: this.#control,
      };
      port.post(message);
      await abortable(answer, signal);
    } catch (error) {
      // One that comes late leaves at once. Its control word stays: it may look there at any time.
      if (!this.#replacement) this.#tellToStop();
      resolveReady();  // ends the wait
      await port.terminate();
      throw error;
    } finally {
      port.free();
    }
    return post;
  }

  /** It is the writer now. */
  #follow(post: Post, script: URL | undefined): void {
    this.#post = post;
    if (this.#busy) post.port.hold();
    const { life } = post;
    if (life !== undefined) {
      // A browser tells nobody of a worker that somebody else ended, but grants its lock.
      void lockReleased({ heap: this.#instance.heap.id, life }).then(() => {
        post.over ??= new VicinalError('IO', 'the writer was ended');
        if (!this.#ended) this.#end(post, script);
      });
    }
    this.#end(post, script);
  }

  #tellToStop(): void {
    const { words } = this.#instance;
    Atomics.store(words, this.#control >>> 2, 1);
    // As the core rings: first the word changes, then whoever sleeps on its old value is woken.
    Atomics.add(words, this.#doorbell >>> 2, 1);
    Atomics.notify(words, this.#doorbell >>> 2);
  }

  #message(post: Post, event: FromWorker): void {
    if (event.vicinal === 'applied') this.#settle();
    if (post !== this.#post) return;  // I2
    if (event.vicinal === 'stopped') this.#stopped?.(true);
  }

  #settle(): void {
    if (this.#events.onApplied()) this.#deaths = 0;
  }

  /** Where it is over. */
  #end(post: Post, script: URL | undefined): void {
    if (!post.over || post !== this.#post || this.#replacement) return;  // I2
    this.#stopped?.(false);
    if (!this.#ended) this.#replacement = this.#replace(script, post.over);
  }

  async #replace(script: URL | undefined, error: VicinalError): Promise<void> {
    this.#replaced = true;
    let last = error;
    const old = this.#post;
    await old.port.terminate();
    let alive = !await within(proofOf(this.#instance.heap.id, old), kProofMs, () => false);
    while (!this.#ended && !alive && ++this.#deaths < kDeathsMax) {
      try {
        const post = await this.#start(script, script, undefined);
        if (this.#ended) {  // told to stop on the way here
          await post.port.terminate();
          return;
        }
        this.#replacement = undefined;
        this.#settle();  // whatever the dead one did not tell
        this.#follow(post, script);
        return;
      } catch (cause) {
        last = cause instanceof VicinalError ? cause : new VicinalError('IO', messageOf(cause));
        alive = false;
      }
    }
    this.#replacement = undefined;
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onApplied();
    this.#events.onDeath(last);
  }
}

/** Whether the worker runs no more; false where nobody can ever tell. */
async function proofOf(heap: string, { port, life }: Post): Promise<boolean> {
  if (life !== undefined) await lockReleased({ heap, life });
  else if (isNode()) await port.exited;
  else return false;
  return true;
}
