// What a caller may name as a place of an index's bytes, and what reads or writes there.
import { VicinalError, throwIfAborted } from '../errors.js';
import { badOption } from '../index_options.js';
import { isNode } from '../platform/environment.js';
import type { OpenSource, SaveTarget } from '../types.js';
import {
  handleSink, handleSource, isFileHandle, kOpfs, opfsSink, opfsSource,
} from './browser_file.js';
import type { ByteSink } from './byte_sink.js';
import {
  blobSource, ioError, isA, isBytes, memorySource, responseSource, streamSource, type ByteSource,
} from './byte_source.js';
import type { FilePlace } from './index_file.js';
import { nodeSink, nodeSource, pathOf } from './node_file.js';
import { nodePlace } from './node_index_file.js';
import { opfsPlace } from './opfs_index_file.js';

const kMissing = [404, 410];
const kSources = 'a path, a URL, bytes, a Blob, a Response, a stream or a file handle';
const kTargets = "a path (in Node), 'opfs:NAME' or a FileSystemFileHandle";

/**
 * The bytes at `source`; undefined where it names a file that does not exist. IO, UNSUPPORTED,
 * BAD_OPTION.
 * @param orNew whether the caller makes the file then: of a place that exists empty, too.
 */
export function openSource(
  source: OpenSource, signal: AbortSignal | undefined, orNew: boolean,
): Promise<ByteSource | undefined> | ByteSource {
  if (typeof source === 'string') return openNamed(source, signal, orNew);
  if (isBytes(source)) return memorySource(source);
  if (isA(source, 'URL')) return openNamed((source as URL).href, signal, orNew);
  if (isA(source, 'Blob', 'File')) return blobSource(source as Blob);
  if (isA(source, 'Response')) return responseSource(source as Response);
  if (isA(source, 'ReadableStream')) return streamSource(source as ReadableStream<Uint8Array>);
  if (isFileHandle(source)) return handleSource(source, orNew);
  throw badOption('source', source, kSources);
}

async function openNamed(
  name: string, signal: AbortSignal | undefined, orNew: boolean,
): Promise<ByteSource | undefined> {
  if (name.startsWith(kOpfs)) return opfsSource(name, orNew);
  if (!isNode()) return fetched(name, signal);
  if (/^file:/i.test(name)) return nodeSource(await pathOf(name));
  return isFetched(name) ? fetched(name, signal) : nodeSource(checkPath(name, 'source'));
}

/** The same place, as one whose file can be kept open; undefined: it cannot. BAD_OPTION, IO. */
export async function filePlace(source: OpenSource): Promise<FilePlace | undefined> {
  if (isFileHandle(source)) return opfsPlace(source);
  const name = isA(source, 'URL') ? (source as URL).href : source;
  if (typeof name !== 'string') return undefined;
  if (name.startsWith(kOpfs)) return opfsPlace(name);
  if (!isNode() || isFetched(name)) return undefined;
  return nodePlace(/^file:/i.test(name) ? await pathOf(name) : checkPath(name, 'source'));
}

function isFetched(name: string): boolean {
  return /^(https?|data|blob):/i.test(name);
}

function checkPath(path: string, what: string): string {
  if (path === '' || path.includes('\0')) throw badOption(what, path, 'a path');
  return path;
}

async function fetched(
  name: string, signal: AbortSignal | undefined,
): Promise<ByteSource | undefined> {
  let response: Response;
  try {
    response = await fetch(name, signal ? { signal } : {});
  } catch (cause) {
    throwIfAborted(signal);
    throw ioError(name, cause);
  }
  if (!kMissing.includes(response.status)) return responseSource(response);
  response.body?.cancel().catch(() => undefined);
  return undefined;
}

/** BAD_OPTION, UNSUPPORTED, before anything is done; the sink itself: IO. */
export function sinkAt(target: SaveTarget): () => Promise<ByteSink> {
  if (isFileHandle(target)) return () => handleSink(target);
  const name = isA(target, 'URL') ? (target as URL).href : target;
  if (typeof name !== 'string' || isFetched(name)) throw badOption('target', target, kTargets);
  if (name.startsWith(kOpfs)) return () => opfsSink(name);
  if (!isNode()) {
    throw new VicinalError('UNSUPPORTED', `${JSON.stringify(name)}: a browser has no paths;`
      + " save to 'opfs:NAME' or a FileSystemFileHandle, or take toBytes()");
  }
  if (/^file:/i.test(name)) return async () => nodeSink(await pathOf(name));
  checkPath(name, 'target');
  return () => nodeSink(name);
}
