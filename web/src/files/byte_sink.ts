// Where an index's bytes go, whatever it is.
import type { CoreBackend, Handle } from '../backend/core_backend.js';
import { VicinalError, abortable, throwIfAborted } from '../errors.js';
import { yieldToLoop } from '../platform/environment.js';
import type { SaveOptions } from '../types.js';

export interface ByteSink {
  /** Takes its copy of `bytes` before it returns. */
  write(offset: number, bytes: Uint8Array): Promise<void>;
  /** Everything was written: now it counts. */
  commit(): Promise<void>;
  /** In place of commit, or after one that failed: leaves no trace. Never rejects. */
  abandon(): Promise<void>;
}

const kSliceMs = 3;

/**
 * Writes the version that `reader` sees now, while the event loop, writes and searches go on. What
 * goes wrong, a throwing onProgress included, leaves the sink abandoned.
 */
export async function saveTo(
  backend: CoreBackend, reader: Handle, open: (totalBytes: number) => Promise<ByteSink>,
  { signal, onProgress }: SaveOptions,
): Promise<void> {
  const save = backend.createSave(reader);
  let sink: ByteSink | undefined;
  try {
    const total = backend.saveBytes(save);
    sink = await open(total);
    let done = 0;
    let deadline = performance.now() + kSliceMs;
    for (;;) {
      throwIfAborted(signal);
      const slice = backend.nextSlice(save);
      if (!slice) break;
      const { length } = slice.bytes;
      await abortable(sink.write(slice.offset, slice.bytes), signal);
      done += length;
      onProgress?.({ done, total });
      if (performance.now() < deadline) continue;
      await yieldToLoop();
      deadline = performance.now() + kSliceMs;
    }
    await sink.commit();
  } catch (error) {
    await sink?.abandon();
    throw error;
  } finally {
    backend.releaseSave(save);
  }
}

/** A sink that is memory of JavaScript's own; FULL. */
export class MemorySink implements ByteSink {
  readonly bytes: Uint8Array<ArrayBuffer>;

  constructor(totalBytes: number) {
    try {
      this.bytes = new Uint8Array(totalBytes);
    } catch (cause) {
      throw new VicinalError('FULL', `no memory for ${totalBytes} bytes in JavaScript`, { cause });
    }
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    this.bytes.set(bytes, offset);
  }

  async commit(): Promise<void> { /* it is there */ }

  async abandon(): Promise<void> { /* nobody else has it */ }
}
