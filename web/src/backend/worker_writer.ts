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
import type { Handle, LoadedIndex } from './core_backend.js';
import type { Applier, ApplierEvents, FileRequest, Waiting } from './home.js';
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
  readonly #events: ApplierEvents;
  readonly #control: number;
  readonly #file: FileRequest | undefined;
  /** 0 until its file was opened. */
  #index: Handle;
  #loaded: LoadedIndex | undefined;
  #post!: Post;
  readonly #busy = new Set<Waiting>();
  #stopped: ((stopped: boolean) => void) | undefined;
  /** Of a worker that died, by another. */
  #replacement: Promise<void> | undefined;
  #replaced = false;
  #deaths = 0;
  /** Why the file that was closed lacks something. */
  #lost: VicinalError | undefined;
  #ended = false;

  private constructor(
    instance: ThreadInstance, index: Handle, events: ApplierEvents, file: FileRequest | undefined,
  ) {
    this.#instance = instance;
    this.#index = index;
    this.#events = events;
    this.#file = file;
    this.#control = instance.backend.allocate(kControlBytes);
  }

  /** Resolves when the worker is at work. IO, also after kStartMs without an answer; ABORTED. */
  static async start(
    instance: ThreadInstance, index: Handle, worker: LoadOptions['worker'], events: ApplierEvents,
    signal: AbortSignal | undefined,
  ): Promise<WorkerWriter> {
    const writer = new WorkerWriter(instance, index, events, undefined);
    await writer.#begin(worker, signal);
    return writer;
  }

  /** The same of an index that the worker opens; see Home.startFileWriter. */
  static async startWithFile(
    instance: ThreadInstance, file: FileRequest, worker: LoadOptions['worker'],
    events: ApplierEvents, signal: AbortSignal | undefined,
  ): Promise<{ applier: WorkerWriter; loaded: LoadedIndex }> {
    const writer = new WorkerWriter(instance, 0, events, file);
    await writer.#begin(worker, signal);
    return { applier: writer, loaded: writer.#loaded! };
  }

  async #begin(worker: LoadOptions['worker'], signal: AbortSignal | undefined): Promise<void> {
    const script = workerAddress(worker);
    try {
      this.#follow(await this.#start(worker, script, signal), script);
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  submitted(): void { /* the submit has rung the doorbell */ }

  setBusy(busy: boolean, waiting: Waiting = 'for writes'): void {
    const before = this.#busy.size;
    if (busy) this.#busy.add(waiting);
    else this.#busy.delete(waiting);
    if (before === 0 && this.#busy.size > 0) this.#post.port.hold();
    if (before > 0 && this.#busy.size === 0) this.#post.port.free();
  }

  async stop(): Promise<VicinalError | undefined> {
    if (this.#ended) return undefined;
    this.#ended = true;
    if (this.#replacement) {
      this.#tellToStop();
      await this.#replacement;
      return undefined;
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
    return this.#lost;
  }

  /** A worker at work. IO, ABORTED, BAD_OPTION. */
  async #start(
    worker: LoadOptions['worker'], script: URL | undefined, signal: AbortSignal | undefined,
  ): Promise<Post> {
    const opening = this.#file !== undefined && this.#index === 0;
    const ready = deferred();
    const opened = deferred();
    let post: Post | undefined;
    const port = await openWorker(worker, {
      onMessage: (message) => {
        if (!isOurs(message)) return;
        const event = message as FromWorker;
        if (event.vicinal === 'ready' && post) {
          post.life = event.life;
          ready.resolve();
        }
        if (event.vicinal === 'reading') this.#events.onRead?.(event.bytes);
        if (event.vicinal === 'opened') {
          this.#loaded = event.loaded;
          this.#index = event.loaded.index;
          opened.resolve();
        }
        if (event.vicinal === 'died') {
          const { code, message } = event;
          const atWork = !opening || this.#index !== 0;
          end(new VicinalError(code, atWork ? `the writer has stopped: ${message}` : message));
        }
        if (post) this.#message(post, event);
      },
      onEnd: (error) => end(error),
    });
    const end = (error: VicinalError): void => {
      ready.reject(error);
      opened.reject(error);
      if (!post) return;
      post.over ??= error;
      this.#end(post, script);
    };
    post = { port, life: undefined, over: undefined };
    port.hold();
    try {
      const answer = within(ready.promise, kStartMs, () => {
        throw new VicinalError('IO', `the writer's worker gave no answer in ${kStartMs} ms`);
      });
      answer.catch(() => undefined);  // when the post throws, nobody waits for it
      const message: ToWorker = {
        vicinal: 'write', heap: this.#instance.heap, index: this.#index, control: this.#control,
        file: this.#file,
      };
      port.post(message);
      await abortable(answer, signal);
      if (opening) await abortable(opened.promise, signal);
    } catch (error) {
      // One that comes late leaves at once. Its control word stays: it may look there at any time.
      if (!this.#replacement) this.#tellToStop();
      ready.resolve();  // ends the wait
      // What was read of the file goes when it hears of that.
      const reading = opening && !post.over;
      if (reading) await within(opened.promise.catch(() => undefined), kStopMs, () => undefined);
      // A successor's index is in use.
      if (opening && this.#loaded) this.#instance.backend.releaseIndex(this.#loaded.index);
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
    if (this.#busy.size > 0) post.port.hold();
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
    if (this.#index === 0) return;  // it looks while it opens
    const doorbell = this.#instance.backend.doorbell(this.#index) >>> 2;
    // As the core rings: first the word changes, then whoever sleeps on its old value is woken.
    Atomics.add(words, doorbell, 1);
    Atomics.notify(words, doorbell);
  }

  #message(post: Post, event: FromWorker): void {
    if (event.vicinal === 'applied') this.#settle();
    if (event.vicinal === 'flushed') {
      const { asks, error } = event;
      this.#events.onFlushed?.(asks, error && new VicinalError(error.code, error.message));
    }
    if (post !== this.#post) return;  // I2
    if (event.vicinal === 'following') this.#deaths = 0;
    if (event.vicinal === 'stopped') {
      this.#lost = event.error && new VicinalError(event.error.code, event.error.message);
      this.#stopped?.(true);
    }
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
        this.#events.onReplaced?.();
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

interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: VicinalError): void;
}

function deferred(): Deferred {
  let resolve!: () => void;
  let reject!: (error: VicinalError) => void;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => undefined);  // nobody may wait for it
  return { promise, resolve, reject };
}

/** Whether the worker runs no more; false where nobody can ever tell. */
async function proofOf(heap: string, { port, life }: Post): Promise<boolean> {
  if (life !== undefined) await lockReleased({ heap, life });
  else if (isNode()) await port.exited;
  else return false;
  return true;
}
