// The blocks of the boundary to the core, as bindings/wasm/exports.hpp lays them out: byte offsets.
//
// I1: mirrors exports.hpp, padding left out, fields in their order; checkAbi compares the version,
//     every name and every offset when a module is loaded.
import { VicinalError } from '../errors.js';

export const kAbiVersion = 12;

export const kStatus = { code: 0, a: 8, b: 16, bytes: 24 } as const;

export const kOptions = {
  dim: 0, metric: 4, bits: 8, originals: 12, seed: 16, memoryBytesMax: 24, retiredBytesMax: 32,
  ids: 40, bytes: 48,
} as const;

export const kMessage = {
  status: 0, sequence: 24, affected: 32, ids: 40, staging: 44, stagingRows: 48, count: 52, done: 56,
  stringEnds: 60, text: 64, bytes: 72,
} as const;

export const kReader = {
  status: 0, id: 24, afterId: 32, afterScore: 40, hasAfter: 44, k: 48, minScore: 52, certainty: 56,
  filtered: 60, filterCount: 64, hitCount: 68, hitIds: 72, hitScores: 76, sequence: 80, rows: 88,
  rowsEstimated: 96, rowsScored: 104, query: 112, found: 116, filter: 120, batchEnds: 124,
  strings: 128, hitText: 132, hitTextOffsets: 136, rerank: 140, reranked: 144, bytes: 152,
} as const;

/** As `rerank`: as many as are usual. */
export const kRerankUsual = 0xffff_ffff;

export const kStats = {
  rows: 0, dead: 8, sequence: 16, segmentBytes: 24, idTableBytes: 32, versionBytes: 40,
  retiredBytes: 48, sharedBytes: 56, totalBytes: 64, oldestSequence: 72, segments: 80, readers: 84,
  readersMax: 88, oldestSlot: 92, ringDepth: 96, dim: 100, bits: 104, metric: 108, kernel: 112,
  calibrated: 116, slotsRetired: 120, writersReplaced: 124, leakedBytes: 128, searchesShared: 136,
  chunksHelped: 144, helpers: 152, stringBytes: 160, originalBytes: 168, bytes: 176,
} as const;

export const kSave = {
  status: 0, totalBytes: 24, offset: 32, slice: 40, sliceBytes: 44, bytes: 48,
} as const;

export const kLoad = {
  status: 0, totalBytes: 24, largestId: 32, seed: 40, dim: 48, metric: 52, bits: 56, room: 60,
  roomBytes: 64, ids: 68, originals: 72, bytes: 80,
} as const;

export const kFile = {
  status: 0, largestId: 24, seed: 32, dim: 40, metric: 44, bits: 48, ids: 52, originals: 56,
  bytes: 64,
} as const;

export const kFlush = { status: 0, sequence: 24, asks: 32, bytes: 40 } as const;

export const kMessageKinds = {
  add: 0, upsert: 1, remove: 2, clear: 3, calibrate: 4, compact: 5,
} as const;

/** In the order of vic_block_layout. */
const kBlocks = [
  kStatus, kOptions, kMessage, kReader, kStats, kSave, kLoad, kFile, kFlush,
];

/** What vic_block_layout lists: fields and their offsets, each block ending with its size. */
export const kLayout: readonly string[] = kBlocks.flatMap((block) => Object.entries(block)
  .map(([name, offset]) => `${name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)} ${offset}`));

const kEntryBytes = 8;
const kNameMax = 32;

/** The list that a module has at `address` of its memory. Bounded, whatever lies there. */
function layoutAt(memory: ArrayBufferLike, address: number): string[] {
  const view = new DataView(memory);
  const entries: string[] = [];
  const word = (at: number): number => at + 4 <= view.byteLength ? view.getUint32(at, true) : 0;
  for (let at = address; entries.length <= kLayout.length; at += kEntryBytes) {
    const begin = word(at);
    if (begin === 0) break;
    let name = '';
    for (let i = begin; i < view.byteLength && name.length < kNameMax; ++i) {
      const code = view.getUint8(i);
      if (code === 0) break;
      name += String.fromCharCode(code);
    }
    entries.push(`${name} ${word(at + 4)}`);
  }
  return entries;
}

/** VERSION when a module is not the one that this package was made with. */
export function checkAbi(version: number, memory: ArrayBufferLike, layout: number): void {
  const told = 'the WebAssembly module belongs to another version of this package:';
  if (version !== kAbiVersion) {
    throw new VicinalError('VERSION', `${told} boundary ${version}, expected ${kAbiVersion}`);
  }
  const found = layoutAt(memory, layout);
  for (let i = 0; i < Math.max(found.length, kLayout.length); ++i) {
    if (found[i] === kLayout[i]) continue;
    throw new VicinalError('VERSION', `${told} entry ${i} of its blocks is`
      + ` ${found[i] ?? 'missing'}, expected ${kLayout[i] ?? 'none'}`);
  }
}
