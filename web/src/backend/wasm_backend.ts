// The seam over a WebAssembly instance and its linear memory, shared or not.
//
// I1: every view of the memory is made anew when the memory's buffer is another one than before
//     (growth).
// I2: an address is a multiple of 8 wherever a block or an id list begins, so word indices are
//     exact.
import {
  VicinalError, queryError, readerError, rowError, statusError, type CoreStatus,
} from '../errors.js';
import type { FoundRows } from '../hits.js';
import { countIds, isStrings, type IdWords, type PackedIds } from '../id_codec.js';
import { kMetrics, kOriginals, type IndexShape } from '../index_options.js';
import type { StringIds } from '../string_ids.js';
import type { SearchRequest } from '../search_options.js';
import {
  checkAbi, kFile, kFlush, kLoad, kMessage, kMessageKinds, kOptions, kReader, kRerankUsual, kSave,
  kStats, kStatus,
} from './blocks.js';
import type {
  CoreBackend, CoreStats, FileSlice, Flushed, Handle, LoadedIndex, MessageKind, MessageOutcome,
} from './core_backend.js';
import type { CoreExports, ThreadExports } from './core_exports.js';

const kWord = 0x1_0000_0000;
const kBusy = 9;
/** A batch that took more of the memory than this, or failed, gives it back at its end. */
const kBatchWordsKept = 2 ** 18;
/** The scratch block holds an options block or a stats block, and behind it a status block. */
const kScratchStatus = 192;
/** Behind an options block. */
const kScratchFile = 64;
const kScratchBytes = 256;

export class WasmBackend implements CoreBackend {
  readonly threads: boolean;
  readonly #core: CoreExports;
  readonly #memory: () => ArrayBufferLike;
  readonly #scratch: number;
  #buffer: ArrayBufferLike | undefined;
  #words = new Uint32Array(0);
  #floats = new Float32Array(0);
  #bytes = new Uint8Array(0);

  /** VERSION when the module is another version's; FULL. */
  constructor(core: CoreExports, memory: () => ArrayBufferLike, threads: boolean) {
    this.#core = core;
    this.#memory = memory;
    this.threads = threads;
    checkAbi(core.vic_abi_version(), memory(), core.vic_block_layout() >>> 0);
    this.#scratch = this.allocate(kScratchBytes);
  }

  /** Memory aligned to 64 bytes. FULL. */
  allocate(bytes: number): number {
    const address = this.#core.vic_allocate(bytes) >>> 0;
    if (address === 0) throw new VicinalError('FULL', `no memory for ${bytes} bytes`);
    this.#look();
    this.#words.fill(0, address >>> 2, (address + bytes) >>> 2);
    return address;
  }

  release(address: number): void {
    this.#core.vic_release(address);
  }

