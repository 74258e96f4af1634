// The blocks of the boundary to the core, as bindings/wasm/exports.hpp lays them out: byte offsets.
//
// I1: mirrors exports.hpp; checkAbi compares the version and the sizes when a module is loaded.
import { VicinalError } from '../errors.js';

export const kAbiVersion = 1;

export const kStatus = { code: 0, a: 8, b: 16, bytes: 24 } as const;

export const kOptions = {
  dim: 0, metric: 4, bits: 8, originals: 12, seed: 16, memoryBytesMax: 24, retiredBytesMax: 32,
  bytes: 40,
} as const;

export const kMessage = {
  status: 0, sequence: 24, affected: 32, ids: 40, staging: 44, stagingRows: 48, count: 52, done: 56,
  bytes: 64,
} as const;

export const kReader = {
  status: 0, id: 24, afterId: 32, afterScore: 40, hasAfter: 44, k: 48, minScore: 52, certainty: 56,
  filtered: 60, filterCount: 64, hitCount: 68, hitIds: 72, hitScores: 76, sequence: 80, rows: 88,
  rowsEstimated: 96, rowsScored: 104, query: 112, found: 116, bytes: 120,
} as const;

export const kStats = {
  rows: 0, dead: 8, sequence: 16, segmentBytes: 24, idTableBytes: 32, versionBytes: 40,
  retiredBytes: 48, sharedBytes: 56, totalBytes: 64, oldestSequence: 72, segments: 80, readers: 84,
  readersMax: 88, oldestSlot: 92, ringDepth: 96, dim: 100, metric: 104, bits: 108, kernel: 112,
  bytes: 120,
} as const;

export const kMessageKinds = { add: 0, upsert: 1, remove: 2, clear: 3 } as const;

/** In the order of vic_block_layout. */
const kLayout = [kStatus, kOptions, kMessage, kReader, kStats].map(({ bytes }) => bytes);

/** VERSION when a module is not the one that this package was made with. */
export function checkAbi(version: number, sizes: ArrayLike<number>): void {
  const found = Array.from(sizes).join(' ');
  if (version === kAbiVersion && found === kLayout.join(' ')) return;
  throw new VicinalError('VERSION', 'the WebAssembly module belongs to another version of this'
    + ` package: boundary ${version}, blocks ${found}; expected ${kAbiVersion},`
    + ` ${kLayout.join(' ')}`);
}

export const kLayoutCount = kLayout.length;
