// Reads the rows of an index file of version 3, written from docs/format.md alone: what it and the
// core make of one file may differ only where the page is wrong. It checks every sum that it meets.
import { xxh3 } from './xxh3.mjs';

const PAGE = 4096;
const LOG_START = 4 * PAGE;
const HEADER = 64;
const BLOCK_ROWS = 32;
const ROW_FACTORS = 3;
const SEGMENT_ROWS = 32768;
const SEGMENTS = 131071;
const PAGE_ROWS = 4096;
const IP = 1; // metric
const MASK = (1n << 64n) - 1n;
const KIND = { extent: 1, commit: 2, directory: 3, ids: 4, strings: 7, last: 8 };
const RESERVED = [5, 6, 8];
const ORDINALS = 2 ** 48;

export class FormatError extends Error {
  constructor(code, message) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

const fail = (message) => { throw new FormatError('CORRUPT', message); };
const check = (held, message) => { if (!held) fail(message); };
const ceilTo = (value, step) => Math.ceil(value / step) * step;
const isZero = (bytes) => bytes.every((byte) => byte === 0);

/** Bytes with the numbers in them. u64 gives a Number, and fails where that would not be exact. */
class Bytes {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length() { return this.bytes.length; }
  u8(at) { return this.view.getUint8(at); }
  u16(at) { return this.view.getUint16(at, true); }
  u32(at) { return this.view.getUint32(at, true); }
  big(at) { return this.view.getBigUint64(at, true); }

  u64(at) {
    const value = this.big(at);
    check(value <= BigInt(Number.MAX_SAFE_INTEGER), 'a number beyond any file');
    return Number(value);
  }

  part(at, length) {
    check(at + length <= this.length, 'a part that ends beyond the file');
    return new Bytes(this.bytes.subarray(at, at + length));
  }

  text(at, length) { return String.fromCharCode(...this.bytes.subarray(at, at + length)); }
}

function mix64(value) {
  let x = value & MASK;
  x = (x ^ x >> 30n) * 0xbf58476d1ce4e5b9n & MASK;
  x = (x ^ x >> 27n) * 0x94d049bb133111ebn & MASK;
  return x ^ x >> 31n;
}

/** D and all that follows from dim and bits. */
export function rowLayout(dim, bits) {
  const planeGroups = (codedDim) => {
    const half = codedDim / 8;
    return Math.max(half + ceilTo(half, 4), ceilTo(2 * half, 4));
  };
  const plain = ceilTo(dim, 8);
  let codedDim = plain;
  for (let longer = plain + 8; longer <= 128; longer += 8) {
    const cost = (longer - plain) * bits / 4 + planeGroups(longer) - longer / 4;
    if (cost <= 14) codedDim = longer;
  }
  return {
    codedDim,
    half: codedDim / 8,
    restBytes: codedDim * (bits - 1) / 8,
    packedBytes: codedDim * bits / 8,
    planeBytes: 16 * planeGroups(codedDim),
  };
}

/** Where the six arrays of a slab of so many rows begin, and its length. */
function slabLayout(layout, capacity) {
  let at = 0;
  const starts = [capacity / BLOCK_ROWS * layout.planeBytes, capacity * layout.restBytes,
    4 * capacity, 4 * capacity, 4 * capacity, 8 * capacity].map((bytes) => {
    const start = at;
    at = ceilTo(at + bytes + 64, 64);
    return start;
  });
  const [planes, rests, scales, planeScales, cosines, ids] = starts;
  return { planes, rests, factors: [scales, planeScales, cosines], ids, bytes: ceilTo(at, PAGE) };
}

function readSuperblock(file) {
  check(file.length >= PAGE && file.text(0, 8) === 'VICINAL\n', 'no index file');
  check(xxh3(file.bytes.subarray(0, 56)) === file.big(56), 'the first 64 bytes');
  const version = file.u32(8);
  if (version > 3) throw new FormatError('VERSION', `version ${version}`);
  check(version === 3, 'not a log');
  check(xxh3(file.bytes.subarray(0, 4088)) === file.big(4088), 'the superblock');
  check(file.u32(12) === PAGE && isZero(file.bytes.subarray(32, 56))
    && isZero(file.bytes.subarray(88, 4088)), 'the superblock');
  const block = {
    uuid: file.bytes.subarray(16, 32),
    dim: file.u32(64),
    metric: file.u8(68),
    bits: file.u8(69),
    seed: file.big(72),
    codedDim: file.u32(80),
    strings: file.u8(71) === 1,
  };
  check(block.dim !== 0, 'no dimensions');
  const known = block.dim <= 16384 && block.metric <= 2 && [1, 2, 3, 4, 8].includes(block.bits)
    && file.u8(70) === 0 && file.u8(71) <= 1 && file.u32(84) === ROW_FACTORS;
  if (!known) throw new FormatError('UNSUPPORTED', 'an option of the superblock');
  check(rowLayout(block.dim, block.bits).codedDim === block.codedDim, 'the coded dimension');
  return block;
}

class LogReader {
  constructor(bytes) {
    this.file = new Bytes(bytes);
    this.superblock = readSuperblock(this.file);
    this.layout = rowLayout(this.superblock.dim, this.superblock.bits);
    this.uuidHead = new Bytes(this.superblock.uuid).big(0);
    this.version = undefined;
    this.records = [];
  }

