// Proof that a realm of a shared memory runs no more.
//
// terminate() proves nothing when it returns: a busy worker of a browser goes on for a while. What
// does prove it:
//   Node: the worker's exit, after its thread was joined; and the close of a message port whose
//     other end the realm held, which happens when the thread's environment is taken down. Its
//     nested workers have ended before.
//   Browsers: a lock that the realm held is granted to somebody else.
//
// I1: a realm without a lock is never said to hold one: the first to ask would be told at once that
//     it is dead.
// I2: a worker that works with what its parent opened shares a lock of the parent's helpers: the
//     parent's death is proved when they, too, run no more. It is another lock than the parent's
//     own, behind which somebody waits from the first: requests are granted in their order. Who
//     waits asks for the helpers' lock when the parent is dead; one that comes behind that is sent
//     no work.
import { VicinalError } from '../errors.js';
import { importNode, isNode } from './environment.js';

/** Whose death it is. */
export interface RealmName {
  /** The memory's. */
  readonly heap: string;
  /** Unlike that of every other realm that entered this memory. */
  readonly life: number;
}

export interface RealmEvents {
  /** The realm runs no more. `whole`: its thread has ended. May be told more than once. */
  onEnd(life: number, whole: boolean): void;
  /** Every realm of a Node thread runs no more. */
  onThreadEnd(thread: number): void;
}

interface NodePort {
  on(event: 'close', listener: () => void): void;
  close(): void;
  unref(): void;
}

interface Threads {
  readonly threadId: number;
  readonly MessageChannel: new () => { port1: NodePort; port2: NodePort };
  postMessageToThread?(thread: number, value: unknown, transfer: NodePort[]): Promise<void>;
}

interface NodeProcess {
  on(event: 'worker', listener: (worker: NodeWorker) => void): void;
  on(event: 'workerMessage', listener: (value: unknown) => void): void;
}

interface NodeWorker {
  readonly threadId: number;
  once(event: 'exit', listener: () => void): void;
}

/** What Node's realms tell the one that made the memory. */
interface Announcement extends RealmName {
  readonly vicinal: 'realm';
  readonly port: NodePort;
}

const kNothing = (): void => undefined;

function locks(): LockManager | undefined {
  return isNode() ? undefined : globalThis.navigator?.locks;
}

function lockName({ heap, life }: RealmName): string {
  return `vicinal realm ${heap} ${life}`;
}

function helpersLockName(realm: RealmName): string {
  return `${lockName(realm)} helpers`;
}

/** Holds the lock until what it returns is called; undefined when it cannot be had. */
async function holdLock(name: string): Promise<(() => void) | undefined> {
  const manager = locks();
  if (!manager) return undefined;
  return new Promise((resolve) => {
    const held = new Promise<void>((end) => {
      const grant = (): Promise<void> => {
        resolve(end);
        return held;
      };
      try {
        manager.request(name, { mode: 'shared' }, grant).catch(() => resolve(undefined));
      } catch {
        resolve(undefined);  // an origin without a name
      }
    });
  });
}

/** Resolves when the realm, which holds or held its lock (I1), runs no more. */
export function lockReleased(realm: RealmName): Promise<void> {
  return new Promise((resolve) => {
    try {
      locks()?.request(lockName(realm), () => undefined)
        .then(() => locks()!.request(helpersLockName(realm), () => resolve()))
        .catch(kNothing);
    } catch { /* an origin without a name */ }
  });
}

/** A realm's side: what makes its death provable. */
export class Pledge {
  /** Whether the realm holds its lock. */
  readonly locked: boolean;
  readonly #tell: () => void;
  readonly #end: () => void;

  private constructor(locked: boolean, tell: () => void, end: () => void) {
    this.locked = locked;
    this.#tell = tell;
    this.#end = end;
  }

  /**
   * Before the realm has anything that its death could leave.
   * @param host the Node thread that watches, if any.
   * @param parent of whose readers this one makes use, and which holds its lock. IO when that
   *   cannot be shared.
   */
  static async give(
    realm: RealmName, host: number | undefined, parent: RealmName | undefined,
  ): Promise<Pledge> {
    if (isNode()) return Pledge.#port(realm, host);
    const mine = await holdLock(lockName(realm));
    const parents = parent && await holdLock(helpersLockName(parent));  // I2
    if (parent && !parents) {
      mine?.();
      throw new VicinalError('IO', 'the lock of the realm that started this worker is refused');
    }
    const tell = (): void => {
      const channel = new BroadcastChannel(channelName(realm.heap));
      channel.postMessage(realm.life);
      channel.close();
    };
    return new Pledge(mine !== undefined, mine ? tell : kNothing, () => {
      mine?.();
      parents?.();
    });
  }

  static async #port(realm: RealmName, host: number | undefined): Promise<Pledge> {
    const { MessageChannel, postMessageToThread, threadId } = await importNode<Threads>(
      'worker_threads');
    if (host === undefined || host === threadId || !postMessageToThread) {
      return new Pledge(false, kNothing, kNothing);
    }
    const { port1: mine, port2: port } = new MessageChannel();
    mine.unref();
    const tell = (): void => {
      const announcement: Announcement = { vicinal: 'realm', ...realm, port };
      postMessageToThread(host, announcement, [port]).catch(() => mine.close());
    };
    return new Pledge(false, tell, () => mine.close());
  }

  /** Tells who watches, once the realm can be found. */
  tell(): void {
    this.#tell();
  }

  /** The realm has left in good order. */
  end(): void {
    this.#end();
  }
}

function channelName(heap: string): string {
  return `vicinal realms ${heap}`;
}

const watched = new Map<string, Map<object, RealmEvents>>();
let listening: Promise<number> | undefined;

async function listenInNode(): Promise<number> {
  const { process } = globalThis as unknown as { process: NodeProcess };
  process.on('worker', (worker) => {
    const { threadId } = worker;
    worker.once('exit', () => {
      for (const each of watched.values()) {
        for (const events of each.values()) events.onThreadEnd(threadId);
      }
    });
  });
  process.on('workerMessage', (value) => {
    const { vicinal, heap, life, port } = (value ?? {}) as Partial<Announcement>;
    if (vicinal !== 'realm' || heap === undefined || life === undefined || !port) return;
    port.unref();
    port.on('close', () => {
      for (const events of watched.get(heap)?.values() ?? []) events.onEnd(life, true);
    });
  });
  return (await importNode<Threads>('worker_threads')).threadId;
}

/** This thread, for records; undefined outside Node. */
export function nodeThread(): Promise<number> | undefined {
  return isNode() ? listening ??= listenInNode() : undefined;
}

/** From now on this realm hears of the deaths of a memory's realms, as far as it can. */
export function watchRealms(heap: string, watcher: object, events: RealmEvents): void {
  if (isNode()) {
    const known = watched.get(heap) ?? new Map<object, RealmEvents>();
    watched.set(heap, known.set(watcher, events));
    return;
  }
  if (!locks() || typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel(channelName(heap));
  channel.onmessage = ({ data }: MessageEvent<number>) => {
    void lockReleased({ heap, life: data }).then(() => events.onEnd(data, false));
  };
}

export function unwatchRealms(heap: string, watcher: object): void {
  const known = watched.get(heap);
  known?.delete(watcher);
  if (known?.size === 0) watched.delete(heap);
}
