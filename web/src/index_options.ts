// The options of create, checked: everything wrong is told before anything is loaded.
import { VicinalError, unsupported } from './errors.js';
import type { IdKind } from './id_codec.js';
import type { IndexOptions, LoadOptions, Metric, OpenOptions } from './types.js';

export const kDimMax = 16384;
export const kDefaultBytes = 2 ** 30;
/** What a WebAssembly memory can have. */
export const kBytesMax = 2 ** 32;
export type Originals = NonNullable<IndexOptions['originals']>;
/** By number of the core's Originals. */
export const kOriginals: readonly Originals[] = ['none', 'float16', 'float32'];
export const kMetrics: readonly Metric[] = ['cosine', 'ip', 'l2'];
/** Of an index. */
const kHelpersMax = 32;
const kBits: readonly number[] = [1, 2, 3, 4, 8];
const kSeedLimit = 1n << 64n;

/** What an index is, as checked. */
export interface IndexShape {
  readonly dim: number;
  readonly metric: Metric;
  readonly bits: number;
  readonly originals: Originals;
  readonly seed: bigint;
  readonly ids: IdKind;
}

export type Simd = 'auto' | 'wasm' | 'relaxed' | 'scalar';

/** Load options whose meaning is settled; the rest of LoadOptions is used as it is. */
export interface LoadPlan {
  readonly maxBytes: number;
  readonly threads: boolean | undefined;
  /** Workers that help long searches. */
  readonly helpers: number;
  readonly simd: Simd;
}

export function badOption(name: string, value: unknown, expected: string): VicinalError {
  const text = typeof value === 'string' ? JSON.stringify(value)
    : typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'a symbol'
    : typeof value === 'function' ? 'a function'
    : typeof value === 'object' && value !== null ? 'an object' : String(value);
  return new VicinalError('BAD_OPTION', `${name}: found ${text}, expected ${expected}`);
}

function checkObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw badOption(name, value, 'an object');
}

/** What a caller gave as a signal. BAD_OPTION. */
export function checkSignal(value: AbortSignal | null | undefined): AbortSignal | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value.aborted !== 'boolean' || typeof value.addEventListener !== 'function') {
    throw badOption('signal', value, 'an AbortSignal');
  }
  return value;
}

/** BAD_OPTION for an onProgress that cannot be called. */
export function checkProgress(value: unknown): void {
  if (value !== undefined && value !== null && typeof value !== 'function') {
    throw badOption('onProgress', value, 'a function');
  }
}

const kIndexNames = ['dim', 'metric', 'bits', 'originals', 'partitions', 'ids', 'seed'] as const;
const kLoadNames = [
  'maxBytes', 'signal', 'onProgress', 'wasm', 'worker', 'threads', 'simd', 'backend',
] as const;

/**
 * BAD_OPTION for an option of one argument that only the other has: it would be without effect.
 * Whoever gives both the same object means it.
 */
export function checkPlaces(options: IndexOptions, load: LoadOptions): void {
  const given = (object: object, name: string): boolean =>
    (object as Record<string, unknown>)[name] !== undefined;
  for (const name of kLoadNames) {
    if (!given(options, name) || given(load, name)) continue;
    throw new VicinalError('BAD_OPTION', `${name}: found among the options of the index, expected`
      + ' among those of loading, the second argument');
  }
  for (const name of kIndexNames) {
    if (!given(load, name) || given(options, name)) continue;
    throw new VicinalError('BAD_OPTION', `${name}: found among the options of loading, expected`
      + ' among those of the index, the first argument');
  }
}

function checkSeed(value: unknown): bigint {
  const seed = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof seed !== 'bigint' || seed < 0n || seed >= kSeedLimit) {
    throw badOption('seed', value, 'an integer, 0 <= seed < 2^64');
  }
  return seed;
}

function checkLater(options: IndexOptions): void {
  const { partitions = 'auto' } = options;
  if (partitions !== 'auto' && partitions !== 'none') {
    if (Number.isSafeInteger(partitions) && partitions > 0) {
      throw unsupported(`partitions: ${partitions}`);
    }
    throw badOption('partitions', partitions, "'auto', 'none' or a number >= 1");
  }
}

