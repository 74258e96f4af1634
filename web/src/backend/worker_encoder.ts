// Encodes rows for a realm that must not be busy, in a worker of their own, started by the first.
import type { CoreStatus, VicinalError } from '../errors.js';
import { CallWorker, deathOf, type CallAnswer } from './call_worker.js';
import type { Encoder, LentRows } from './home.js';

export class WorkerEncoder extends CallWorker implements Encoder {
  async encode(rows: LentRows, onPosted: () => void): Promise<CoreStatus> {
    const answer = await this.call((call) => ({ vicinal: 'encode', call, rows }), onPosted);
    return (answer as Extract<CallAnswer, { vicinal: 'encoded' }>).status;
  }

  deathOf(error: VicinalError): Promise<boolean> | undefined {
    return deathOf(error);
  }
}
