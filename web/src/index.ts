export { VectorIndex } from './vector_index.js';
export { VicinalError, type ErrorCode, type Landed } from './errors.js';
export { Filter } from './filter.js';
export { IndexCache, type CacheSession } from './index_cache.js';
export type {
  AsyncSearchOptions, CacheOptions, CacheStats, CachedReader, Hit, Hits, Id, IndexOptions,
  LoadOptions, Metric, OpenOptions, OpenSource, Queries, Reader, Receipt, SaveOptions, SaveTarget,
  SearchOptions, SharedIndex, Snapshot, Stats, Vector, Vectors, WorkerLike, WriteOptions,
} from './types.js';
