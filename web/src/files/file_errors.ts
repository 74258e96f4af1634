// What goes wrong with an index's file, as its user hears of it.
import { VicinalError, messageOf, statusError, type CoreStatus } from '../errors.js';
import type { FileTable } from './file_table.js';

/** The answer to a question for certainty; undefined: yes. */
export function flushError(status: CoreStatus, files: FileTable): VicinalError | undefined {
  return status.code === 0 ? undefined : worded(statusError(status), files.failure);
}

/** The core's error, with what the platform has said. */
export function fileError(error: VicinalError, path: string, files: FileTable): VicinalError {
  const { code } = error;
  if (code !== 'IO' && code !== 'FULL' && code !== 'READ_ONLY') return error;
  const told = worded(error, files.failure);
  return new VicinalError(code, `${path}: ${told.message}`, { cause: told.cause ?? error });
}

function worded(error: VicinalError, failure: unknown): VicinalError {
  const { code } = error;
  if (failure === undefined || (code !== 'IO' && code !== 'FULL')) return error;
  const what = code === 'FULL' ? 'there is no room for the file' : 'the file cannot be written';
  return new VicinalError(code, `${what}: ${messageOf(failure)}`, { cause: failure });
}
