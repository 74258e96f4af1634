// The table of the realms in a shared memory, as bindings/wasm/exports.hpp describes it.
//
// I1: a record belongs to who exchanged its first word: 0 for the number of a new life, a life that
//     was proved to be over for kBuried.
import { VicinalError } from '../errors.js';

/** Where the table and the claims of the first stacks lie; cloneable. */
export interface RealmLayout {
  readonly realms: number;
  readonly realmCount: number;
  readonly lives: number;
  readonly claims: number;
  readonly count: number;
}

const kBuried = -1;
const kWords = 4;
const kThreadWord = 1;

export class RealmRecords {
  readonly #words: Int32Array;
  readonly #layout: RealmLayout;

  constructor(memory: WebAssembly.Memory, layout: RealmLayout) {
    this.#words = new Int32Array(memory.buffer);
    this.#layout = layout;
  }

  /** A number that no other realm of the memory had. */
  newLife(): number {
    return Atomics.add(this.#words, this.#layout.lives >>> 2, 1) + 1;
  }

  /** A record for this life. BUSY when all are taken. */
  claim(life: number, thread: number | undefined): number {
    for (let record = 1; record < this.#layout.realmCount; ++record) {
      if (Atomics.compareExchange(this.#words, this.#at(record), 0, life) !== 0) continue;
      Atomics.store(this.#words, this.#at(record) + kThreadWord, (thread ?? -1) + 1);
      return record;
    }
    throw new VicinalError('BUSY', 'too many threads use this memory, or were ended in it');
  }

  /** From now on nobody buries this life. */
  withdraw(record: number): void {
    Atomics.store(this.#words, this.#at(record), kBuried);
  }

  /** The record may be claimed again. */
  free(record: number): void {
    Atomics.store(this.#words, this.#at(record), 0);
  }

  /** Lives of a Node thread. */
  livesOf(thread: number): number[] {
    const lives: number[] = [];
    for (let record = 1; record < this.#layout.realmCount; ++record) {
      const at = this.#at(record);
      if (Atomics.load(this.#words, at + kThreadWord) !== thread + 1) continue;
      const life = Atomics.load(this.#words, at);
      if (life !== 0 && life !== kBuried) lives.push(life);
    }
    return lives;
  }

  /** The record of a life that is over, for the caller alone; undefined when there is none. */
  bury(life: number): number | undefined {
    for (let record = 1; record < this.#layout.realmCount; ++record) {
      const at = this.#at(record);
      if (Atomics.compareExchange(this.#words, at, life, kBuried) === life) return record;
    }
    return undefined;
  }

  /** First stacks that the life had claimed when it ended. */
  freeStacks(life: number): void {
    const first = this.#layout.claims >>> 2;
    for (let i = first; i < first + this.#layout.count; ++i) {
      Atomics.compareExchange(this.#words, i, life, 0);
    }
  }

  #at(record: number): number {
    return (this.#layout.realms >>> 2) + record * kWords;
  }
}
