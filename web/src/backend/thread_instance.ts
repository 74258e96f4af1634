// One realm's instance of the shared-memory module: its own stack and thread-local storage over
// memory that all share. The protocol is the one that bindings/wasm/exports.hpp describes.
//
// I1: the static data and constructors are run once, by the realm that made the memory, before any
//     other realm hears of it.
// I2: between the claim of a bootstrap stack and its return nothing is awaited, so it is held for
//     microseconds; a worker that is terminated in between loses one of them where its thread's end
//     is not known.
// I3: a realm has made its death provable before it has a record; what it leaves in the memory is
//     given back on that proof alone (platform/realm_watch.ts).
import { VicinalError } from '../errors.js';
import { FileTable } from '../files/file_table.js';
import { canBlock, isNode, processors } from '../platform/environment.js';
import { Pledge, nodeThread, unwatchRealms, watchRealms } from '../platform/realm_watch.js';
import {
  kCoreFunctions, kThreadFunctions, missingFunction, type ThreadExports,
} from './core_exports.js';
import { RealmRecords, type RealmLayout } from './realm_records.js';
import { WasmBackend } from './wasm_backend.js';

/** What another realm needs to start an instance. Cloneable. */
export interface ThreadLayout extends RealmLayout {
  readonly stacks: number;
  readonly stackBytes: number;
  readonly tlsBytes: number;
  readonly areaBytes: number;
}

/** A memory with a core in it. Cloneable: the memory stays shared. */
export interface HeapHandle {
  /** Tells memories apart after cloning has made other objects of them. */
  readonly id: string;
  readonly memory: WebAssembly.Memory;
  readonly module: WebAssembly.Module;
  readonly layout: ThreadLayout;
  /** Node: the thread that made the memory and watches over its realms. */
  readonly host: number | undefined;
}

/** A realm's place in the memory. */
interface Place {
  readonly record: number;
  readonly life: number;
  readonly area: number;
}

const kClaimTries = 10_000;

/** A realm's share of a heap. */
export class ThreadInstance {
  readonly heap: HeapHandle;
  readonly backend: WasmBackend;
  /** Every word of the memory, for Atomics. */
  readonly words: Int32Array;
  /** Of this realm, for the core. */
  readonly files: FileTable;
  readonly #exports: ThreadExports;
  readonly #records: RealmRecords;
  readonly #place: Place;
  #pledge: Pledge | undefined;

  private constructor(heap: HeapHandle, exports: ThreadExports, place: Place, files: FileTable) {
    this.heap = heap;
    this.files = files;
    this.#exports = exports;
    this.#place = place;
    this.#records = new RealmRecords(heap.memory, heap.layout);
    const { buffer } = heap.memory;
    this.words = new Int32Array(buffer);
    this.backend = new WasmBackend(exports, () => buffer, true);
  }

  /** The first instance on a fresh memory. CORRUPT, VERSION, FULL. */
  static async create(
    id: string, memory: WebAssembly.Memory, module: WebAssembly.Module,
  ): Promise<ThreadInstance> {
    const files = new FileTable();
    const exports = await instantiate(module, memory, files);
    const layout = readLayout(exports);
    const host = await nodeThread();
    const count = await processors();
    const heap = { id, memory, module, layout, host };
    const place = enter(heap, exports, new RealmRecords(memory, layout).newLife(), host);
    exports.__wasm_call_ctors();
    exports.vic_set_processors(count);
    const instance = ThreadInstance.#make(heap, exports, place, files);
    instance.#watch();
    return instance;
  }

  /**
   * An instance on a memory that another realm made. BUSY, FULL.
   * @param parent the lockedLife of the realm of whose readers this one makes use.
   */
  static async attach(heap: HeapHandle, parent?: number): Promise<ThreadInstance> {
    const files = new FileTable();
    const exports = await instantiate(heap.module, heap.memory, files);
    const thread = await nodeThread();
    const life = new RealmRecords(heap.memory, heap.layout).newLife();
    const pledge = await Pledge.give({ heap: heap.id, life }, heap.host,
      parent === undefined ? undefined : { heap: heap.id, life: parent });
    try {
      const place = enter(heap, exports, life, thread);
      const instance = ThreadInstance.#make(heap, exports, place, files);
      instance.#pledge = pledge;
      pledge.tell();
      if (isNode()) instance.#watch();
      return instance;
    } catch (error) {
      pledge.end();
      throw error;
    }
  }

  static #make(
    heap: HeapHandle, exports: ThreadExports, place: Place, files: FileTable,
  ): ThreadInstance {
    try {
      return new ThreadInstance(heap, exports, place, files);
    } catch (error) {
      leave(heap, exports, place);
      throw error;
    }
  }

  /** This realm's life, when it holds the lock of that name; see realm_watch.ts. */
  get lockedLife(): number | undefined {
    return this.#pledge?.locked ? this.#place.life : undefined;
  }

  /** Whether this realm made the memory and is a page's or Node's main thread. */
  get onMainThread(): boolean {
    return this.#pledge === undefined && (isNode() ? this.heap.host === 0 : !canBlock());
  }

  /** Gives the stack back. The realm's last call into this instance. */
  leave(): void {
    this.files.close();
    this.backend.dispose();
    if (this.#pledge) unwatchRealms(this.heap.id, this);
    leave(this.heap, this.#exports, this.#place);
    this.#pledge?.end();
  }

  #watch(): void {
    watchRealms(this.heap.id, this, {
      onEnd: (life, whole) => this.#bury(life, whole),
      onThreadEnd: (thread) => {
        for (const life of this.#records.livesOf(thread)) this.#bury(life, true);
      },
    });
  }

  /** With proof that the realm runs no more; `whole`: nor does anything of its thread. */
  #bury(life: number, whole: boolean): void {
    const record = this.#records.bury(life);
    if (record === undefined) return;  // it left in good order, or somebody was faster
    this.#exports.vic_realm_bury(record, whole ? 1 : 0);
    if (!whole) return;  // stack and record are never used again
    this.#records.freeStacks(life);
    this.#records.free(record);
  }
}