  sumInFile(bytes) {
    const covered = new Uint8Array(72);
    covered.set(this.superblock.uuid);
    covered.set(bytes.subarray(0, 56), 16);
    return xxh3(covered);
  }

  mix(position) { return mix64(this.uuidHead ^ mix64(BigInt(position))); }

  /** The newer valid meta slot, if there is one. */
  readMeta() {
    const slots = [0, 1].map((number) => {
      if (this.file.length < LOG_START) return undefined;
      const slot = this.file.part((number + 1) * PAGE, 64);
      const isPosition = (value) => value >= BigInt(LOG_START) && value % 64n === 0n
        && value <= 1n << 62n;
      const valid = slot.text(0, 4) === 'META' && slot.u32(4) === number
        && this.sumInFile(slot.bytes) === slot.big(56) && slot.big(48) === 0n
        && isPosition(slot.big(24)) && isPosition(slot.big(32)) && slot.big(32) < slot.big(24);
      return valid ? { turn: slot.big(8), end: slot.u64(24), directory: slot.u64(32) } : undefined;
    });
    return slots.filter((slot) => slot !== undefined).sort((a, b) => (a.turn < b.turn ? 1 : -1))[0];
  }

  /** The record at a position, behind one with the sum `previous` (undefined: any). */
  readRecord(position, previous) {
    check(position + HEADER <= this.file.length, 'no record');
    const header = this.file.part(position, HEADER);
    const kind = header.u16(4);
    check(header.text(0, 4) === 'VREC' && this.sumInFile(header.bytes) === header.big(56),
      'a record header');
    check(kind >= 1 && kind <= KIND.last && header.u16(6) === 0, 'a record kind');
    check(header.u64(8) === position, 'a record of another place');
    check(previous === undefined || header.big(48) === previous, 'a record that is not the next');
    const bytes = header.u64(16);
    const bodyBytes = header.u64(24);
    check(bytes % 64 === 0 && HEADER + ceilTo(bodyBytes, 64) <= bytes, 'the length of a record');
    check(position + bytes <= this.file.length, 'a record that ends beyond the file');
    const body = this.file.part(position + HEADER, bodyBytes);
    check(xxh3(body.bytes) === header.big(40), 'the body of a record');
    const end = position + HEADER + bodyBytes;
    check(isZero(this.file.part(end, ceilTo(end, 64) - end).bytes), 'the padding of a record');
    if (RESERVED.includes(kind)) throw new FormatError('UNSUPPORTED', `a record of kind ${kind}`);
    return { kind, position, bytes, body, sequence: header.u64(32), sum: header.big(56) };
  }

  readStrings(position) {
    const { kind, body } = this.readRecord(position);
    check(kind === KIND.strings && this.superblock.strings, 'no strings record');
    return readList(body);
  }

  readExtent(position) {
    const { kind, body, bytes } = this.readRecord(position);
    check(kind === KIND.extent && body.length === 64 && isZero(body.bytes.subarray(32)),
      'no extent');
    const number = body.u32(0);
    const capacity = body.u32(4);
    check(number < SEGMENTS && capacity >= 32 && capacity <= SEGMENT_ROWS && capacity % 32 === 0,
      'an extent');
    const slab = slabLayout(this.layout, capacity);
    const start = ceilTo(position + HEADER + 64, PAGE);
    const sums = start + slab.bytes;
    check(body.u64(8) === start && body.u64(16) === slab.bytes && body.u64(24) === sums
      && bytes === sums + ceilTo(capacity / 2, 64) - position, 'the parts of an extent');
    return { number, capacity, slab, start, sums };
  }

