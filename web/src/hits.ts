import { unpackIds, type IdKind, type PackedIds } from './id_codec.js';
import type { Hit, Hits } from './types.js';

/** A search's result as the core hands it over, copied out of its memory. */
export interface FoundRows {
  readonly ids: PackedIds;
  readonly scores: Float32Array;
  readonly sequence: number;
  readonly reranked: boolean;
}

class HitList implements Hits {
  readonly ids: Float64Array | BigUint64Array | string[];
  readonly scores: Float32Array;
  readonly sequence: number;
  readonly reranked: boolean;

  constructor(found: FoundRows, kind: IdKind) {
    this.ids = unpackIds(found.ids, kind);
    this.scores = found.scores;
    this.sequence = found.sequence;
    this.reranked = found.reranked;
  }

  get length(): number {
    return this.scores.length;
  }

  *[Symbol.iterator](): Iterator<Hit> {
    for (let i = 0; i < this.scores.length; ++i) {
      yield { id: this.ids[i]!, score: this.scores[i]! };
    }
  }
}

export function toHits(found: FoundRows, kind: IdKind): Hits {
  return new HitList(found, kind);
}
