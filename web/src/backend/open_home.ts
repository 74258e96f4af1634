// The homes of this realm, each opened once: by what is loaded, and by the memory that is asked
// for.
//
// I1: an entry whose opening failed is gone before anyone else looks.
// I2: a realm has few memories (browsers allow about a hundred in a process): a home is used again
//     by whoever asks for no more than it was opened for.
import { wasmUrl, type Variant } from '../assets.js';
import { VicinalError, abortable } from '../errors.js';
import { kBytesMax, type LoadPlan } from '../index_options.js';
import { canShare } from '../platform/environment.js';
import { workerAddress } from '../platform/worker_port.js';
import type { LoadOptions } from '../types.js';
import type { Home } from './home.js';
import { moduleSource, type ModuleSource } from './load_module.js';
import { needsRelaxedSimd, relaxedSimd } from './relaxed_simd.js';
import { SingleHome } from './single_home.js';
import { ThreadHome } from './thread_home.js';
import { ThreadInstance, type HeapHandle } from './thread_instance.js';

interface Entry {
  readonly variant: Variant;
  readonly key: ModuleSource['key'];
  readonly maxBytes: number;
  readonly home: Promise<Home>;
}

const kPageBytes = 65536;
const kLeastBytes = 2 ** 24;

const opened: Entry[] = [];
/** By the heap's id: made here, or given to this realm and in use. */
const threadHomes = new Map<string, Promise<ThreadHome>>();

// A function with one SIMD instruction: i32.const 0, i8x16.splat, drop.
const kSimdProbe = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0,
  10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11,
];

function variantFor(plan: LoadPlan): Variant {
  const shared = canShare();
  if (plan.threads === true && !shared) {
    throw new VicinalError('UNSUPPORTED', 'threads: this realm has no shared memory; a page needs'
      + ' the headers Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy');
  }
  if (plan.threads === false || !shared) {
    if (plan.simd === 'scalar' || plan.simd === 'relaxed') {
      throw new VicinalError('UNSUPPORTED', `simd: '${plan.simd}' needs threads`);
    }
    return { threads: false, simd: 'wasm' };
  }
  if (plan.simd === 'relaxed') checkRelaxedSimd();
  return { threads: true, simd: plan.simd === 'auto' ? simdHere() : plan.simd };
}

/** UNSUPPORTED where the relaxed build would not compile, or compute something else. */
function checkRelaxedSimd(): void {
  const here = relaxedSimd();
  if (here === 'right') return;
  throw new VicinalError('UNSUPPORTED', here === 'missing'
    ? "simd: 'relaxed': this engine has no relaxed SIMD"
    : "simd: 'relaxed': this engine's relaxed SIMD computes wrong results");
}

function simdHere(): Variant['simd'] {
  if (!WebAssembly.validate(new Uint8Array(kSimdProbe))) return 'scalar';
  return relaxedSimd() === 'right' ? 'relaxed' : 'wasm';
}

function sameVariant(a: Variant, b: Variant): boolean {
  return a.threads === b.threads && a.simd === b.simd;
}

/** The home for an index: opened now, or one that is there. IO, CORRUPT, VERSION, FULL, ABORTED. */
export async function openHome(plan: LoadPlan, options: LoadOptions): Promise<Home> {
  const variant = variantFor(plan);
  const source = await moduleSource(options.wasm, () => wasmUrl(variant), options);
  for (;;) {
    const known = opened.find((entry) => sameVariant(entry.variant, variant)
      && entry.key === source.key
      && (!variant.threads || entry.maxBytes >= plan.maxBytes));
    if (!known) break;
    const home = await abortable(known.home.catch(() => undefined), options.signal);
    if (home) return home;
    // Whoever opened it was stopped, or will be told why not; we try ourselves.
  }
  const home = variant.threads ? openThreads(source, plan, options) : openSingle(source);
  const entry = { variant, key: source.key, maxBytes: plan.maxBytes, home };
  opened.push(entry);
  home.catch(() => opened.splice(opened.indexOf(entry), 1));
  return abortable(home, options.signal);
}

/** BAD_OPTION when the caller gave the file of the other build. */
function checkBuild(module: WebAssembly.Module, threads: boolean): void {
  const isMemory = ({ kind }: { kind: string }): boolean => kind === 'memory';
  const forThreads = WebAssembly.Module.imports(module).some(isMemory);
  const forSingle = WebAssembly.Module.exports(module).some(isMemory);
  if (threads ? forSingle : forThreads) {
    throw new VicinalError('BAD_OPTION', `wasm: found the build ${forThreads ? 'with' : 'without'}`
      + ` threads, expected the one ${forThreads ? 'without' : 'with'}: it is used here because`
      + ` ${threads ? 'there is shared memory' : 'there is no shared memory'}`
      + ' or because `threads` says so');
  }
}

/** BAD_OPTION, UNSUPPORTED when the caller gave a file that `simd` or the engine rules out. */
function checkSimd(module: WebAssembly.Module, { simd }: LoadPlan): void {
  const relaxed = needsRelaxedSimd(module);
  if (relaxed) checkRelaxedSimd();
  if (simd !== 'auto' && relaxed !== (simd === 'relaxed')) {
    throw new VicinalError('BAD_OPTION', `wasm: found the build ${relaxed ? 'with' : 'without'}`
      + ` relaxed SIMD, expected the one for simd: '${simd}'`);
  }
}

async function openSingle(source: ModuleSource): Promise<Home> {
  const module = await source.compile();
  checkBuild(module, false);
  return SingleHome.create(module);
}

async function openThreads(
  source: ModuleSource, plan: LoadPlan, options: LoadOptions,
): Promise<Home> {
  const module = await source.compile();
  checkBuild(module, true);
  checkSimd(module, plan);
  const id = heapId();
  const instance = await ThreadInstance.create(id, createMemory(plan.maxBytes), module);
  const home = new ThreadHome(instance, workerAddress(options.worker));
  threadHomes.set(id, Promise.resolve(home));
  return home;
}

// Never grown: growing a shared memory makes memory.copy of other threads trap in V8. Untouched
// pages cost address space only, and where that is scarce less has to do.
function createMemory(maxBytes: number): WebAssembly.Memory {
  const least = Math.min(maxBytes, kLeastBytes);
  for (let bytes = Math.max(maxBytes, kLeastBytes); ; bytes /= 2) {
    const pages = Math.min(Math.ceil(bytes / kPageBytes), kBytesMax / kPageBytes);
    try {
      return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch (cause) {
      if (bytes / 2 < least) {
        throw new VicinalError('FULL', `no shared memory of ${bytes} bytes`, { cause });
      }
    }
  }
}

function heapId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/** The home of a heap that was shared with this realm, already entered. BUSY, FULL, VERSION. */
export async function attachHome(heap: HeapHandle, worker: URL | undefined): Promise<ThreadHome> {
  for (;;) {
    const home = await (threadHomes.get(heap.id) ?? attachAnew(heap, worker));
    if (home.enter()) return home;
    // Its last reader left while we waited for our turn.
  }
}

function attachAnew(heap: HeapHandle, worker: URL | undefined): Promise<ThreadHome> {
  const forget = (): void => {
    threadHomes.delete(heap.id);
  };
  const home = ThreadInstance.attach(heap).then(
    (instance) => new ThreadHome(instance, worker, forget));
  threadHomes.set(heap.id, home);
  home.catch(forget);
  return home;
}
