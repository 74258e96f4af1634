// The filters that a reader has compiled: those of its last searches.
//
// I1: what is compiled belongs to the core's reader and ends with it, so nothing is to be done here
//     when the reader is closed but to ask for no more.
// I2: a filter is known by its words, which a Filter never changes and gives to nobody else.
import type { CoreBackend, Handle } from '../backend/core_backend.js';
import { VicinalError } from '../errors.js';
import type { PackedIds } from '../id_codec.js';
import type { SearchRequest } from '../search_options.js';

export const kCompiledMax = 8;

export class CompiledFilters {
  readonly #backend: CoreBackend;
  /** The one used last is the last. */
  readonly #compiled = new Map<PackedIds, Handle>();

  constructor(backend: CoreBackend) {
    this.#backend = backend;
  }

  /** The request's filter for a search of this reader, always the same one; 0: a list or none. */
  of(reader: Handle, { filter, prepared }: SearchRequest): Handle {
    if (filter === undefined || !prepared) return 0;
    let compiled = this.#compiled.get(filter);
    if (compiled === undefined) compiled = this.#compile(reader, filter);
    else this.#compiled.delete(filter);
    this.#compiled.set(filter, compiled);
    return compiled;
  }

  #compile(reader: Handle, filter: PackedIds): Handle {
    this.#release(reader, this.#compiled.size - kCompiledMax + 1);
    try {
      return this.#backend.compileFilter(reader, filter);
    } catch (error) {
      if (!(error instanceof VicinalError) || error.code !== 'FULL') throw error;
      if (this.#compiled.size === 0) throw error;
    }
    this.#release(reader, this.#compiled.size);
    return this.#backend.compileFilter(reader, filter);
  }

  /** The `count` that were not used for the longest time. */
  #release(reader: Handle, count: number): void {
    for (const [filter, compiled] of this.#compiled) {
      if (count-- <= 0) return;
      this.#compiled.delete(filter);
      this.#backend.releaseFilter(reader, compiled);
    }
  }
}