  /** Fails unless the block's bytes have the sums that the extent keeps of them. */
  checkBlock(extent, block) {
    const { slab, start } = extent;
    const { planeBytes, restBytes } = this.layout;
    const bytesOf = (at, length) => this.file.part(at, length).bytes;
    const plane = start + slab.planes + block * planeBytes;
    const row = block * BLOCK_ROWS;
    const rests = start + slab.rests + row * restBytes;
    const ids = start + slab.ids + row * 8;
    let planeSum = xxh3(bytesOf(plane, planeBytes));
    for (const array of slab.factors) {
      planeSum = xxh3(bytesOf(start + array + 4 * row, 4 * BLOCK_ROWS), planeSum);
    }
    const sum = xxh3(bytesOf(ids, 8 * BLOCK_ROWS), xxh3(bytesOf(rests, BLOCK_ROWS * restBytes)));
    const kept = this.file.part(extent.sums + 16 * block, 16);
    check((planeSum ^ this.mix(plane)) === kept.big(0), 'a plane');
    check((sum ^ this.mix(restBytes === 0 ? ids : rests)) === kept.big(8), 'the rows of a block');
  }

  rowOfExtent(extent, row) {
    const { slab, start } = extent;
    const { half, restBytes, packedBytes, planeBytes } = this.layout;
    const lane = row % BLOCK_ROWS;
    const plane = this.file.part(
      start + slab.planes + Math.floor(row / BLOCK_ROWS) * planeBytes, planeBytes);
    const nibble = (group) => plane.u8(16 * group + lane % 16) >> (lane < 16 ? 0 : 4) & 15;
    const packed = new Uint8Array(packedBytes);
    for (let i = 0; i < half; i += 1) packed[i] = nibble(i) | nibble(i + half) << 4;
    packed.set(this.file.part(start + slab.rests + row * restBytes, restBytes).bytes, half);
    return {
      id: this.file.big(start + slab.ids + 8 * row),
      factors: slab.factors.map((array) => this.file.u32(start + array + 4 * row)),
      packed,
    };
  }

  /** The newest commit, as a version: { sequence, segments, origin, head }. */
  read() {
    const meta = this.readMeta();
    let position = meta?.directory ?? LOG_START;
    let previous = meta === undefined ? 0n : undefined;
    for (;;) {
      const certain = meta !== undefined && position < meta.end;
      let record;
      try {
        record = this.readRecord(position, previous);
        this.take(record);
      } catch (error) {
        if (!(error instanceof FormatError) || error.code !== 'CORRUPT' || certain) throw error;
        break;
      }
      this.records.push(record);
      position += record.bytes;
      previous = record.sum;
    }
    check(this.version !== undefined, 'no directory');
    return this.version;
  }

