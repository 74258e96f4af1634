// Where an index's bytes come from, whatever it is: chunk after chunk, never as a whole.
//
// I1: a chunk is looked at before the next one is asked for; what it shows may be the caller's own
//     memory.
// I2: errors of the platform are told as IO, with what it said as the cause.
import { VicinalError, messageOf } from '../errors.js';
import { throwIfDetached } from '../id_codec.js';

export interface ByteSource {
  /** How many there are, where that is known beforehand. */
  readonly totalBytes: number | undefined;
  /** The next bytes; undefined behind the last. One call at a time. */
  next(): Promise<Uint8Array | undefined>;
  /** Gives back what it holds, at its end or before; also while `next` is under way. */
  cancel(): Promise<void>;
}

const kChunkBytes = 2 ** 18;
/** Reading a slice of a Blob costs a message to another process in a browser. */
const kBlobSliceBytes = 2 ** 20;

export function ioError(what: string, cause: unknown): VicinalError {
  return new VicinalError('IO', `${what}: ${messageOf(cause)}`, { cause });
}

/** Bytes in memory, that the caller may change or transfer meanwhile. */
export function memorySource(source: ArrayBufferView | ArrayBufferLike): ByteSource {
  const view = viewOf(source);
  let at = 0;
  return {
    totalBytes: view.byteLength,
    next: async () => {
      throwIfDetached(view, 'source');
      if (at >= view.byteLength) return undefined;
      const chunk = view.subarray(at, at + kChunkBytes);
      at += chunk.byteLength;
      return chunk;
    },
    cancel: async () => { /* nothing is held */ },
  };
}

function viewOf(source: ArrayBufferView | ArrayBufferLike): Uint8Array {
  if (ArrayBuffer.isView(source)) {
    throwIfDetached(source, 'source');
    // Node's Buffer is one, too, and its `slice` another thing.
    if (source instanceof Uint8Array) return source;
    return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  }
  try {
    return new Uint8Array(source);
  } catch (cause) {
    throw new VicinalError('BAD_OPTION', 'source: the buffer is detached', { cause });
  }
}

export function blobSource(blob: Blob, name = 'the blob'): ByteSource {
  let at = 0;
  return {
    totalBytes: blob.size,
    async next() {
      if (at >= blob.size) return undefined;
      const end = Math.min(at + kBlobSliceBytes, blob.size);
      try {
        const chunk = new Uint8Array(await blob.slice(at, end).arrayBuffer());
        at = end;
        return chunk;
      } catch (cause) {
        throw ioError(name, cause);
      }
    },
    cancel: async () => { /* nothing is held */ },
  };
}

/** BAD_OPTION for a stream that another reader has, or whose chunks are no bytes. */
export function streamSource(
  stream: ReadableStream<Uint8Array>, name = 'the stream', totalBytes?: number,
): ByteSource {
  if (stream.locked) throw new VicinalError('BAD_OPTION', 'source: the stream has a reader');
  const reader = stream.getReader();
  return {
    totalBytes,
    async next() {
      let chunk: unknown;
      try {
        const { done, value } = await reader.read();
        if (done) return undefined;
        chunk = value;
      } catch (cause) {
        throw ioError(name, cause);
      }
      if (isBytes(chunk)) return viewOf(chunk);
      throw new VicinalError('BAD_OPTION', `source: a chunk of ${name} is ${typeof chunk},`
        + ' expected Uint8Array');
    },
    async cancel() {
      // Not awaited: it ends when the stream's maker likes.
      reader.cancel().catch(() => undefined);
      try {
        reader.releaseLock();
      } catch { /* older platforms: not while a read is under way */ }
    },
  };
}

/** IO for a status that says failure, BAD_OPTION for a body that was read before. */
export function responseSource(response: Response): ByteSource {
  const name = response.url || 'the response';
  if (!response.ok) throw new VicinalError('IO', `${name}: HTTP ${response.status}`);
  if (response.bodyUsed) {
    throw new VicinalError('BAD_OPTION', 'source: the body of the response was read before');
  }
  if (!response.body) return memorySource(new Uint8Array(0));
  return streamSource(response.body, name, contentLength(response));
}

/** The length of what was compressed in transit says nothing about what arrives. */
function contentLength({ headers }: Response): number | undefined {
  const length = Number(headers.get('content-length'));
  return length > 0 && !headers.has('content-encoding') ? length : undefined;
}

/** Memory, in the types of another realm as well. */
export function isBytes(value: unknown): value is ArrayBufferView | ArrayBufferLike {
  return ArrayBuffer.isView(value) || isA(value, 'ArrayBuffer') || isA(value, 'SharedArrayBuffer');
}

export function isA(value: unknown, ...names: string[]): boolean {
  return names.includes(Object.prototype.toString.call(value).slice(8, -1));
}
