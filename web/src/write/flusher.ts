// Questions for certainty, put to whoever writes an index's file, and their answers.
//
// Thread safety: belongs to the realm that has the index.
// I1: a question's number is higher than those before it, and an answer is for all up to a number.
// I2: a writer that dies may have answered and not told: its successor is asked once more.
import { VicinalError } from '../errors.js';
import type { CoreBackend, Handle } from '../backend/core_backend.js';
import type { Applier } from '../backend/home.js';

interface Question {
  number: number;
  resolve(): void;
  reject(error: unknown): void;
}

export class Flusher {
  readonly #backend: CoreBackend;
  readonly #index: Handle;
  readonly #applier: Applier;
  #open: Question[] = [];
  #death: VicinalError | undefined;

  constructor(backend: CoreBackend, index: Handle, applier: Applier) {
    this.#backend = backend;
    this.#index = index;
    this.#applier = applier;
  }

  /**
   * Resolves when all that was written by now survives a loss of power. IO when the file cannot be
   * written and READ_ONLY from then on, FULL when there is no room for it, CLOSED.
   */
  ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#death) throw this.#death;
      const number = this.#backend.askFlush(this.#index);
      this.#open.push({ number, resolve, reject });
      this.#applier.setBusy(true, 'for flushes');
      this.#applier.submitted();
    });
  }

  answered(asks: number, error: VicinalError | undefined): void {
    const answered = this.#open.filter(({ number }) => number <= asks);
    this.#open = this.#open.filter(({ number }) => number > asks);
    this.#rest();
    for (const { resolve, reject } of answered) {
      if (error) reject(error);
      else resolve();
    }
  }

  askAgain(): void {
    if (this.#open.length === 0) return;
    const number = this.#backend.askFlush(this.#index);
    for (const question of this.#open) question.number = number;
    this.#applier.submitted();
  }

  /** Nobody will answer any more. */
  die(error: VicinalError): void {
    this.#death = error;
    const open = this.#open.splice(0);
    this.#rest();
    for (const { reject } of open) reject(error);
  }

  /** When every question has its answer. */
  async settled(): Promise<void> {
    while (this.#open.length > 0) {
      const last = this.#open.at(-1)!;
      await new Promise<void>((resolve) => {
        const { resolve: yes, reject: no } = last;
        last.resolve = () => (yes(), resolve());
        last.reject = (error) => (no(error), resolve());
      });
    }
  }

  #rest(): void {
    if (this.#open.length === 0) this.#applier.setBusy(false, 'for flushes');
  }
}
