// Ids that are strings, between JavaScript and the core, which knows their bytes in UTF-8.
//
// I1: packing copies; nothing of the caller's is kept or looked at again.
// I2: what is packed unpacks to the same string: a lone surrogate, which UTF-8 cannot hold, is
//     refused.
import { VicinalError } from './errors.js';

/** Strings one after the other, and where each ends. Cloneable. */
export interface StringIds {
  readonly ends: Uint32Array<ArrayBuffer>;
  readonly text: Uint8Array<ArrayBuffer>;
}

/** Of UTF-8, of one id. */
const kBytesMax = 65535;
const kTextMax = 0xffff_ffff;

/** How many bytes it has; -1: it has a lone surrogate. */
function utf8Bytes(text: string): number {
  let bytes = text.length;
  let surrogates = false;
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    const isSurrogate = unit >= 0xd800 && unit < 0xe000;  // two of them are four bytes
    bytes += unit < 0x800 || isSurrogate ? 1 : 2;
    surrogates ||= isSurrogate;
  }
  return surrogates && /\p{Surrogate}/u.test(text) ? -1 : bytes;
}

function badId(text: string, position: number | undefined, why: string): VicinalError {
  const shown = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  const place = position === undefined ? '' : ` at position ${position}`;
  return new VicinalError('BAD_ID', `id ${JSON.stringify(shown)}${place} ${why}`);
}

/** The first `count` of a list; without a count one that stands in no list. BAD_ID, FULL. */
export function packStrings(list: ArrayLike<unknown>, listed?: number): StringIds {
  const count = listed ?? 1;
  const alone = listed === undefined;
  const texts: string[] = [];
  let bytes = 0;
  for (let i = 0; i < count; ++i) {
    const value = list[i];
    const position = alone ? undefined : i;
    if (typeof value !== 'string') {
      const place = alone ? '' : ` at position ${i}`;
      throw new VicinalError('BAD_ID', `the id${place} is no string (a ${typeof value}), and the`
        + " index has ids: 'string'");
    }
    const length = utf8Bytes(value);
    if (length < 0) throw badId(value, position, 'has a lone surrogate');
    if (length > kBytesMax) throw badId(value, position, `has more than ${kBytesMax} bytes`);
    texts.push(value);
    bytes += length;
  }
  return encode(texts, bytes);
}

function encode(texts: readonly string[], bytes: number): StringIds {
  let packed: StringIds | undefined;
  try {
    if (bytes <= kTextMax) {
      packed = { ends: new Uint32Array(texts.length), text: new Uint8Array(bytes) };
    }
  } catch { /* told below */ }
  if (!packed) throw new VicinalError('FULL', `no memory for ids of ${bytes} bytes`);
  const encoder = new TextEncoder();
  let end = 0;
  texts.forEach((text, i) => {
    end += encoder.encodeInto(text, packed.text.subarray(end)).written;
    packed.ends[i] = end;
  });
  return packed;
}

/** Some of them, as a list of their own. */
export function sliceStrings(ids: StringIds, begin: number, end: number): StringIds {
  const from = begin === 0 ? 0 : ids.ends[begin - 1]!;
  const to = end === 0 ? 0 : ids.ends[end - 1]!;
  const ends = ids.ends.slice(begin, end).map((at) => at - from);
  return { ends, text: ids.text.subarray(from, to) };
}

/** How many of them from `begin` on, one at least, have no more than these bytes together. */
export function stringsWithin(ids: StringIds, begin: number, count: number, bytes: number): number {
  const most = (begin === 0 ? 0 : ids.ends[begin - 1]!) + bytes;
  let fit = 1;
  while (fit < count && ids.ends[begin + fit]! <= most) ++fit;
  return fit;
}

export function unpackStrings({ ends, text }: StringIds): string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const whole = decoder.decode(text);
  const strings: string[] = [];
  let begin = 0;
  // One code unit a byte: then places are the same in both, and one call has decoded all.
  const plain = whole.length === text.length;
  for (const end of ends) {
    strings.push(plain ? whole.slice(begin, end) : decoder.decode(text.subarray(begin, end)));
    begin = end;
  }
  return strings;
}
