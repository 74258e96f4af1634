// The sign plane's scan in WebAssembly, but for the table lookup in which SIMD128 and relaxed SIMD
// differ.
//
// The loops stand in functions of their own that are never inlined: engines raise a small hot
// function to their optimising tier soon, a long caller late or never.
//
// Thread safety: pure functions.
// I1: Ops::look_up(table, index) is table[index] for indices below 16.
#pragma once

#include <wasm_simd128.h>

#include "simd/wasm/functions.hpp"

namespace vicinal::simd::wasm {

// Sums of 63 stay below 65,536 for 1,040 groups; 1,024 is a whole number of steps of four.
inline constexpr std::uint32_t kPlaneSpanGroups = 1024;

// Bytes of rows 0..15 in `low`, of 16..31 in `high`: nibbles, or the sum of at most four lookups.
struct Lookups {
  v128_t low;
  v128_t high;
};

// The nibbles of 16 bytes of signs.
[[nodiscard]] inline Lookups unpack(const std::uint8_t* plane) {
  const v128_t nibble = wasm_i8x16_const_splat(15);
  const v128_t signs = wasm_v128_load(plane);
  return {wasm_v128_and(signs, nibble), wasm_v128_and(wasm_u16x8_shr(signs, 4), nibble)};
}

template <class Ops>
[[nodiscard]] inline Lookups look_up(const Lookups& nibbles, const std::uint8_t* tables) {
  const v128_t table = wasm_v128_load(tables);
  return {Ops::look_up(table, nibbles.low), Ops::look_up(table, nibbles.high)};
}

// u16 sums: `all` holds even bytes plus 256 times odd bytes modulo 2^16, `odd` the odd bytes.
// Subtracting later costs less than masking the even bytes at every step.
struct Words {
  v128_t all = wasm_i16x8_const_splat(0);
  v128_t odd = wasm_i16x8_const_splat(0);

  inline void add(v128_t bytes) {
    all = wasm_i16x8_add(all, bytes);
    odd = wasm_i16x8_add(odd, wasm_u16x8_shr(bytes, 8));
  }
};

// Stores 16 rows' sums in order.
inline void fold(const Words& words, std::uint32_t* sums) {
  const v128_t even = wasm_i16x8_sub(words.all, wasm_i16x8_shl(words.odd, 8));
  const v128_t first = wasm_i16x8_shuffle(even, words.odd, 0, 8, 1, 9, 2, 10, 3, 11);
  const v128_t second = wasm_i16x8_shuffle(even, words.odd, 4, 12, 5, 13, 6, 14, 7, 15);
  wasm_v128_store(sums, wasm_u32x4_extend_low_u16x8(first));
  wasm_v128_store(sums + 4, wasm_u32x4_extend_high_u16x8(first));
  wasm_v128_store(sums + 8, wasm_u32x4_extend_low_u16x8(second));
  wasm_v128_store(sums + 12, wasm_u32x4_extend_high_u16x8(second));
}

struct FromPlane {
  static constexpr std::uint32_t kBytes = kGroupBytes;
  [[nodiscard]] static inline Lookups nibbles(const std::uint8_t* at) { return unpack(at); }
};

struct FromNibbles {
  static constexpr std::uint32_t kBytes = 2 * kGroupBytes;
  [[nodiscard]] static inline Lookups nibbles(const std::uint8_t* at) {
    return {wasm_v128_load(at), wasm_v128_load(at + kGroupBytes)};
  }
};

// At most kPlaneSpanGroups groups, padded to a multiple of four by zero tables.
template <class Ops, class Source>
[[gnu::noinline]] void sum_span(const std::uint8_t* source, const std::uint8_t* tables,
                                std::uint32_t groups, std::uint32_t* sums) {
  Words low;
  Words high;
  const std::uint8_t* const end = source + groups * Source::kBytes;
  do {
    Lookups sum = look_up<Ops>(Source::nibbles(source), tables);
    for (std::uint32_t step = 1; step < 4; ++step) {
      const Lookups next = look_up<Ops>(Source::nibbles(source + step * Source::kBytes),
                                        tables + step * kGroupBytes);
      sum.low = wasm_i8x16_add(sum.low, next.low);
      sum.high = wasm_i8x16_add(sum.high, next.high);
    }
    low.add(sum.low);
    high.add(sum.high);
    source += 4 * Source::kBytes;
    tables += 4 * kGroupBytes;
  } while (source < end);
  fold(low, sums);
  fold(high, sums + 16);
}

inline void add_rows(const std::uint32_t* next, std::uint32_t* sums) {
  for (std::uint32_t row = 0; row < kBlockRows; ++row) sums[row] += next[row];
}

[[nodiscard]] inline std::uint32_t span_end(std::uint32_t groups, std::uint32_t span) {
  return groups < span ? groups : span;
}

// The spans after the first one.
template <class Ops>
[[gnu::noinline]] void add_spans(const std::uint8_t* plane, const PlaneQuery& query,
                                 std::uint32_t* sums) {
  for (std::uint32_t done = kPlaneSpanGroups; done < query.groups; done += kPlaneSpanGroups) {
    std::uint32_t next[kBlockRows];
    sum_span<Ops, FromPlane>(plane + done * kGroupBytes, query.tables + done * kGroupBytes,
                             span_end(query.groups - done, kPlaneSpanGroups), next);
    add_rows(next, sums);
  }
}

// bound.hpp's upper_bound, in its order of operations.
[[gnu::noinline]] inline std::uint32_t bound_rows(const std::uint32_t* sums,
                                                  const PlaneBlocks& blocks, std::uint32_t block,
                                                  const PlaneScan& scan) {
  const PlaneQuery& query = *scan.query;
  const float* plane_scale = blocks.plane_scales + block * kBlockRows;
  const float* plane_cosine2 = blocks.plane_cosines2 + block * kBlockRows;
  float* upper = scan.upper + block * kBlockRows;
  const v128_t step = wasm_f32x4_splat(query.step);
  const v128_t base = wasm_f32x4_splat(query.base);
  const v128_t slope = wasm_f32x4_splat(query.slope);
  const v128_t weight = wasm_f32x4_splat(query.weight);
  const v128_t limit = wasm_f32x4_splat(scan.threshold);
  std::uint32_t below = 0;
  for (std::uint32_t row = 0; row < kBlockRows; row += 4) {
    const v128_t scale = wasm_v128_load(plane_scale + row);
    const v128_t cosine2 = wasm_v128_load(plane_cosine2 + row);
    const v128_t product =
        wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_v128_load(sums + row)), step);
    const v128_t reach = wasm_f32x4_mul(
        scale, wasm_f32x4_add(wasm_f32x4_add(product, base), wasm_f32x4_mul(cosine2, slope)));
    v128_t bound = wasm_f32x4_mul(weight, reach);
    if (query.l2) {
      const v128_t length2 = wasm_f32x4_mul(
          wasm_f32x4_mul(scale, scale), wasm_f32x4_mul(cosine2, wasm_f32x4_splat(query.coded_dim)));
      bound = wasm_f32x4_sub(wasm_f32x4_sub(bound, length2), wasm_f32x4_splat(query.query2));
    }
    wasm_v128_store(upper + row, bound);
    below |= wasm_i32x4_bitmask(wasm_f32x4_lt(bound, limit)) << row;
  }
  return ~below;
}