  /** Gives back what the backend itself has of the memory. Its last call. */
  dispose(): void {
    this.release(this.#scratch);
  }

  createIndex(shape: IndexShape, memoryBytesMax: number): Handle {
    const at = this.#putBudget(memoryBytesMax);
    this.#putShape(at, shape);
    return this.#made(this.#core.vic_index_create(at, at + kScratchStatus));
  }

  closeIndex(index: Handle): void {
    this.#core.vic_index_close(index);
  }

  releaseIndex(index: Handle): void {
    this.#core.vic_index_release(index);
  }

  /** The word that is rung when there is work for the writer. */
  doorbell(index: Handle): number {
    return this.#core.vic_index_doorbell(index) >>> 0;
  }

  stats(index: Handle): CoreStats {
    const at = this.#scratch;
    const code = this.#core.vic_index_stats(index, at, at + kScratchStatus);
    this.#look();
    if (code !== 0) throw readerError(this.#status(at + kScratchStatus));
    const wide = (offset: number): number => this.#wide(at + offset);
    const word = (offset: number): number => this.#get(at + offset);
    return {
      rows: wide(kStats.rows),
      dead: wide(kStats.dead),
      sequence: wide(kStats.sequence),
      segmentBytes: wide(kStats.segmentBytes),
      idTableBytes: wide(kStats.idTableBytes),
      stringBytes: wide(kStats.stringBytes),
      originalBytes: wide(kStats.originalBytes),
      versionBytes: wide(kStats.versionBytes),
      retiredBytes: wide(kStats.retiredBytes),
      sharedBytes: wide(kStats.sharedBytes),
      totalBytes: wide(kStats.totalBytes),
      oldestSequence: wide(kStats.oldestSequence),
      segments: word(kStats.segments),
      readers: word(kStats.readers),
      readersMax: word(kStats.readersMax),
      slotsRetired: word(kStats.slotsRetired),
      writersReplaced: word(kStats.writersReplaced),
      leakedBytes: wide(kStats.leakedBytes),
      helpers: word(kStats.helpers),
      searchesShared: wide(kStats.searchesShared),
      chunksHelped: wide(kStats.chunksHelped),
      oldestSlot: word(kStats.oldestSlot),
      ringDepth: word(kStats.ringDepth),
      calibrated: word(kStats.calibrated) !== 0,
      kernel: this.#text(word(kStats.kernel)),
    };
  }

  /** A realm with threads: its part in others' long searches. BUSY, FULL, CLOSED. */
  openHelper(index: Handle): Handle {
    const { vic_helper_open: open } = this.#core as ThreadExports;
    return this.#made(open(index, this.#scratch + kScratchStatus));
  }

  /** Helps, or sleeps until a search asks, for `waitUs` at most. */
  help(helper: Handle, waitUs: number): void {
    (this.#core as ThreadExports).vic_helper_help(helper, waitUs);
  }

  closeHelper(helper: Handle): void {
    (this.#core as ThreadExports).vic_helper_close(helper);
  }

  /** Ends the sleep of every helper. */
  wakeHelpers(index: Handle): void {
    (this.#core as ThreadExports).vic_index_wake_helpers(index);
  }

  pump(index: Handle, budgetUs: number): number {
    return this.#core.vic_index_pump(index, budgetUs) >>> 0;
  }

  createMessage(index: Handle, kind: MessageKind, count: number, ids: PackedIds): Handle {
    const textBytes = isStrings(ids) ? ids.text.length : 0;
    const message = this.#made(this.#core.vic_message_create(
      index, kMessageKinds[kind], count, textBytes, this.#scratch + kScratchStatus));
    this.#look();
    if (isStrings(ids)) {
      this.#words.set(ids.ends, this.#get(message + kMessage.stringEnds) >>> 2);
      this.#bytes.set(ids.text, this.#get(message + kMessage.text));
    } else if (ids.length > 0) {
      this.#words.set(ids, this.#get(message + kMessage.ids) >>> 2);
    }
    return message;
  }

  staging(message: Handle): Float32Array {
    this.#look();
    const begin = this.#get(message + kMessage.staging) >>> 2;
    return this.#floats.subarray(begin);
  }

  stagingRows(message: Handle): number {
    this.#look();
    return this.#get(message + kMessage.stagingRows);
  }

  encode(message: Handle, first: number, rows: number, before = 0): void {
    if (this.#core.vic_message_encode(message, first, rows) !== 0) {
      throw rowError(this.#status(message + kMessage.status), before);
    }
  }

  coordinates(address: number): Float32Array {
    this.#look();
    return this.#floats.subarray(address >>> 2);
  }

  encodeApart(message: Handle, first: number, rows: number, vectors: number): CoreStatus {
    const status = this.#scratch + kScratchStatus;
    this.#core.vic_message_encode_apart(message, first, rows, vectors, status);
    return this.#status(status);
  }

  countEncoded(message: Handle, rows: number): void {
    this.#core.vic_message_count_encoded(message, rows);
  }

  submit(message: Handle): boolean {
    const code = this.#core.vic_message_submit(message);
    if (code === 0) return true;
    if (code === kBusy) return false;
    throw statusError(this.#status(message + kMessage.status));
  }

  outcome(message: Handle): MessageOutcome | undefined {
    if (this.#core.vic_message_done(message) === 0) return undefined;
    return {
      status: this.#status(message + kMessage.status),
      sequence: this.#wide(message + kMessage.sequence),
      affected: this.#wide(message + kMessage.affected),
    };
  }

  releaseMessage(message: Handle): void {
    this.#core.vic_message_release(message);
  }

  openReader(index: Handle): Handle {
    return this.#made(
      this.#core.vic_reader_open(index, this.#scratch + kScratchStatus), readerError);
  }

  snapshotReader(reader: Handle): Handle {
    return this.#made(
      this.#core.vic_reader_snapshot(reader, this.#scratch + kScratchStatus), readerError);
  }

  abandonReader(reader: Handle, reuse: boolean): void {
    this.#core.vic_reader_abandon(reader, reuse ? 1 : 0);
  }

  closeReader(reader: Handle): void {
    this.#core.vic_reader_close(reader);
  }

  compileFilter(reader: Handle, ids: PackedIds): Handle {
    if (isStrings(ids)) this.#putStrings(reader, [ids]);
    else this.#putIds(reader, ids);
    const compiled = this.#core.vic_reader_filter_create(reader, countIds(ids)) >>> 0;
    if (compiled === 0) throw statusError(this.#status(reader + kReader.status));
    return compiled;
  }

  releaseFilter(reader: Handle, compiled: Handle): void {
    this.#core.vic_reader_filter_release(reader, compiled);
  }

  search(
    reader: Handle, query: ArrayLike<number>, request: SearchRequest, compiled: Handle = 0,
  ): FoundRows {
    this.#putRequest(reader, request, compiled);
    this.#floats.set(query, this.#get(reader + kReader.query) >>> 2);
    this.#checkQuery(reader, this.#core.vic_reader_search(reader), () => 'the query');
    const count = this.#get(reader + kReader.hitCount);
    return this.#found(reader, 0, count, this.#wide(reader + kReader.sequence));
  }

  searchBatch(
    reader: Handle, queries: ArrayLike<number>, count: number, request: SearchRequest,
    compiled: Handle = 0,
  ): FoundRows[] {
    if (count === 0) {
      this.refresh(reader);  // CLOSED, as of a batch that asks something
      return [];
    }
    const buffer = this.#core.vic_reader_batch_buffer(reader, count) >>> 0;
    if (buffer === 0) throw new VicinalError('FULL', `no memory for ${count} queries at once`);
    let small = false;
    try {
      this.#putRequest(reader, request, compiled);
      // Of this length, so that queries of another could not go beyond the buffer.
      this.#floats.subarray(buffer >>> 2, (buffer >>> 2) + queries.length).set(queries);
      this.#checkQuery(reader, this.#core.vic_reader_search_batch(reader, count),
        (number) => `query ${number}`);
      const ends = this.#get(reader + kReader.batchEnds) >>> 2;
      const sequence = this.#wide(reader + kReader.sequence);
      small = queries.length + 3 * this.#get(reader + kReader.hitCount) <= kBatchWordsKept;
      let begin = 0;
      return Array.from({ length: count }, (_, i) => {
        const end = this.#words[ends + i]!;
        const found = this.#found(reader, begin, end, sequence);
        begin = end;
        return found;
      });
    } finally {
      if (!small) this.#core.vic_reader_batch_buffer(reader, 0);
    }
  }

  has(reader: Handle, id: PackedIds): boolean {
    this.#putId(reader, id);
    this.#check(reader, this.#core.vic_reader_has(reader));
    return this.#get(reader + kReader.found) !== 0;
  }

  get(reader: Handle, id: PackedIds, dim: number): Float32Array | undefined {
    this.#putId(reader, id);
    this.#check(reader, this.#core.vic_reader_get(reader));
    if (this.#get(reader + kReader.found) === 0) return undefined;
    const begin = this.#get(reader + kReader.query) >>> 2;
    return new Float32Array(this.#floats.subarray(begin, begin + dim));
  }

  refresh(reader: Handle): { rows: number; sequence: number } {
    this.#check(reader, this.#core.vic_reader_refresh(reader));
    return {
      rows: this.#wide(reader + kReader.rows),
      sequence: this.#wide(reader + kReader.sequence),
    };
  }

  createSave(reader: Handle): Handle {
    return this.#made(this.#core.vic_save_create(reader, this.#scratch + kScratchStatus));
  }

  saveBytes(save: Handle): number {
    this.#look();
    return this.#wide(save + kSave.totalBytes);
  }

  nextSlice(save: Handle): FileSlice | undefined {
    if (this.#core.vic_save_next(save) !== 0) throw statusError(this.#status(save + kSave.status));
    this.#look();
    const length = this.#get(save + kSave.sliceBytes);
    if (length === 0) return undefined;
    const bytes = new Uint8Array(this.#buffer!, this.#get(save + kSave.slice), length);
    return { offset: this.#wide(save + kSave.offset), bytes };
  }

  releaseSave(save: Handle): void {
    this.#core.vic_save_release(save);
  }

  createLoad(memoryBytesMax: number, readOnly: boolean): Handle {
    const at = this.#putBudget(memoryBytesMax);
    return this.#made(this.#core.vic_load_create(at, readOnly ? 1 : 0, at + kScratchStatus));
  }

  loadRoom(load: Handle): Uint8Array {
    this.#look();
    const begin = this.#get(load + kLoad.room);
    return new Uint8Array(this.#buffer!, begin, this.#get(load + kLoad.roomBytes));
  }

  takeBytes(load: Handle, bytes: number): void {
    if (this.#core.vic_load_take(load, bytes) !== 0) {
      throw statusError(this.#status(load + kLoad.status));
    }
  }

  loadBytes(load: Handle): number {
    this.#look();
    return this.#wide(load + kLoad.totalBytes);
  }

  finishLoad(load: Handle): LoadedIndex {
    return this.#loaded(this.#core.vic_load_finish(load), load, kLoad);
  }

  /** An index from a file, which a block describes, or the error that is in there. */
  #loaded(result: number, at: number, block: typeof kLoad | typeof kFile): LoadedIndex {
    const index = result >>> 0;
    if (index === 0) throw statusError(this.#status(at + block.status));
    this.#look();
    const shape = {
      dim: this.#get(at + block.dim),
      metric: kMetrics[this.#get(at + block.metric)]!,
      bits: this.#get(at + block.bits),
      seed: this.#bigint(at + block.seed),
      originals: kOriginals[this.#get(at + block.originals)]!,
    };
    const strings = this.#get(at + block.ids) !== 0;
    return { index, shape, strings, largestId: this.#bigint(at + block.largestId) };
  }

  releaseLoad(load: Handle): void {
    this.#core.vic_load_release(load);
  }

  openFile(
    path: string, create: IndexShape | undefined, memoryBytesMax: number, readOnly: boolean,
  ): LoadedIndex {
    const text = new TextEncoder().encode(path);
    const name = this.allocate(Math.max(text.length, 1));
    try {
      this.#bytes.set(text, name);
      const at = this.#putBudget(memoryBytesMax);
      if (create) this.#putShape(at, create);
      const file = at + kScratchFile;
      return this.#loaded(this.#core.vic_file_open(
        at, create ? 1 : 0, readOnly ? 1 : 0, name, text.length, file), file, kFile);
    } finally {
      this.release(name);
    }
  }

  askFlush(index: Handle): number {
    return this.#made(this.#core.vic_index_ask_flush(index, this.#scratch + kScratchStatus));
  }

  serveFlush(index: Handle): Flushed | undefined {
    const at = this.#scratch + kScratchFile;
    const asks = this.#core.vic_index_serve_flush(index, at) >>> 0;
    return asks === 0 ? undefined : { asks, status: this.#status(at + kFlush.status) };
  }

  refreshIndex(index: Handle): boolean {
    return this.#core.vic_index_refresh(index) !== 0;
  }

  closeFile(index: Handle): CoreStatus {
    const at = this.#scratch + kScratchStatus;
    this.#core.vic_index_close_file(index, at);
    return this.#status(at);
  }

  #putShape(at: number, shape: IndexShape): void {
    this.#set(at + kOptions.dim, shape.dim);
    this.#set(at + kOptions.metric, kMetrics.indexOf(shape.metric));
    this.#set(at + kOptions.bits, shape.bits);
    this.#set(at + kOptions.originals, kOriginals.indexOf(shape.originals));
    this.#set(at + kOptions.seed, Number(shape.seed & 0xffff_ffffn));
    this.#set(at + kOptions.seed + 4, Number(shape.seed >> 32n));
    this.#set(at + kOptions.ids, shape.ids === 'string' ? 1 : 0);
  }

  /** A budget in an options block that is else empty: its address. */
  #putBudget(memoryBytesMax: number): number {
    this.#look();
    const at = this.#scratch;
    this.#words.fill(0, at >>> 2, (at + kScratchBytes) >>> 2);
    this.#set(at + kOptions.memoryBytesMax, memoryBytesMax % kWord);
    this.#set(at + kOptions.memoryBytesMax + 4, Math.floor(memoryBytesMax / kWord));
    return at;
  }

  /** What a search is asked for but its query; the views are new behind it. */
  #putRequest(reader: Handle, request: SearchRequest, compiled: Handle): void {
    const { after } = request;
    const filter = compiled === 0 ? request.filter : undefined;
    const lists: StringIds[] = [];
    if (filter !== undefined && isStrings(filter)) lists.push(filter);
    else if (filter !== undefined) this.#putIds(reader, filter);
    if (after?.id && isStrings(after.id)) lists.push(after.id);
    this.#look();
    this.#set(reader + kReader.strings, after && !after.id ? 1 : 0);
    if (lists.length > 0) this.#putStrings(reader, lists);
    this.#set(reader + kReader.filtered, filter === undefined ? 0 : 1);
    this.#set(reader + kReader.filterCount, filter === undefined ? 0 : countIds(filter));
    this.#set(reader + kReader.filter, compiled);
    this.#set(reader + kReader.k, request.k);
    this.#set(reader + kReader.rerank, request.rerank ?? kRerankUsual);
    this.#setFloat(reader + kReader.minScore, request.minScore);
    this.#setFloat(reader + kReader.certainty, request.certainty);
    this.#set(reader + kReader.hasAfter, after ? after.id ? 1 : 2 : 0);
    if (after) {
      this.#setFloat(reader + kReader.afterScore, after.score);
      if (after.id && !isStrings(after.id)) {
        this.#words.set(after.id, (reader + kReader.afterId) >>> 2);
      }
    }
  }

  /** For has and get. */
  #putId(reader: Handle, id: PackedIds): void {
    this.#look();
    if (isStrings(id)) return this.#putStrings(reader, [id]);
    this.#set(reader + kReader.strings, 0);
    this.#words.set(id, (reader + kReader.id) >>> 2);
  }

  /** Into the reader's string buffer, one list behind the other. FULL. */
  #putStrings(reader: Handle, lists: readonly StringIds[]): void {
    let count = 0;
    let bytes = 0;
    for (const { ends, text } of lists) {
      count += ends.length;
      bytes += text.length;
    }
    const buffer = this.#core.vic_reader_string_buffer(reader, count, bytes) >>> 0;
    if (buffer === 0) throw new VicinalError('FULL', `no memory for a list of ${count} ids`);
    this.#look();
    this.#set(reader + kReader.strings, 1);
    let at = buffer >>> 2;
    let end = 0;
    for (const { ends, text } of lists) {
      const before = end;
      for (const own of ends) this.#words[at++] = before + own;
      this.#bytes.set(text, buffer + 4 * count + before);
      end += text.length;
    }
  }

  /** Into the reader's filter buffer. FULL. */
  #putIds(reader: Handle, ids: IdWords): void {
    if (ids.length === 0) return;
    const count = ids.length / 2;
    const buffer = this.#core.vic_reader_filter_buffer(reader, count) >>> 0;
    if (buffer === 0) throw new VicinalError('FULL', `no memory for a filter of ${count} ids`);
    this.#look();
    this.#words.set(ids, buffer >>> 2);
  }

  /** Rows begin .. end - 1 of what the reader's last search found. */
  #found(reader: Handle, begin: number, end: number, sequence: number): FoundRows {
    const ids = this.#get(reader + kReader.hitIds) >>> 2;
    const scores = this.#get(reader + kReader.hitScores) >>> 2;
    const strings = this.#get(reader + kReader.hitTextOffsets);
    return {
      ids: strings !== 0
        ? this.#foundStrings(reader, strings >>> 2, begin, end)
        : new Uint32Array(this.#words.subarray(ids + 2 * begin, ids + 2 * end)),
      scores: new Float32Array(this.#floats.subarray(scores + begin, scores + end)),
      reranked: this.#get(reader + kReader.reranked) !== 0,
      sequence,
    };
  }

  /** The same of rows with strings, whose places are u64 from the word `offsets` on. */
  #foundStrings(reader: Handle, offsets: number, begin: number, end: number): StringIds {
    const from = this.#words[offsets + 2 * begin]!;
    const ends = new Uint32Array(end - begin);
    for (let i = 0; i < ends.length; ++i) {
      ends[i] = this.#words[offsets + 2 * (begin + i + 1)]! - from;
    }
    const at = this.#get(reader + kReader.hitText) + from;
    return { ends, text: new Uint8Array(this.#bytes.subarray(at, at + (ends.at(-1) ?? 0))) };
  }

  /** The views, of the buffer as it is now. */
  #look(): void {
    const buffer = this.#memory();
    if (buffer === this.#buffer) return;
    this.#buffer = buffer;
    this.#words = new Uint32Array(buffer as ArrayBuffer);
    this.#floats = new Float32Array(buffer as ArrayBuffer);
    this.#bytes = new Uint8Array(buffer as ArrayBuffer);
  }

  #get(address: number): number {
    return this.#words[address >>> 2]!;
  }

  #set(address: number, value: number): void {
    this.#words[address >>> 2] = value;
  }

  #setFloat(address: number, value: number): void {
    this.#floats[address >>> 2] = value;
  }

  #wide(address: number): number {
    return this.#get(address) + this.#get(address + 4) * kWord;
  }

  #bigint(address: number): bigint {
    return BigInt(this.#get(address)) | BigInt(this.#get(address + 4)) << 32n;
  }

  #status(address: number): CoreStatus {
    this.#look();
    return {
      code: this.#get(address + kStatus.code),
      a: this.#bigint(address + kStatus.a),
      b: this.#bigint(address + kStatus.b),
    };
  }

  #check(reader: Handle, code: number): void {
    this.#look();
    if (code !== 0) throw statusError({ ...this.#status(reader + kReader.status), code });
  }

  /** As #check; an error of a query's coordinates names the query. */
  #checkQuery(reader: Handle, code: number, name: (number: bigint) => string): void {
    this.#look();
    if (code === 0) return;
    const status = { ...this.#status(reader + kReader.status), code };
    throw queryError(status, name(status.a));
  }

  /** A handle, or the error in the scratch status. */
  #made(result: number, errorOf: (status: CoreStatus) => VicinalError = statusError): Handle {
    const handle = result >>> 0;
    if (handle === 0) throw errorOf(this.#status(this.#scratch + kScratchStatus));
    return handle;
  }

  #text(address: number): string {
    const bytes = new Uint8Array(this.#buffer!);
    let text = '';
    for (let i = address; bytes[i] !== 0 && i < bytes.length; ++i) {
      text += String.fromCharCode(bytes[i]!);
    }
    return text;
  }
}
