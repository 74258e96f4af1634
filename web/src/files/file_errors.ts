// What goes wrong with an index's file, as its user hears of it.
import { VicinalError, messageOf, statusError, type CoreStatus } from '../errors.js';
import { ioError } from './byte_source.js';
import { isFull, type FileTable } from './file_table.js';

/** What the platform says of a file that is written: FULL, IO. */
export function writeError(path: string, cause: unknown): VicinalError {
  if (!isFull(cause)) return ioError(path, cause);
  return new VicinalError('FULL', `${path}: there is no room for the file`, { cause });
}

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