// One query: its nibbles stay in registers.
template <class Ops>
inline void scan_alone(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan& scan) {
  const std::uint8_t* plane = blocks.planes + block * blocks.plane_bytes;
  const PlaneQuery& query = *scan.query;
  std::uint32_t sums[kBlockRows];
  sum_span<Ops, FromPlane>(plane, query.tables, span_end(query.groups, kPlaneSpanGroups), sums);
  if (query.groups > kPlaneSpanGroups) add_spans<Ops>(plane, query, sums);
  scan.reached[block] = blocks.lanes[block] & bound_rows(sums, blocks, block, scan);
}

// Nibbles that several queries look up lie in memory for them: the sums of two queries would take
// all registers there are. So many groups of them stay in the first-level cache with the tables.
inline constexpr std::uint32_t kUnpackedGroups = 256;

[[gnu::noinline]] inline void unpack_span(const std::uint8_t* plane, std::uint32_t groups,
                                          std::uint8_t* nibbles) {
  const std::uint8_t* const end = plane + (groups + 3) / 4 * 4 * kGroupBytes;
  for (; plane < end; plane += kGroupBytes, nibbles += 2 * kGroupBytes) {
    const Lookups group = unpack(plane);
    wasm_v128_store(nibbles, group.low);
    wasm_v128_store(nibbles + kGroupBytes, group.high);
  }
}

template <class Ops>
inline void scan_together(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan* scans,
                          std::uint32_t queries) {
  const std::uint8_t* plane = blocks.planes + block * blocks.plane_bytes;
  const std::uint32_t groups = scans[0].query->groups;
  std::uint32_t sums[kScanQueries][kBlockRows] = {};
  for (std::uint32_t done = 0; done < groups; done += kUnpackedGroups) {
    alignas(16) std::uint8_t nibbles[kUnpackedGroups * 2 * kGroupBytes];
    const std::uint32_t count = span_end(groups - done, kUnpackedGroups);
    unpack_span(plane + done * kGroupBytes, count, nibbles);
    for (std::uint32_t q = 0; q < queries; ++q) {
      std::uint32_t next[kBlockRows];
      sum_span<Ops, FromNibbles>(nibbles, scans[q].query->tables + done * kGroupBytes, count, next);
      add_rows(next, sums[q]);
    }
  }
  for (std::uint32_t q = 0; q < queries; ++q) {
    scans[q].reached[block] = blocks.lanes[block] & bound_rows(sums[q], blocks, block, scans[q]);
  }
}

// Kernels::plane_scan.
template <class Ops>
inline void scan_blocks(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    if (queries == 1) {
      scan_alone<Ops>(blocks, block, scans[0]);
    } else {
      scan_together<Ops>(blocks, block, scans, queries);
    }
  }
}

}  // namespace vicinal::simd::wasm