/** What a function does that the core calls when it cannot go on. */
function stopAt(name: string): () => never {
  return () => {
    throw new Error(`the core stopped: ${name}`);
  };
}

function imports(
  module: WebAssembly.Module, memory: WebAssembly.Memory, files: FileTable,
): WebAssembly.Imports {
  const provided: Record<string, WebAssembly.ExportValue> = {
    memory,
    emscripten_get_now: () => performance.now(),
    emscripten_resize_heap: () => 0,
    ...files.functions(() => memory.buffer),
  };
  const result: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: space, name, kind } of WebAssembly.Module.imports(module)) {
    const value = provided[name]
      ?? (kind === 'function' ? stopAt(name) : undefined);
    if (value !== undefined) (result[space] ??= {})[name] = value;
  }
  return result;
}

async function instantiate(
  module: WebAssembly.Module, memory: WebAssembly.Memory, files: FileTable,
): Promise<ThreadExports> {
  let exports: WebAssembly.Exports;
  try {
    ({ exports } = await WebAssembly.instantiate(module, imports(module, memory, files)));
  } catch (cause) {
    throw new VicinalError(
      'VERSION', 'the WebAssembly module does not fit this package', { cause });
  }
  const missing = missingFunction(exports, [...kCoreFunctions, ...kThreadFunctions]);
  if (missing !== undefined) {
    throw new VicinalError('VERSION', `the WebAssembly module has no ${missing}`);
  }
  return exports as unknown as ThreadExports;
}

function readLayout(exports: ThreadExports): ThreadLayout {
  const tlsBytes = exports.__tls_size.value as number;
  return {
    realms: exports.vic_realms() >>> 0,
    realmCount: exports.vic_realm_count(),
    lives: exports.vic_realm_lives() >>> 0,
    claims: exports.vic_bootstrap_claims() >>> 0,
    stacks: exports.vic_bootstrap_stacks() >>> 0,
    count: exports.vic_bootstrap_count(),
    stackBytes: exports.vic_bootstrap_stack_bytes(),
    tlsBytes,
    areaBytes: exports.vic_thread_area_bytes(tlsBytes),
  };
}

/** Gives the instance a record, a stack and thread-local storage of its own. */
function enter(
  heap: HeapHandle, exports: ThreadExports, life: number, thread: number | undefined,
): Place {
  const records = new RealmRecords(heap.memory, heap.layout);
  const record = records.claim(life, thread);
  try {
    const area = enterArea(heap, exports, life);
    exports.vic_realm_enter(record, area);
    exports.vic_set_may_block(canBlock() ? 1 : 0);
    return { record, life, area };
  } catch (error) {
    records.free(record);
    throw error;
  }
}

function enterArea(heap: HeapHandle, exports: ThreadExports, life: number): number {
  const { layout, memory } = heap;
  const words = new Int32Array(memory.buffer);
  const pointer = exports.__stack_pointer;
  const claim = claimStack(words, layout, life);
  pointer.value = layout.stacks + (claim + 1) * layout.stackBytes | 0;
  const area = exports.vic_thread_area_create(layout.tlsBytes) >>> 0;
  if (area !== 0) {
    pointer.value = area + layout.areaBytes | 0;
    exports.__wasm_init_tls(area);
  }
  Atomics.store(words, (layout.claims >>> 2) + claim, 0);
  if (area === 0) throw new VicinalError('FULL', 'no memory for the stack of another thread');
  return area;
}

/**
 * Gives the area back, on a bootstrap stack: the moment it is free another thread may write there.
 * Where none can be had the area is lost, which is better than that. A realm that has something
 * open keeps its record: its number is in there.
 */
function leave(heap: HeapHandle, exports: ThreadExports, { record, life, area }: Place): void {
  const { layout, memory } = heap;
  const words = new Int32Array(memory.buffer);
  const records = new RealmRecords(memory, layout);
  const empty = exports.vic_realm_leave() === 1;
  records.withdraw(record);
  let claim: number;
  try {
    claim = claimStack(words, layout, life);
  } catch {
    return;
  }
  exports.__stack_pointer.value = layout.stacks + (claim + 1) * layout.stackBytes | 0;
  exports.vic_thread_area_release(area);
  Atomics.store(words, (layout.claims >>> 2) + claim, 0);
  if (empty) records.free(record);
}

function claimStack(words: Int32Array, layout: ThreadLayout, life: number): number {
  for (let i = 0; i < kClaimTries; ++i) {
    const claim = i % layout.count;
    if (Atomics.compareExchange(words, (layout.claims >>> 2) + claim, 0, life) === 0) {
      return claim;
    }
  }
  throw new VicinalError('BUSY', 'too many threads attach at this moment: try again');
}
