// Rows on their way through the encoder's worker: copied into blocks of the shared memory, lent to
// the worker, and counted when they come back.
//
// Thread safety: belongs to the realm of its write queue.
// I1: at most kBlocks blocks of kBlockBytes wait or are at work at a time; the next rows are copied
//     when one has come back, so that neither a slice nor the memory grows with the write.
// I2: a block or a message that a worker was lent is neither used again nor freed before the
//     worker's answer, or proof that the worker runs no more. Without proof they are lost.
// I3: rows whose worker has ended, or had no memory, lie in their block still: this realm encodes
//     them itself, to the same bytes.
// I4: after kEndsMax ends of workers without an answer between them this realm goes on alone.
import type { CoreBackend, Handle } from '../backend/core_backend.js';
import type { Encoder } from '../backend/home.js';
import { VicinalError, rowError, type CoreStatus } from '../errors.js';
import type { RowSource } from '../vector_input.js';

/** What one slice copies, and what is encoded at once where it is: about a millisecond of it. */
export const kBlockBytes = 2 ** 18;
const kBlocks = 8;
const kEndsMax = 3;
const kFull = 10;
const kNever = new Promise<never>(() => undefined);

/** A message that is being filled. */
export interface Filling {
  readonly message: Handle;
  readonly rows: RowSource;
  /** Rows of the message, how many of them were read, and how many are encoded. */
  readonly count: number;
  read: number;
  encoded: number;
  /** The source's rows that earlier messages had. */
  readonly before: number;
}

/** All of it is encoded; more can be done now; or not before rows have come back. */
export type Filled = 'whole' | 'again' | 'wait';

interface Block {
  readonly address: number;
  state: 'free' | 'lent' | 'back';
  filling: Filling | undefined;
  first: number;
  count: number;
  /** Of a block that is back: what a worker may still do with it ends with this. */
  end: Promise<unknown> | undefined;
}

export class LentRows {
  readonly #backend: CoreBackend;
  readonly #encoder: Encoder;
  readonly #blockRows: number;
  readonly #rowBytes: number;
  readonly #onBack: () => void;
  #blocks: Block[] = [];
  /** How many blocks of a message a worker may be looking at, and whether it is to be freed. */
  readonly #messages = new Map<Handle, { lent: number; released: boolean }>();
  readonly #ends = new Set<unknown>();
  #error: unknown;
  #failed: Filling | undefined;

  /** @param onBack called when rows have come back. */
  constructor(backend: CoreBackend, encoder: Encoder, dim: number, onBack: () => void) {
    this.#backend = backend;
    this.#encoder = encoder;
    this.#rowBytes = dim * 4;
    this.#blockRows = Math.max(1, Math.floor(kBlockBytes / this.#rowBytes));
    this.#onBack = onBack;
  }

  /** Whether so many rows of a message should be encoded elsewhere. */
  worthwhile(count: number): boolean {
    return count > this.#blockRows && !this.#alone && this.#block() !== undefined;
  }

