// The options of a search, checked, with every iterable of the caller run to its end: what comes
// out holds plain numbers and arrays of ours.
import { Filter } from './filter.js';
import { packId, type IdKind, type PackedIds } from './id_codec.js';
import { badOption } from './index_options.js';
import type { Hit, SearchOptions } from './types.js';

/** What the core is asked for. Cloneable. */
export interface SearchRequest {
  readonly k: number;
  /** Undefined: as many as are usual. */
  readonly rerank: number | undefined;
  /** float32. */
  readonly minScore: number;
  readonly certainty: number;
  /** Undefined: every row may appear. */
  readonly filter: PackedIds | undefined;
  /** Whether the words are a Filter's, which come again: worth compiling. */
  readonly prepared: boolean;
  /** Without an id: rows of the score come, too. */
  readonly after: { readonly score: number; readonly id: PackedIds | undefined } | undefined;
  /** 0: any version will do. */
  readonly minSequence: number;
}

export const kDefaultK = 10;
const kDefaultCertainty = 3;
const kMaxK = 0xffff_ffff;
const kMaxRerank = 0xffff_fffe;

/**
 * The least float32 that is not below `value`: scores are float32, so `score >= value` is the same.
 */
export function floatCeil(value: number): number {
  const near = Math.fround(value);
  if (near >= value || Number.isNaN(value)) return near;
  if (near === -Infinity) return -3.4028234663852886e38;
  const bits = new Int32Array(new Float32Array([near]).buffer);
  bits[0] = near > 0 ? bits[0]! + 1 : near === 0 ? 1 : bits[0]! - 1;
  return new Float32Array(bits.buffer)[0]!;
}

function checkK(k: unknown): number {
  if (typeof k !== 'number' || !Number.isInteger(k) || k < 0) {
    throw badOption('k', k, 'an integer >= 0');
  }
  return Math.min(k, kMaxK);
}

function checkRerank(rerank: unknown): number | undefined {
  if (rerank === undefined) return undefined;
  if (typeof rerank !== 'number' || !Number.isInteger(rerank) || rerank < 0) {
    throw badOption('rerank', rerank, 'an integer >= 0');
  }
  return Math.min(rerank, kMaxRerank);
}

function checkNumber(name: string, value: unknown, least: number): number {
  if (typeof value !== 'number' || !(value >= least)) {
    throw badOption(name, value, least === -Infinity ? 'a number' : `a number >= ${least}`);
  }
  return value;
}

function checkUnused(options: SearchOptions): void {
  const { recall, probes } = options;
  if (recall !== undefined && !(typeof recall === 'number' && recall > 0 && recall <= 1)) {
    throw badOption('recall', recall, 'a number, 0 < recall <= 1');
  }
  if (probes !== undefined && probes !== 'all' && !(Number.isSafeInteger(probes) && probes >= 1)) {
    throw badOption('probes', probes, "an integer >= 1 or 'all'");
  }
}

function checkAfter(after: Hit | undefined, kind: IdKind): SearchRequest['after'] {
  if (after === undefined) return undefined;
  if (typeof after !== 'object' || after === null) throw badOption('after', after, 'a hit');
  const id = packId(after.id, kind);
  const score = checkNumber('after.score', after.score, -Infinity);
  const ceiling = floatCeil(score);
  if (ceiling === score) return { score, id };
  if (kind === 'string') return { score: -floatCeil(-score), id: undefined };
  // No row has exactly this score: every row of a lesser score comes after it.
  return { score: ceiling, id: new Uint32Array([0xffff_ffff, 0xffff_ffff]) };
}

/**
 * BAD_OPTION naming the option; BAD_ID of a filter or `after`; what a throwing iterator of
 * `filter` throws.
 */
export function checkSearchOptions(options: SearchOptions, kind: IdKind): SearchRequest {
  if (typeof options !== 'object' || options === null) {
    throw badOption('search options', options, 'an object');
  }
  const { k = kDefaultK, minScore = -Infinity, certainty = kDefaultCertainty, filter } = options;
  const { exhaustive = false, minSequence = 0 } = options;
  checkUnused(options);
  const request = {
    k: checkK(k),
    rerank: checkRerank(options.rerank),
    minScore: floatCeil(checkNumber('minScore', minScore, -Infinity)),
    certainty: exhaustive ? Infinity : Math.fround(checkNumber('certainty', certainty, 0)),
    minSequence: checkNumber('minSequence', minSequence, 0),
    after: checkAfter(options.after, kind),
  };
  return {
    ...request,
    filter: filter === undefined ? undefined : Filter.wordsOf(filter, kind),
    prepared: filter instanceof Filter,
  };
}
