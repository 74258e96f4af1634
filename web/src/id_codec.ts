// Ids between JavaScript and the core, where each is a u64: two u32 words, the low one first. Ids
// that are strings: string_ids.ts.
//
// I1: packing copies; nothing of the caller's is kept or looked at again.
import { VicinalError } from './errors.js';
import { packStrings, sliceStrings, unpackStrings, type StringIds } from './string_ids.js';
import type { Id } from './types.js';

type NumberKind = 'number' | 'bigint';
export type IdKind = NumberKind | 'string';

/** Ids as words; twice as many words as ids. */
export type IdWords = Uint32Array<ArrayBuffer>;

/** Ids as the core takes them, of the index's kind. */
export type PackedIds = IdWords | StringIds;

export function isStrings(ids: PackedIds): ids is StringIds {
  return 'ends' in ids;
}

export function countIds(ids: PackedIds): number {
  return isStrings(ids) ? ids.ends.length : ids.length / 2;
}

export function sliceIds(ids: PackedIds, begin: number, end: number): PackedIds {
  return isStrings(ids) ? sliceStrings(ids, begin, end) : ids.subarray(2 * begin, 2 * end);
}

const kWord = 0x1_0000_0000;
/** Ids are counted in 32 bits. */
const kCountMax = kWord - 1;
const kBigLimit: Record<NumberKind, bigint> = {
  number: BigInt(Number.MAX_SAFE_INTEGER),
  bigint: 0xffff_ffff_ffff_ffffn,
};

function badId(value: unknown, position: number | undefined): VicinalError {
  const text = typeof value === 'bigint' ? `${value}n` : typeof value === 'symbol' ? 'a symbol'
    : typeof value === 'string' ? JSON.stringify(value)
    : typeof value === 'object' && value !== null ? 'an object'
    : typeof value === 'function' ? 'a function' : String(value);
  const place = position === undefined ? '' : ` at position ${position}`;
  return new VicinalError('BAD_ID', `id ${text}${place} is not a non-negative integer in range`);
}

function writeId(
  words: IdWords, at: number, value: unknown, kind: NumberKind, position?: number,
): void {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) throw badId(value, position);
    words[at] = value >>> 0;
    words[at + 1] = Math.floor(value / kWord);
  } else if (typeof value === 'bigint') {
    if (value < 0n || value > kBigLimit[kind]) throw badId(value, position);
    words[at] = Number(value & 0xffff_ffffn);
    words[at + 1] = Number(value >> 32n);
  } else {
    throw badId(value, position);
  }
}

/** One id. BAD_ID. */
export function packId(id: unknown, kind: IdKind): PackedIds {
  if (kind === 'string') return packStrings([id]);
  const words = new Uint32Array(2);
  writeId(words, 0, id, kind);
  return words;
}

/**
 * Ids in their order. BAD_ID naming the position, BAD_OPTION for what is no list, by the name that
 * the caller knows it under, FULL.
 */
export function packIds(ids: unknown, kind: IdKind, name = 'ids'): PackedIds {
  const list = toArrayLike(ids, name);
  const count = list.length;  // once: a second look may find another number
  if (!isLength(count)) throw notAList(name);
  if (kind === 'string') return packStrings(list, count);
  const words = allocateWords(count);
  for (let i = 0; i < count; ++i) writeId(words, 2 * i, list[i], kind, i);
  return words;
}

function toArrayLike(ids: unknown, name: string): ArrayLike<unknown> {
  if (typeof ids === 'object' && ids !== null) {
    if (ArrayBuffer.isView(ids)) {
      throwIfDetached(ids, name);
      if (!(ids instanceof DataView)) return ids as unknown as ArrayLike<unknown>;
    } else if (Array.isArray(ids)) {
      return ids as unknown[];
    } else if (typeof (ids as Iterable<unknown>)[Symbol.iterator] === 'function') {
      return Array.from(ids as Iterable<Id>);
    } else {
      return ids as ArrayLike<unknown>;
    }
  }
  throw notAList(name);
}

function notAList(name: string): VicinalError {
  return new VicinalError(
    'BAD_OPTION', `${name} must be an array, a typed array or an iterable of ids`);
}

function allocateWords(count: number): IdWords {
  try {
    if (count <= kCountMax) return new Uint32Array(2 * count);
  } catch { /* told below */ }
  throw new VicinalError('FULL', `no memory for ${count} ids`);
}

function isLength(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** BAD_OPTION for a view whose memory was transferred elsewhere: it would pass for an empty one. */
export function throwIfDetached(view: ArrayBufferView, what: string): void {
  if (view.byteLength > 0) return;
  try {
    new Uint8Array(view.buffer);
  } catch {
    throw new VicinalError('BAD_OPTION', `${what}: the buffer of the view is detached`);
  }
}

/** From here on the high word is that of no safe integer. */
const kUnsafeHigh = 2 ** 21;

/**
 * Ids that nobody else uses, in the form that results carry. BAD_ID: one is none of this kind, as
 * another's in a file that this realm follows may be.
 */
export function unpackIds(
  words: PackedIds, kind: IdKind,
): Float64Array | BigUint64Array | string[] {
  if (isStrings(words)) return unpackStrings(words);
  const count = words.length / 2;
  if (kind === 'bigint') return new BigUint64Array(words.buffer, words.byteOffset, count);
  const ids = new Float64Array(count);
  for (let i = 0; i < ids.length; ++i) {
    const high = words[2 * i + 1]!;
    if (high >= kUnsafeHigh) throw unsafeId((BigInt(high) << 32n) + BigInt(words[2 * i]!));
    ids[i] = words[2 * i]! + high * kWord;
  }
  return ids;
}

/** BAD_ID of an id of a file. */
export function unsafeId(id: bigint): VicinalError {
  return new VicinalError('BAD_ID', `the file has the id ${id}, which is no safe integer: open it`
    + " with ids: 'bigint'");
}