  get #alone(): boolean {
    return this.#ends.size >= kEndsMax;
  }

  /** A slice of work on a worthwhile message. Throws what is wrong with a row. */
  fill(filling: Filling): Filled {
    if (this.#failed === filling) throw this.#error;
    const back = this.#blocks.find((block) => block.state === 'back');
    let worked = true;
    if (back) this.#encodeHere(back);
    else worked = (this.#alone || !this.#lend(filling)) && this.#readHere(filling);
    if (filling.encoded === filling.count) {
      this.#trim();
      return 'whole';
    }
    return worked || !this.#blocks.some((block) => block.state === 'lent') ? 'again' : 'wait';
  }

  /** In place of the backend's: when no worker looks at it. */
  releaseMessage(message: Handle): void {
    const known = this.#messages.get(message);
    if (known) known.released = true;
    else this.#backend.releaseMessage(message);
    if (this.#failed?.message === message) this.#failed = undefined;
    for (const block of this.#blocks) {
      if (block.filling?.message !== message) continue;
      block.filling = undefined;
      if (block.state === 'back') this.#free(block);
    }
    this.#trim();
  }

  /** A free block, if there can be one. */
  #block(): Block | undefined {
    const free = this.#blocks.find((block) => block.state === 'free');
    if (free || this.#blocks.length >= kBlocks) return free;
    try {
      const address = this.#backend.allocate(this.#blockRows * this.#rowBytes);
      const block: Block = {
        address, state: 'free', filling: undefined, first: 0, count: 0, end: undefined,
      };
      this.#blocks.push(block);
      return block;
    } catch {
      return undefined;  // fewer do as well
    }
  }

  /** False: there is no memory for a block, and none is lent. */
  #lend(filling: Filling): boolean {
    while (filling.read < filling.count) {
      const block = this.#block();
      if (!block) return this.#blocks.length > 0;
      const count = Math.min(this.#blockRows, filling.count - filling.read);
      filling.rows.read(filling.before + filling.read, count,
        this.#backend.coordinates(block.address));
      Object.assign(block, { state: 'lent', filling, first: filling.read, count });
      filling.read += count;
      this.#send(block, filling);
    }
    return true;
  }

  #send(block: Block, filling: Filling): void {
    const { message } = filling;
    const known = this.#messages.get(message) ?? { lent: 0, released: false };
    this.#messages.set(message, known);
    ++known.lent;
    let posted = false;
    const { first, count, address } = block;
    this.#encoder.encode({ message, first, count, vectors: address }, () => { posted = true; })
      .then((status) => {
        this.#return(message);
        this.#answered(block, status);
      }, (error: unknown) => {
        this.#ends.add(error);
        const death = error instanceof VicinalError ? this.#encoder.deathOf(error) : undefined;
        const end = posted ? death ?? kNever : Promise.resolve();
        void end.then(() => this.#return(message));
        block.end = posted ? end : undefined;
        this.#back(block);
      })
      .finally(this.#onBack);
  }

  #answered(block: Block, status: CoreStatus): void {
    this.#ends.clear();
    if (status.code === kFull) return this.#back(block);
    const { filling, count } = block;
    this.#free(block);
    if (!filling) return this.#trim();
    if (status.code !== 0) {
      if (this.#failed !== filling) this.#error = rowError(status, filling.before);
      this.#failed = filling;
      return;
    }
    this.#backend.countEncoded(filling.message, count);
    filling.encoded += count;
  }

  #back(block: Block): void {
    if (block.filling) block.state = 'back';
    else this.#free(block);
    this.#trim();
  }

  #encodeHere(block: Block): void {
    const { filling, first, count, address } = block;
    const dim = this.#rowBytes / 4;
    const slice = this.#backend.stagingRows(filling!.message);
    for (let done = 0; done < count;) {
      const rows = Math.min(slice, count - done);
      const from = this.#backend.coordinates(address).subarray(done * dim, (done + rows) * dim);
      this.#backend.staging(filling!.message).set(from);
      this.#backend.encode(filling!.message, first + done, rows, filling!.before);
      done += rows;
    }
    filling!.encoded += count;
    this.#free(block);
  }

  /** A slice of what nobody was lent. False: there is nothing left of it. */
  #readHere(filling: Filling): boolean {
    const slice = this.#backend.stagingRows(filling.message);
    const end = Math.min(filling.count, filling.read + this.#blockRows);
    if (filling.read === end) return false;
    while (filling.read < end) {
      const rows = Math.min(slice, end - filling.read);
      filling.rows.read(filling.before + filling.read, rows,
        this.#backend.staging(filling.message));
      this.#backend.encode(filling.message, filling.read, rows, filling.before);
      filling.read += rows;
      filling.encoded += rows;
    }
    return true;
  }

  /** A worker does not look at a message any more. */
  #return(message: Handle): void {
    const known = this.#messages.get(message);
    if (!known || --known.lent > 0) return;
    this.#messages.delete(message);
    if (known.released) this.#backend.releaseMessage(message);
  }

  /** For the next rows; or, where a worker may still read it, for nobody until that is over. */
  #free(block: Block): void {
    const { end, address } = block;
    Object.assign(block, { state: 'free', filling: undefined, end: undefined });
    if (!end) return;
    this.#blocks = this.#blocks.filter((other) => other !== block);
    void end.then(() => this.#backend.release(address));
  }

  /** Gives blocks back when no rows are on their way. */
  #trim(): void {
    if (this.#blocks.some((block) => block.state !== 'free')) return;
    for (const { address } of this.#blocks) this.#backend.release(address);
    this.#blocks = [];
  }
}