  /** What a record changes. One that fails has changed nothing. */
  take(record) {
    if (record.kind === KIND.extent) this.readExtent(record.position);
    if (record.kind === KIND.strings) this.readStrings(record.position);
    if (record.kind === KIND.directory) {
      const before = this.version;
      check(before === undefined || before.sequence === record.sequence, 'a directory');
      const found = new Version(this, undefined, record);
      check(before === undefined || before.saysTheSameAs(found), 'a directory that says otherwise');
      this.version = found;
    }
    if (record.kind === KIND.commit) {
      check(this.version !== undefined && record.sequence > this.version.sequence,
        'a commit that does not follow');
      this.version = new Version(this, this.version, record);
    }
  }
}

/** Strings by their ordinals, ascending: [ordinal, bytes] each. */
function readList(list) {
  check(list.length >= 24, 'the head of a list of strings');
  const [first, count, listed, textBytes] = [list.u64(0), list.u32(8), list.u32(12), list.u32(16)];
  check(first >= 1 && count >= 1 && count <= 8192 && listed <= 1 && textBytes <= 262144
    && list.u32(20) === 0, 'the head of a list of strings');
  const ends = 24 + 4 * count * listed;
  const text = ends + 4 * count;
  check(list.length === ceilTo(text + textBytes, 8), 'the length of a list of strings');
  check(isZero(list.part(text + textBytes, list.length - text - textBytes).bytes),
    'the padding of a list of strings');
  const strings = Array.from({ length: count }, (_, i) => {
    const begin = i === 0 ? 0 : list.u32(ends + 4 * i - 4);
    const end = list.u32(ends + 4 * i);
    check(begin <= end && end - begin <= 65535 && end <= textBytes, 'where a string ends');
    return [first + (listed === 1 ? list.u32(24 + 4 * i) : i),
      list.part(text + begin, end - begin).bytes];
  });
  const last = strings[count - 1][0];
  check(list.u32(ends + 4 * count - 4) === textBytes, 'the bytes of strings');
  check(strings[0][0] === first && last < ORDINALS
    && strings.every(([ordinal], i) => i === 0 || strings[i - 1][0] < ordinal), 'the ordinals');
  check(listed === 0 || last - first + 1 !== count, 'a list of ordinals that are all there');
  return strings;
}

/** A commit's or directory's body, list by list. */
class Body {
  constructor(record, { dim, strings }) {
    this.record = record;
    this.body = record.body;
    this.at = 64;
    this.directory = record.kind === KIND.directory;
    const { body } = this;
    check(body.length >= 64 && body.u32(52) === 0, 'the head of a commit');
    this.head = {
      live: body.u64(0), dead: body.u64(8), dropped: body.u64(16), segmentEnd: body.u32(24),
      ids: body.u64(56),
    };
    const flags = body.u32(28);
    check(flags === (flags & 1) + (this.directory ? 2 : 0) + (strings ? 4 : 0),
      'the flags of a commit');
    check(this.head.segmentEnd <= SEGMENTS + 1, 'the segment end');
    const number = (at) => body.u32(at);
    this.opened = this.list(body.u32(32), 16, (at) =>
      ({ number: number(at), capacity: body.u32(at + 4), extent: body.u64(at + 8) }));
    this.grown = this.list(body.u32(36), 16, (at) =>
      ({ number: number(at), rows: body.u32(at + 4), sums: body.big(at + 8) }));
    this.dropped = this.list(body.u32(40), 4, number);
    this.dead = this.list(body.u32(44), 4, number);
    this.pages = this.list(body.u32(48), 520, (at) =>
      ({ number: number(at), page: body.u32(at + 4), words: body.part(at + 8, 512) }));
    [this.origin] = this.list(flags & 1, 8 + 4 * dim, (at) =>
      ({ number: body.big(at), floats: body.part(at + 8, 4 * dim).bytes }));
    if (strings) this.readStrings();
    this.checkLists();
  }

  readStrings() {
    const [count, listBytes] = [this.body.u32(this.at + 8), this.body.u32(this.at + 12)];
    this.stringsEnd = this.body.u64(this.at);
    check(this.stringsEnd >= 1 && this.stringsEnd <= ORDINALS, 'the end of the strings');
    this.at += 16;
    this.stringRecords = this.list(count, 16, (at) =>
      ({ first: this.body.u64(at), position: this.body.u64(at + 8) }));
    this.strings = listBytes === 0 ? [] : readList(this.body.part(this.at, listBytes));
    this.at += listBytes;
    check(this.stringRecords.every(({ first, position }, i, all) => first >= 1
      && first < this.stringsEnd && (i === 0 || all[i - 1].first < first) && position >= LOG_START
      && position % 64 === 0 && position < this.record.position), 'where strings are');
    check(this.strings.every(([ordinal]) => ordinal < this.stringsEnd
      && ordinal > (this.stringRecords.at(-1)?.first ?? 0)), 'the strings of a commit');
  }

  list(count, bytes, read) {
    const end = ceilTo(this.at + count * bytes, 8);
    check(end <= this.body.length, 'a list that ends beyond the commit');
    check(isZero(this.body.bytes.subarray(this.at + count * bytes, end)), 'the padding of a list');
    const list = Array.from({ length: count }, (_, i) => read(this.at + i * bytes));
    this.at = end;
    return list;
  }

