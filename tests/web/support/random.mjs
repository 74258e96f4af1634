// Seeded data, the same on every platform. A test prints the seed it used, so that it can be run
// again.

export const scale = Number(import.meta.env?.VICINAL_TEST_SCALE ?? 1);

const kMask = (1n << 64n) - 1n;

/** SplitMix64, as core/base/random.hpp has it. */
export class SplitMix {
  constructor(seed) {
    this.state = BigInt(seed);
  }

  next() {
    this.state = (this.state + 0x9e3779b97f4a7c15n) & kMask;
    let x = this.state;
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & kMask;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & kMask;
    return x ^ (x >> 31n);
  }

  /** In [-1, 1), a multiple of 2^-23: exact in float32. */
  coordinate() {
    return Number(this.next() >> 40n) / 2 ** 23 - 1;
  }
}

/** Mulberry32: fast, for data that no other language has to make. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` rows of `dim` coordinates, roughly normal. */
export function randomRows(seed, count, dim) {
  const next = random(seed);
  return Float32Array.from({ length: count * dim },
    () => next() + next() + next() + next() - 2);
}

export function row(rows, dim, index) {
  return rows.subarray(index * dim, (index + 1) * dim);
}

/** 0 .. count - 1, plus first. */
export function range(count, first = 0) {
  return Array.from({ length: count }, (_, i) => first + i);
}

export function newSeed(name) {
  const seed = (Math.random() * 2 ** 31) | 0;
  console.log(`${name}: seed ${seed}`);
  return seed;
}
