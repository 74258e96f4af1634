// A reader that somebody else closes.
import type { Filter } from '../filter.js';
import type {
  AsyncSearchOptions, CachedReader, Hits, Id, IdList, Metric, Queries, Reader, SearchOptions,
  Snapshot, Stats, Vector,
} from '../types.js';

export class LentReader implements CachedReader {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  get dim(): number { return this.#reader.dim; }
  get metric(): Metric { return this.#reader.metric; }
  get bits(): number { return this.#reader.bits; }
  get size(): number { return this.#reader.size; }
  get sequence(): number { return this.#reader.sequence; }
  search(query: Vector, options?: SearchOptions): Hits {
    return this.#reader.search(query, options);
  }
  searchBatch(queries: Queries, options?: SearchOptions): Hits[] {
    return this.#reader.searchBatch(queries, options);
  }
  searchAsync(query: Vector, options?: AsyncSearchOptions): Promise<Hits> {
    return this.#reader.searchAsync(query, options);
  }
  has(id: Id | string): boolean { return this.#reader.has(id); }
  get(id: Id | string): Float32Array | undefined { return this.#reader.get(id); }
  filter(ids: IdList): Filter { return this.#reader.filter(ids); }
  snapshot(): Snapshot { return this.#reader.snapshot(); }
  stats(): Stats { return this.#reader.stats(); }
}
