// From a place to an index that lives there: who decides that it is one, claims the file and has
// the writer open it.
import type { LoadedIndex } from '../backend/core_backend.js';
import type { Applier, ApplierEvents, Home } from '../backend/home.js';
import { abortable } from '../errors.js';
import { unsafeId, type IdKind } from '../id_codec.js';
import { badOption, type OpenPlan } from '../index_options.js';
import { isNode } from '../platform/environment.js';
import type { LoadOptions, OpenOptions, OpenSource } from '../types.js';
import { isLog, type FileClaim, type FilePlace } from './index_file.js';
import { filePlace } from './places.js';

/** Bytes of a file between two words of its progress. */
export const kTellBytes = 2 ** 20;

/**
 * The place, if an index lives there or is to be made there; undefined for whatever is loaded as a
 * whole. IO, BAD_OPTION, ABORTED.
 */
export async function livingPlace(
  source: OpenSource, plan: OpenPlan, signal: AbortSignal | undefined,
): Promise<FilePlace | undefined> {
  const place = await filePlace(source);
  if (!place) return undefined;
  const head = await abortable(place.head(), signal);
  if (head === undefined || head.length === 0) {
    return plan.create && !plan.readOnly ? place : undefined;
  }
  return isLog(head) ? place : undefined;
}

/**
 * Whether somebody here could have the file: access handles are for workers, and to follow a file
 * takes one.
 */
export function canLiveIn(home: Home, plan: OpenPlan): boolean {
  if (plan.readOnly) return home.backend.threads;
  const handles = (globalThis as { FileSystemFileHandle?: { prototype: object } })
    .FileSystemFileHandle?.prototype;
  return isNode() || home.backend.threads
    || (handles !== undefined && 'createSyncAccessHandle' in handles);
}

/**
 * The index of a claimed file and its writer. Errors of the file, ABORTED; whatever onProgress
 * throws.
 */
export async function openIndexFile(
  home: Home, claim: FileClaim, plan: OpenPlan, worker: LoadOptions['worker'],
  events: ApplierEvents, { signal, onProgress }: Pick<OpenOptions, 'signal' | 'onProgress'>,
): Promise<{ readonly applier: Applier; readonly loaded: LoadedIndex }> {
  const stop = new AbortController();
  const forward = (): void => stop.abort(signal!.reason);
  signal?.addEventListener('abort', forward, { once: true });
  if (signal?.aborted) forward();
  let thrown: { readonly error: unknown } | undefined;
  let told = 0;
  const tell = (bytes: number): void => {
    if (bytes - told < kTellBytes && bytes < claim.bytes) return;
    told = bytes;
    try {
      const { bytes: totalBytes } = claim;
      onProgress?.({ loadedBytes: Math.min(bytes, totalBytes), totalBytes });
    } catch (error) {
      thrown ??= { error };
      stop.abort();
    }
  };
  try {
    const opened = await home.startFileWriter({
      spec: claim.spec, create: claim.bytes === 0 ? plan.create : undefined,
      maxBytes: plan.maxBytes, readOnly: plan.readOnly,
    }, worker, { ...events, onRead: tell }, stop.signal);
    tell(claim.bytes);
    if (!thrown) return opened;
    await opened.applier.stop();
    home.backend.releaseIndex(opened.loaded.index);
    throw thrown.error;
  } catch (error) {
    if (thrown) throw thrown.error;
    throw error;
  } finally {
    signal?.removeEventListener('abort', forward);
  }
}

/**
 * The kind of ids of an index that was opened, where this one was asked for. BAD_OPTION where the
 * file has the other; BAD_ID where an id is none of the kind.
 */
export function idKindOf({ strings, largestId }: LoadedIndex, wanted: OpenPlan['ids']): IdKind {
  if (wanted !== undefined && strings !== (wanted === 'string')) {
    throw badOption('ids', wanted, strings ? "'string', which the ids in the file are"
      : "'number' or 'bigint', which the ids in the file are");
  }
  const kind = strings ? 'string' : wanted ?? 'number';
  if (kind !== 'number' || largestId <= BigInt(Number.MAX_SAFE_INTEGER)) return kind;
  throw unsafeId(largestId);
}
