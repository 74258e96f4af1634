// Searches in a worker of their own, started by the first one.
import type { VicinalError } from '../errors.js';
import type { FoundRows } from '../hits.js';
import type { SearchRequest } from '../search_options.js';
import { CallWorker, deathOf, type CallAnswer } from './call_worker.js';
import type { Handle } from './core_backend.js';
import type { Searcher } from './home.js';

export class WorkerSearcher extends CallWorker implements Searcher {
  async search(reader: Handle, query: Float32Array, request: SearchRequest): Promise<FoundRows> {
    const answer = await this.call((call) => ({ vicinal: 'search', call, reader, query, request }));
    return (answer as Extract<CallAnswer, { vicinal: 'found' }>).found;
  }

  deathOf(error: VicinalError): Promise<boolean> | undefined {
    return deathOf(error);
  }
}
