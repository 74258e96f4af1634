import { countIds, packIds, type IdKind, type PackedIds } from './id_codec.js';
import type { Id, IdList } from './types.js';

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
  readonly #words: PackedIds;

  private constructor(words: PackedIds) {
    this.size = countIds(words);
    this.#words = words;
  }

  /** @internal BAD_ID naming the position; what a throwing iterator throws. */
  static of(ids: IdList, kind: IdKind): Filter {
    return new Filter(packIds(ids, kind));
  }

  /** @internal The words of a filter or of ids given in its place. */
  static wordsOf(filter: Filter | Iterable<Id | string>, kind: IdKind): PackedIds {
    return filter instanceof Filter ? filter.#words : packIds(filter, kind, 'filter');
  }
}