  checkLists() {
    const ascends = (list, key) =>
      list.every((entry, i) => i === 0 || key(list[i - 1]) < key(entry));
    const byNumber = (entry) => entry.number;
    const itself = (value) => value;
    const byPage = (entry) => entry.number * 8 + entry.page;
    check(ascends(this.opened, byNumber) && ascends(this.grown, byNumber)
      && ascends(this.dropped, itself) && ascends(this.dead, itself)
      && ascends(this.pages, byPage), 'a list that does not ascend');
    const { segmentEnd } = this.head;
    check([...this.opened, ...this.grown, ...this.pages].every((one) => one.number < segmentEnd)
      && this.dead.every((slot) => slot < segmentEnd * SEGMENT_ROWS)
      && [...this.opened, ...this.grown].every((one) => one.number < SEGMENTS)
      && this.pages.every(({ page }) => page < 8), 'a segment that cannot be');
    const pages = new Set(this.pages.map(byPage));
    check(!this.dead.some((slot) => pages.has(Math.floor(slot / PAGE_ROWS))), 'a slot dead twice');
    check(!this.directory || (this.dropped.length === 0 && this.dead.length === 0), 'a directory');
    check(this.origin === undefined || this.origin.number !== 0n, 'an origin');
    check(this.opened.every(({ extent }) => extent >= LOG_START && extent % 64 === 0
      && extent < this.record.position), 'where an extent is');
  }

  /** The next inline rows: those of `count` rows. */
  inlineRows(count, packedBytes) {
    const [ids, factors] = [this.at, this.at + 8 * count];
    const packed = factors + 4 * ROW_FACTORS * count;
    return this.list(Math.min(count, 1), count * (8 + 4 * ROW_FACTORS + packedBytes), () =>
      Array.from({ length: count }, (_, i) => ({
        id: this.body.big(ids + 8 * i),
        factors: [0, 4, 8].map((at) => this.body.u32(factors + 12 * i + at)),
        packed: this.body.part(packed + i * packedBytes, packedBytes).bytes,
      }))).flat();
  }
}

class Version {
  constructor(log, before, record) {
    const body = new Body(record, log.superblock);
    this.sequence = record.sequence;
    this.head = body.head;
    check(this.head.dropped >= (before?.head.dropped ?? 0), 'the rows that were dropped');
    this.origin = body.origin ?? before?.origin;
    this.segments = new Map();
    for (const [number, { extent, live, rows }] of before?.segments ?? []) {
      this.segments.set(number, { extent, live: live.slice(), rows: [...rows] });
    }
    for (const number of body.dropped) {
      check(this.segments.delete(number), 'a dropped segment that is not there');
    }
    check(body.origin === undefined || (this.segments.size === 0 && log.superblock.metric !== IP
      && body.origin.number <= BigInt(record.sequence)
      && body.origin.number > (before?.origin?.number ?? 0n)), 'an origin');
    for (const { number, capacity, extent } of body.opened) {
      check(!this.segments.has(number), 'an opened segment that is there');
      const found = log.readExtent(extent);
      check(found.number === number && found.capacity === capacity, 'the extent of a segment');
      const live = new Uint8Array(capacity).fill(1);
      this.segments.set(number, { extent: found, live, rows: [] });
    }
    if (log.superblock.strings) this.addStrings(log, before, body);
    for (const grown of body.grown) this.grow(log, body, grown);
    check(body.at === body.body.length, 'what follows the last row');
    this.die(body);
    this.count();
  }

  addStrings(log, before, body) {
    const endBefore = before?.stringsEnd ?? 1;
    check(body.stringsEnd >= endBefore, 'an end of strings that comes back');
    this.stringsEnd = body.stringsEnd;
    this.strings = new Map(before?.strings);
    let last = 0;
    const add = (list, atLeast) => {
      for (const [ordinal, bytes] of list) {
        check(ordinal > last && ordinal >= atLeast, 'strings that do not follow');
        const known = this.strings.get(ordinal);
        check(known === undefined || Buffer.compare(known, bytes) === 0, 'a string that changed');
        this.strings.set(ordinal, bytes);
        last = ordinal;
      }
    };
    for (const { first, position } of body.stringRecords) {
      const list = log.readStrings(position);
      check(list[0][0] === first, 'a strings record that is another one');
      add(list, 1);
    }
    add(body.strings, endBefore);
    check(last < this.stringsEnd, 'the end of the strings');
  }

