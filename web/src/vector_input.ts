// Vectors of the caller, in whatever form, as float32 rows.
//
// I1: user code (getters, proxies) runs only inside these functions, never between two calls of the
//     core.
// I2: after the call that got them returns to the event loop, and whenever user code may have run
//     since their length was checked, rows come from memory of our own.
// I3: a row that is no longer there in full is an error, never what the target held before.
import { VicinalError } from './errors.js';
import { throwIfDetached } from './id_codec.js';

type NumberView = Float32Array | Float64Array;

const kLengthOfAny = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object, 'length')!.get!;

/** The true length: what a subclass or a property of the object says is the user's code. */
function lengthOf(view: NumberView): number {
  return kLengthOfAny.call(view) as number;
}

/** Rows to be read in order. */
export interface RowSource {
  /** Copies rows first .. first + count - 1 to the front of target. */
  read(first: number, count: number, target: Float32Array): void;
  /** Copies what is not read yet, so that the caller may do with its memory what it likes. */
  keep(next: number): void;
}

class FlatRows implements RowSource {
  #values: NumberView;
  #offset = 0;
  readonly #length: number;
  readonly #dim: number;
  #kept: boolean;

  constructor(values: NumberView, dim: number, kept: boolean) {
    this.#values = values;
    this.#length = lengthOf(values);
    this.#dim = dim;
    this.#kept = kept;
  }

  read(first: number, count: number, target: Float32Array): void {
    target.set(this.#part(first * this.#dim, (first + count) * this.#dim));
  }

  keep(next: number): void {
    if (this.#kept) return;
    const rest = this.#part(next * this.#dim, this.#length);
    const copy = allocate(rest.length);
    copy.set(rest);
    this.#values = copy;
    this.#offset = next * this.#dim;
    this.#kept = true;
  }

  #part(begin: number, end: number): NumberView {
    try {
      const part = this.#values.subarray(begin - this.#offset, end - this.#offset);
      if (lengthOf(part) === end - begin) return part;
    } catch { /* detached: told below */ }
    throw new VicinalError('BAD_OPTION', 'vectors: the buffer of the view was detached or shrunk'
      + ' while it was read');
  }
}

function allocate(count: number): Float32Array<ArrayBuffer> {
  try {
    return new Float32Array(count);
  } catch (cause) {
    throw new VicinalError('FULL', `no memory for a copy of ${count} coordinates`, { cause });
  }
}

function dimensionError(found: number, expected: number, where: string): VicinalError {
  return new VicinalError('DIMENSION', `${where} has ${found} coordinates, expected ${expected}`);
}

function numberView(value: unknown, what: string): NumberView | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  throwIfDetached(value, what);
  if (value instanceof DataView || value instanceof BigInt64Array
      || value instanceof BigUint64Array) {
    throw new VicinalError('BAD_OPTION', `${what}: numbers wanted, not ${value.constructor.name}`);
  }
  return value as NumberView;
}

function isArrayLike(value: unknown): value is ArrayLike<unknown> {
  return typeof value === 'object' && value !== null
    && Number.isSafeInteger((value as ArrayLike<unknown>).length);
}

/** One vector that the caller knows as `what`. */
function copyRow(row: unknown, target: Float32Array, what: string, dim: number): void {
  const view = numberView(row, what);
  if (view) {
    const length = lengthOf(view);
    if (length !== dim) throw dimensionError(length, dim, what);
    target.set(view);
    return;
  }
  if (!isArrayLike(row)) {
    throw new VicinalError('BAD_OPTION', `${what} is no array of numbers: pass one array for each`
      + ' vector, or a Float32Array with all of them');
  }
  const length = row.length;
  if (length !== dim) throw dimensionError(length, dim, what);
  for (let i = 0; i < dim; ++i) {
    const value = row[i];
    if (typeof value !== 'number') {
      throw new VicinalError('NOT_FINITE', `coordinate ${i} of ${what} is not a number`);
    }
    target[i] = value;
  }
}

/**
 * `count` rows. DIMENSION for another number of coordinates or of rows, BAD_OPTION for no vectors.
 */
export function rowSource(vectors: unknown, count: number, dim: number): RowSource {
  const view = numberView(vectors, 'vectors');
  if (view) {
    const length = lengthOf(view);
    if (length !== count * dim) {
      const found = count > 0 && length % count === 0
        ? `${length / count} coordinates for each of ${count} ids, expected ${dim}`
        : `${length} numbers for ${count} ids, expected ${count} times ${dim}`;
      throw new VicinalError('DIMENSION', `vectors: found ${found}`);
    }
    return new FlatRows(view, dim, false);
  }
  if (!isArrayLike(vectors)) {
    throw new VicinalError('BAD_OPTION', 'vectors must be a typed array or an array of arrays');
  }
  if (vectors.length !== count) {
    const flat = vectors.length === count * dim && typeof vectors[0] === 'number'
      ? ': numbers of several vectors in one list have to be a Float32Array' : '';
    throw new VicinalError('DIMENSION', `found ${vectors.length} vectors for ${count} ids${flat}`);
  }
  const copy = allocate(count * dim);
  for (let i = 0; i < count; ++i) {
    copyRow(vectors[i], copy.subarray(i * dim, (i + 1) * dim), `row ${i}`, dim);
  }
  return new FlatRows(copy, dim, true);
}

/** The rows of a typed array, and how many. DIMENSION for a part of one, BAD_OPTION. */
export function flatRows(
  values: unknown, dim: number, name: string,
): { readonly rows: RowSource; readonly count: number } {
  const view = numberView(values, name);
  if (!view) throw new VicinalError('BAD_OPTION', `${name} must be a typed array`);
  if (view.length % dim !== 0) {
    throw new VicinalError('DIMENSION',
      `${name}: found ${view.length} numbers, expected a multiple of ${dim}`);
  }
  return { rows: new FlatRows(view, dim, false), count: view.length / dim };
}

/** One query of `dim` coordinates, safe to hand to `set`. DIMENSION, NOT_FINITE, BAD_OPTION. */
export function queryVector(query: unknown, dim: number, what = 'the query'): NumberView {
  const view = numberView(query, what);
  if (view) {
    const length = lengthOf(view);
    if (length !== dim) throw dimensionError(length, dim, what);
    return view.subarray(0, length);  // a length of its own, whatever its buffer does
  }
  const copy = allocate(dim);
  copyRow(query, copy, what, dim);
  return copy;
}

/** Queries of a batch, one after the other: a view of the caller's memory, or of one copy. */
export function queryVectors(queries: unknown, dim: number): NumberView {
  const view = numberView(queries, 'queries');
  if (view) {
    const length = lengthOf(view);
    if (length % dim !== 0) {
      throw new VicinalError('DIMENSION',
        `queries: found ${length} numbers, expected a multiple of ${dim}`);
    }
    return view.subarray(0, length);  // a length of its own, whatever its buffer does
  }
  if (!isArrayLike(queries)) {
    throw new VicinalError('BAD_OPTION', 'queries must be an array of vectors or a typed array');
  }
  const count = queries.length;
  if (!(count >= 0)) throw new VicinalError('BAD_OPTION', `queries: found ${count} queries`);
  // Copied one after the other: a getter of the next may transfer or change the one before.
  const copy = allocate(count * dim);
  for (let i = 0; i < count; ++i) copy.set(queryVector(queries[i], dim, `query ${i}`), i * dim);
  return copy;
}
