// One realm's instance of the shared-memory module: its own stack and thread-local storage over
// memory that all share. The protocol is the one that bindings/wasm/exports.hpp describes.
//
// I1: the static data and constructors are run once, by the realm that made the memory, before any
//     other realm hears of it.
// I2: between the claim of a bootstrap stack and its return nothing is awaited, so it is held for
//     microseconds; a worker that is terminated in between loses one of them.
import { VicinalError } from '../errors.js';
import { canBlock } from '../platform/environment.js';
import {
  kCoreFunctions, kThreadFunctions, missingFunction, type ThreadExports,
} from './core_exports.js';
import { WasmBackend } from './wasm_backend.js';

/** What another realm needs to start an instance. Cloneable. */
export interface ThreadLayout {
  readonly claims: number;
  readonly stacks: number;
  readonly count: number;
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
}

const kClaimTries = 10_000;

/** A realm's share of a heap. */
export class ThreadInstance {
  readonly heap: HeapHandle;
  readonly backend: WasmBackend;
  /** Every word of the memory, for Atomics. */
  readonly words: Int32Array;
  readonly #exports: ThreadExports;
  readonly #area: number;

  private constructor(heap: HeapHandle, exports: ThreadExports, area: number) {
    this.heap = heap;
    this.#exports = exports;
    this.#area = area;
    const { buffer } = heap.memory;
    this.words = new Int32Array(buffer);
    this.backend = new WasmBackend(exports, () => buffer, true);
  }

  /** The first instance on a fresh memory. CORRUPT, VERSION, FULL. */
  static async create(
    id: string, memory: WebAssembly.Memory, module: WebAssembly.Module,
  ): Promise<ThreadInstance> {
    const exports = await instantiate(module, memory);
    const layout = readLayout(exports);
    const heap = { id, memory, module, layout };
    const area = enter(heap, exports);
    exports.__wasm_call_ctors();
    return ThreadInstance.#make(heap, exports, area);
  }

  /** An instance on a memory that another realm made. BUSY, FULL. */
  static async attach(heap: HeapHandle): Promise<ThreadInstance> {
    const exports = await instantiate(heap.module, heap.memory);
    return ThreadInstance.#make(heap, exports, enter(heap, exports));
  }

  static #make(heap: HeapHandle, exports: ThreadExports, area: number): ThreadInstance {
    try {
      return new ThreadInstance(heap, exports, area);
    } catch (error) {
      leave(heap, exports, area);
      throw error;
    }
  }

  /** Gives the stack back. The realm's last call into this instance. */
  leave(): void {
    this.backend.dispose();
    leave(this.heap, this.#exports, this.#area);
  }
}

/** What a function does that the core calls when it cannot go on. */
function stopAt(name: string): () => never {
  return () => {
    throw new Error(`the core stopped: ${name}`);
  };
}

function imports(module: WebAssembly.Module, memory: WebAssembly.Memory): WebAssembly.Imports {
  const provided: Record<string, WebAssembly.ExportValue> = {
    memory,
    emscripten_get_now: () => performance.now(),
    emscripten_resize_heap: () => 0,
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
  module: WebAssembly.Module, memory: WebAssembly.Memory,
): Promise<ThreadExports> {
  let exports: WebAssembly.Exports;
  try {
    ({ exports } = await WebAssembly.instantiate(module, imports(module, memory)));
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
    claims: exports.vic_bootstrap_claims() >>> 0,
    stacks: exports.vic_bootstrap_stacks() >>> 0,
    count: exports.vic_bootstrap_count(),
    stackBytes: exports.vic_bootstrap_stack_bytes(),
    tlsBytes,
    areaBytes: exports.vic_thread_area_bytes(tlsBytes),
  };
}

/** Gives the instance a stack and thread-local storage of its own. */
function enter(heap: HeapHandle, exports: ThreadExports): number {
  const { layout, memory } = heap;
  const words = new Int32Array(memory.buffer);
  const pointer = exports.__stack_pointer;
  const claim = claimStack(words, layout);
  pointer.value = layout.stacks + (claim + 1) * layout.stackBytes | 0;
  const area = exports.vic_thread_area_create(layout.tlsBytes) >>> 0;
  if (area !== 0) {
    pointer.value = area + layout.areaBytes | 0;
    exports.__wasm_init_tls(area);
  }
  Atomics.store(words, (layout.claims >>> 2) + claim, 0);
  if (area === 0) throw new VicinalError('FULL', 'no memory for the stack of another thread');
  exports.vic_set_may_block(canBlock() ? 1 : 0);
  return area;
}

/**
 * Gives the area back, on a bootstrap stack: the moment it is free another thread may write there.
 * Where none can be had the area is lost, which is better than that.
 */
function leave(heap: HeapHandle, exports: ThreadExports, area: number): void {
  const { layout, memory } = heap;
  const words = new Int32Array(memory.buffer);
  let claim: number;
  try {
    claim = claimStack(words, layout);
  } catch {
    return;
  }
  exports.__stack_pointer.value = layout.stacks + (claim + 1) * layout.stackBytes | 0;
  exports.vic_thread_area_release(area);
  Atomics.store(words, (layout.claims >>> 2) + claim, 0);
}

function claimStack(words: Int32Array, layout: ThreadLayout): number {
  for (let i = 0; i < kClaimTries; ++i) {
    const claim = i % layout.count;
    if (Atomics.compareExchange(words, (layout.claims >>> 2) + claim, 0, 1) === 0) return claim;
  }
  throw new VicinalError('BUSY', 'too many threads attach at this moment: try again');
}
