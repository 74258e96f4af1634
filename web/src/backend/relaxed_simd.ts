// Whether this engine runs relaxed SIMD as we need it. It may choose results where the operations
// leave a choice; ours do not, and still engines have been wrong: V8 as Node 20 has it behind a
// flag computes (-3 * 5) * 4 + 1 as -120, in the code that it makes first.
//
// I1: the probe runs the operations of core/simd/wasm_relaxed, and no others.

/** The only export that the relaxed build has beside those of the others. */
const kMarker = 'vic_needs_relaxed_simd';

/** Byte offsets of the probe's memory. */
const kTable = 0;    // 16 bytes; also the first factors, -127..127
const kIndex = 16;   // 16 bytes 0..15
const kLevel = 32;   // 16 bytes 0..127, the second factors
const kSum = 48;     // four i32
const kFound = 64;   // table[index]
const kTotal = 80;   // sum + products of four neighbours each

// (module (memory (export "m") 1)
//   (func (export "r")
//     i32.const 0 (v128.load 0) (v128.load 16) i8x16.relaxed_swizzle   v128.store 64
//     i32.const 0 (v128.load 0) (v128.load 32) (v128.load 48)
//       i32x4.relaxed_dot_i8x16_i7x16_add_s                            v128.store 80))
const kProbe = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1,
  7, 9, 2, 1, 109, 2, 0, 1, 114, 0, 0, 10, 54, 1, 52, 0,
  65, 0, 65, 0, 253, 0, 4, 0, 65, 0, 253, 0, 4, 16, 253, 128, 2, 253, 11, 4, 192, 0,
  65, 0, 65, 0, 253, 0, 4, 0, 65, 0, 253, 0, 4, 32, 65, 0, 253, 0, 4, 48, 253, 147, 2,
  253, 11, 4, 208, 0, 11,
];

/** What each of 16 lanes of a test holds, by lane. */
interface Sample {
  readonly table: (lane: number) => number;
  readonly level: (lane: number) => number;
}

// Signs on either side, sums that a 16-bit step must hold (2 * 127 * 127) or would saturate at 8
// bits, and lanes that all differ, so that one taken for another shows.
const kSamples: readonly Sample[] = [
  { table: () => -3, level: () => 5 },
  { table: () => -127, level: () => 127 },
  { table: () => 127, level: () => 127 },
  { table: (lane) => lane % 2 === 0 ? 127 : -127, level: (lane) => 127 - lane },
  { table: (lane) => 16 * lane - 121, level: (lane) => 8 * lane + 3 },
  { table: (lane) => 113 - 15 * lane, level: (lane) => (lane * 37 + 11) % 128 },
];
const kPermutations: readonly ((lane: number) => number)[] = [
  (lane) => lane, (lane) => 15 - lane, (lane) => (lane * 7 + 5) % 16, () => 15,
];

/**
 * Whether `run` does to the memory what the probe's function has to do. Apart from the probe so
 * that tests can show that a wrong engine is found.
 */
export function computesRight(memory: ArrayBuffer, run: () => void): boolean {
  const bytes = new Int8Array(memory);
  const words = new Int32Array(memory);
  for (const { table, level } of kSamples) {
    for (const index of kPermutations) {
      for (let lane = 0; lane < 16; ++lane) {
        bytes[kTable + lane] = table(lane);
        bytes[kIndex + lane] = index(lane);
        bytes[kLevel + lane] = level(lane);
      }
      for (let lane = 0; lane < 4; ++lane) words[kSum / 4 + lane] = 1 - 100_000 * lane;
      run();
      for (let lane = 0; lane < 16; ++lane) {
        if (bytes[kFound + lane] !== table(index(lane))) return false;
      }
      for (let lane = 0; lane < 4; ++lane) {
        let total = 1 - 100_000 * lane;
        for (let i = 4 * lane; i < 4 * lane + 4; ++i) total += table(i) * level(i);
        if (words[kTotal / 4 + lane] !== total) return false;
      }
    }
  }
  return true;
}

export type RelaxedSimd = 'right' | 'wrong' | 'missing';

let found: RelaxedSimd | undefined;

function probe(): RelaxedSimd {
  const code = new Uint8Array(kProbe);
  if (!WebAssembly.validate(code)) return 'missing';
  const { m, r } = new WebAssembly.Instance(new WebAssembly.Module(code)).exports;
  return computesRight((m as WebAssembly.Memory).buffer, r as () => void) ? 'right' : 'wrong';
}

/**
 * Asked of the engine once. Missing where the probe cannot be run, as by a content security policy
 * or for want of a memory: whatever is loaded then says so better.
 */
export function relaxedSimd(): RelaxedSimd {
  try {
    return found ??= probe();
  } catch {
    return 'missing';
  }
}

/** Whether a module is the relaxed build. */
export function needsRelaxedSimd(module: WebAssembly.Module): boolean {
  return WebAssembly.Module.exports(module).some(({ name }) => name === kMarker);
}
