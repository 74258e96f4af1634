// From a place or bytes to a compiled module.
import { VicinalError, abortable, messageOf, throwIfAborted } from '../errors.js';
import { badOption } from '../index_options.js';
import { importNode, isNode } from '../platform/environment.js';
import type { LoadOptions } from '../types.js';

type Source = NonNullable<LoadOptions['wasm']>;
type OnProgress = NonNullable<LoadOptions['onProgress']>;

/** A module in the making, under a name that the same content has again. */
export interface ModuleSource {
  readonly key: string | WebAssembly.Module;
  compile(): Promise<WebAssembly.Module>;
}

/** IO, CORRUPT, BAD_OPTION, ABORTED, and what the caller's onProgress throws. */
export async function moduleSource(
  source: Source | undefined, defaultUrl: () => URL, options: LoadOptions,
): Promise<ModuleSource> {
  throwIfAborted(options.signal);
  if (source instanceof WebAssembly.Module) {
    return { key: source, compile: () => Promise.resolve(source) };
  }
  if (typeof Response !== 'undefined' && source instanceof Response) {
    return bytesSource(await readResponse(source, options));
  }
  if (source instanceof ArrayBuffer) return bytesSource(source.slice(0));
  const url = source === undefined ? defaultUrl() : toUrl(source, 'wasm');
  return { key: url.href, compile: async () => compileBytes(await readUrl(url, options)) };
}

/** BAD_OPTION for what is no address. */
export function toUrl(source: unknown, option: string): URL {
  if (source instanceof URL) return source;
  try {
    if (typeof source === 'string') return new URL(source, globalThis.location?.href);
  } catch { /* told below */ }
  const others = option === 'wasm' ? ', a Response, an ArrayBuffer or a module' : ' or a Worker';
  throw badOption(option, source, `a URL${others}`);
}

function bytesSource(bytes: ArrayBuffer): ModuleSource {
  return { key: `bytes:${bytes.byteLength}:${hash(bytes)}`, compile: () => compileBytes(bytes) };
}

// FNV-1a. Only keeps the same file from being compiled twice.
function hash(bytes: ArrayBuffer): number {
  let value = 0x811c9dc5;
  for (const byte of new Uint8Array(bytes)) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}

async function compileBytes(bytes: ArrayBuffer): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw new VicinalError('CORRUPT', `the WebAssembly file is damaged, or needs what this engine`
      + ` lacks: ${messageOf(cause)}`, { cause });
  }
}

async function readUrl(url: URL, options: LoadOptions): Promise<ArrayBuffer> {
  if (url.protocol === 'file:' && isNode()) return readFile(url, options.onProgress);
  let response: Response;
  try {
    response = await fetch(url);
  } catch (cause) {
    throw new VicinalError('IO', `${url.href}: ${messageOf(cause)}`, { cause });
  }
  return readResponse(response, options);
}

async function readFile(url: URL, onProgress: OnProgress | undefined): Promise<ArrayBuffer> {
  const fs = await importNode<{ readFile(file: URL): Promise<Uint8Array> }>('fs/promises');
  let bytes: Uint8Array;
  try {
    bytes = await fs.readFile(url);
  } catch (cause) {
    throw new VicinalError('IO', messageOf(cause), { cause });
  }
  onProgress?.({ loadedBytes: bytes.byteLength, totalBytes: bytes.byteLength });
  return new Uint8Array(bytes).buffer;
}

async function readResponse(response: Response, options: LoadOptions): Promise<ArrayBuffer> {
  if (!response.ok) throw new VicinalError('IO', `${response.url}: HTTP ${response.status}`);
  const chunks: Uint8Array[] = [];
  const total = totalBytes(response);
  let loadedBytes = 0;
  const reader = response.body?.getReader();
  const read = async (): Promise<Uint8Array | undefined> => {
    try {
      return (await reader?.read())?.value;
    } catch (cause) {
      throw new VicinalError('IO', `${response.url}: ${messageOf(cause)}`, { cause });
    }
  };
  try {
    const next = (): Promise<Uint8Array | undefined> => abortable(read(), options.signal);
    for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
      chunks.push(chunk);
      loadedBytes += chunk.byteLength;
      options.onProgress?.({ loadedBytes, ...total });
    }
  } catch (error) {
    reader?.cancel().catch(() => undefined);
    throw error;
  }
  const bytes = new Uint8Array(loadedBytes);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes.buffer;
}

// The length of what was compressed in transit says nothing about what arrives.
function totalBytes(response: Response): { totalBytes?: number } {
  const length = Number(response.headers.get('content-length'));
  return length > 0 && !response.headers.has('content-encoding') ? { totalBytes: length } : {};
}