/** BAD_OPTION naming the option, what was found and what is expected; UNSUPPORTED. */
export function checkIndexOptions(options: IndexOptions): IndexShape {
  checkObject('options', options);
  const { dim, metric = 'cosine', bits = 4, ids = 'number', seed = 0 } = options;
  const { originals = 'none' } = options;
  if (!Number.isInteger(dim) || dim < 1 || dim > kDimMax) {
    throw badOption('dim', dim, `an integer from 1 to ${kDimMax}`);
  }
  if (!kMetrics.includes(metric)) throw badOption('metric', metric, "'cosine', 'ip' or 'l2'");
  if (!kBits.includes(bits)) throw badOption('bits', bits, '1, 2, 3, 4 or 8');
  if (!kOriginals.includes(originals)) {
    throw badOption('originals', originals, "'none', 'float16' or 'float32'");
  }
  checkIds(ids);
  checkLater(options);
  return { dim, metric, bits, originals, seed: checkSeed(seed), ids };
}

function checkIds(ids: unknown): asserts ids is IdKind {
  if (ids !== 'number' && ids !== 'bigint' && ids !== 'string') {
    throw badOption('ids', ids, "'number', 'bigint' or 'string'");
  }
}

/** Open options whose meaning is settled. */
export interface OpenPlan extends LoadPlan {
  readonly readOnly: boolean;
  /** Of a file that does not exist yet. */
  readonly create: IndexShape | undefined;
  /** undefined: those of the file, numbers as such. */
  readonly ids: IdKind | undefined;
}

/** BAD_OPTION, UNSUPPORTED. */
export function checkOpenOptions(options: OpenOptions): OpenPlan {
  const plan = checkLoadOptions(options);
  const { readOnly = false, create } = options;
  if (typeof readOnly !== 'boolean') throw badOption('readOnly', readOnly, 'a boolean');
  const shape = create === undefined ? undefined : checkIndexOptions(create);
  const ids: unknown = options.ids ?? create?.ids;
  if (ids !== undefined) checkIds(ids);
  if (shape && create?.ids !== undefined && shape.ids !== ids) {
    throw badOption('ids', ids, `as in create, '${shape.ids}'`);
  }
  return { ...plan, readOnly, create: shape && { ...shape, ids: ids ?? shape.ids }, ids };
}

function checkSimd(simd: unknown): Simd {
  if (simd !== 'auto' && simd !== 'wasm' && simd !== 'relaxed' && simd !== 'scalar') {
    throw badOption('simd', simd, "'auto', 'wasm', 'relaxed' or 'scalar'");
  }
  return simd;
}

function checkThreads(threads: unknown): Pick<LoadPlan, 'threads' | 'helpers'> {
  if (threads === undefined || typeof threads === 'boolean') return { threads, helpers: 0 };
  if (Number.isSafeInteger(threads) && (threads as number) >= 0
    && (threads as number) <= kHelpersMax) {
    return { threads: undefined, helpers: threads as number };
  }
  throw badOption('threads', threads, `true, false or an integer from 0 to ${kHelpersMax}`);
}

/** BAD_OPTION, UNSUPPORTED. */
export function checkLoadOptions(options: LoadOptions): LoadPlan {
  checkObject('load options', options);
  const { maxBytes = kDefaultBytes, simd = 'auto', backend = 'auto' } = options;
  if (typeof maxBytes !== 'number' || !(maxBytes > 0)) {
    throw badOption('maxBytes', maxBytes, 'a number of bytes above 0');
  }
  if (backend === 'native') throw unsupported("backend: 'native'");
  if (backend !== 'auto' && backend !== 'wasm') {
    throw badOption('backend', backend, "'auto', 'wasm' or 'native'");
  }
  checkSignal(options.signal);
  checkProgress(options.onProgress);
  return {
    maxBytes: Math.min(Math.floor(maxBytes), kBytesMax),
    ...checkThreads(options.threads),
    simd: checkSimd(simd),
  };
}
