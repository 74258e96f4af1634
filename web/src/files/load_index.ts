// From a source to an index in the core's memory, a slice at a time.
import type { CoreBackend, Handle } from '../backend/core_backend.js';
import { VicinalError, abortable, throwIfAborted } from '../errors.js';
import type { IdKind } from '../id_codec.js';
import type { IndexShape } from '../index_options.js';
import { yieldToLoop } from '../platform/environment.js';
import type { LoadOptions } from '../types.js';
import type { ByteSource } from './byte_source.js';
import { idKindOf } from './open_index_file.js';

const kSliceMs = 3;

interface LoadRequest extends Pick<LoadOptions, 'signal' | 'onProgress'> {
  readonly maxBytes: number;
  readonly readOnly: boolean;
  readonly ids: IdKind | undefined;
}

/**
 * CORRUPT, VERSION, FULL, IO, BAD_ID, BAD_OPTION (the other kind of ids), ABORTED; whatever
 * onProgress throws. The source is at its end or cancelled then, and the core's memory is as
 * before.
 */
export async function loadIndex(
  backend: CoreBackend, source: ByteSource, request: LoadRequest,
): Promise<{ readonly index: Handle; readonly shape: IndexShape }> {
  const load = backend.createLoad(request.maxBytes, request.readOnly);
  try {
    await takeAll(backend, load, source, request);
    const loaded = backend.finishLoad(load);
    try {
      return { index: loaded.index,
        shape: { ...loaded.shape, ids: idKindOf(loaded, request.ids) } };
    } catch (error) {
      backend.releaseIndex(loaded.index);
      throw error;
    }
  } finally {
    backend.releaseLoad(load);
  }
}

async function takeAll(
  backend: CoreBackend, load: number, source: ByteSource, request: LoadRequest,
): Promise<void> {
  const { signal, onProgress } = request;
  let deadline = performance.now() + kSliceMs;
  let loadedBytes = 0;
  for (;;) {
    throwIfAborted(signal);
    const chunk = await abortable(source.next(), signal);
    if (chunk === undefined) return;
    for (let at = 0; at < chunk.byteLength;) {
      const room = backend.loadRoom(load);
      const count = Math.min(room.length, chunk.byteLength - at);
      room.set(chunk.subarray(at, at + count));
      take(backend, load, count, request.maxBytes);
      at += count;
      loadedBytes += count;
      // The chunk may be the caller's memory: when others have run, it may be gone, and bytes miss.
      if (performance.now() >= deadline && at < chunk.byteLength) {
        await yieldToLoop();
        throwIfAborted(signal);
        deadline = performance.now() + kSliceMs;
      }
    }
    const totalBytes = source.totalBytes ?? backend.loadBytes(load);
    onProgress?.({ loadedBytes, ...(totalBytes > 0 ? { totalBytes } : {}) });
    if (performance.now() < deadline) continue;
    await yieldToLoop();
    deadline = performance.now() + kSliceMs;
  }
}

function take(backend: CoreBackend, load: number, count: number, maxBytes: number): void {
  try {
    backend.takeBytes(load, count);
  } catch (error) {
    const bytes = backend.loadBytes(load);
    if (!(error instanceof VicinalError) || error.code !== 'FULL') throw error;
    throw new VicinalError('FULL', `the index of a file of ${bytes} bytes does not fit into the`
      + ` memory (maxBytes: ${maxBytes})`, { cause: error });
  }
}
