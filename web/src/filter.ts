import { packIds, type IdKind, type IdWords } from './id_codec.js';
import type { Id } from './types.js';

/**
 * A list of the only ids that a search may return, checked and packed once. It belongs to no
 * version and no thread's memory: every reader takes it, as often as wanted, and it needs no
 * closing. A reader compiles it when it first searches with it, keeps the eight that it used last,
 * and brings them up to date with each new version: from the second search on a Filter costs less
 * than a list. searchAsync takes it as a list.
 */
export class Filter {
  /** Ids in the list, repeated ones counted each time. */
  readonly size: number;
  readonly #words: IdWords;

  private constructor(words: IdWords) {
    this.size = words.length / 2;
    this.#words = words;
  }

  /** @internal BAD_ID naming the position; what a throwing iterator throws. */
  static of(ids: Iterable<Id> | ArrayLike<Id>, kind: IdKind): Filter {
    return new Filter(packIds(ids, kind));
  }

  /** @internal The words of a filter or of ids given in its place. */
  static wordsOf(filter: Filter | Iterable<Id>, kind: IdKind): IdWords {
    return filter instanceof Filter ? filter.#words : packIds(filter, kind, 'filter');
  }
}