  /** The string that a handle names. */
  nameOf(handle) {
    const name = this.strings.get(Number(handle >> 16n));
    check(name !== undefined && xxh3(name) >> 48n === (handle & 0xffffn), 'a row without a string');
    return name;
  }

  grow(log, body, { number, rows, sums }) {
    const segment = this.segments.get(number);
    check(segment !== undefined && rows > segment.rows.length
      && rows <= segment.extent.capacity, 'the rows of a segment');
    const before = segment.rows.length;
    const whole = Math.floor(rows / BLOCK_ROWS) * BLOCK_ROWS;
    const first = Math.max(before, whole);
    const inline = body.inlineRows(rows - first, log.layout.packedBytes);
    const [from, to] = [Math.floor(before / BLOCK_ROWS), whole / BLOCK_ROWS];
    const kept = log.file.part(segment.extent.sums + 16 * from, 16 * Math.max(to - from, 0));
    check(sums === (to > from ? xxh3(kept.bytes) : 0n), 'the sums of whole blocks');
    for (let block = from; block < to; block += 1) log.checkBlock(segment.extent, block);
    for (let row = from * BLOCK_ROWS; row < whole; row += 1) {
      const found = log.rowOfExtent(segment.extent, row);
      check(row >= before || sameRow(found, segment.rows[row]), 'a row that changed');
      segment.rows[row] = found;
    }
    segment.rows.push(...inline);
    check(segment.rows.length === rows, 'the rows of a segment');
  }

  die(body) {
    for (const slot of body.dead) {
      const segment = this.segments.get(Math.floor(slot / SEGMENT_ROWS));
      const row = slot % SEGMENT_ROWS;
      check(segment !== undefined && row < segment.rows.length && segment.live[row] === 1,
        'a dead row that was not live');
      segment.live[row] = 0;
    }
    for (const { number, page, words } of body.pages) {
      const segment = this.segments.get(number);
      check(segment !== undefined && page * PAGE_ROWS < segment.rows.length, 'a live page of none');
      for (let bit = 0; bit < PAGE_ROWS; bit += 1) {
        const live = words.u32(4 * (bit >> 5)) >>> (bit & 31) & 1;
        const row = page * PAGE_ROWS + bit;
        const there = row < segment.rows.length;
        check(there ? live <= segment.live[row] : live === 1, 'a page that does not follow');
        if (there) segment.live[row] = live;
      }
    }
  }

  count() {
    const rows = [...this.segments.values()].reduce((sum, one) => sum + one.rows.length, 0);
    const live = this.rows();
    check(live.length === this.head.live && rows - live.length === this.head.dead, 'the counts');
    const names = this.strings === undefined ? live.map(({ id }) => id)
      : live.map(({ id }) => Buffer.from(this.nameOf(id)).toString('latin1'));
    check(new Set(names).size === live.length, 'an id that is there twice');
  }

  saysTheSameAs(other) {
    const [ours, theirs] = [this.rows(), other.rows()];
    return ours.length === theirs.length && this.origin?.number === other.origin?.number
      && this.stringsEnd === other.stringsEnd
      && ours.every((row, i) => row.slot === theirs[i].slot && sameRow(row, theirs[i]));
  }

  /** Live rows by slot. */
  rows() {
    return [...this.segments].sort(([a], [b]) => a - b).flatMap(([number, { rows, live }]) =>
      rows.map((row, i) => ({ slot: number * SEGMENT_ROWS + i, ...row }))
        .filter((_, i) => live[i] === 1));
  }
}

function sameRow(a, b) {
  return a.id === b.id && a.factors.every((bits, i) => bits === b.factors[i])
    && a.packed.every((byte, i) => byte === b.packed[i]);
}

/**
 * What a file holds: { superblock, sequence, origin, rows }, each row { slot, id, factors, packed }
 * with the bits of its three factors, and the bytes of its name where ids are strings. Throws
 * FormatError.
 */
export function readLog(bytes) {
  const log = new LogReader(bytes);
  const version = log.read();
  return {
    superblock: log.superblock,
    sequence: version.sequence,
    origin: version.origin,
    rows: version.rows().map((row) => (version.strings === undefined ? row
      : { ...row, name: version.nameOf(row.id) })),
  };
}
