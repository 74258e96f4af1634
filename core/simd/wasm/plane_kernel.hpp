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

// The low nibbles of 16 bytes of signs belong to rows 0..15, the high ones to rows 16..31.
enum class Half { kLow, kHigh };

template <Half kHalf>
[[nodiscard]] inline v128_t nibbles_of(v128_t signs) {
  if constexpr (kHalf == Half::kHigh) signs = wasm_u16x8_shr(signs, 4);
  return wasm_v128_and(signs, wasm_i8x16_const_splat(15));
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

// At most kPlaneSpanGroups groups, padded to a multiple of four by zero tables.
template <class Ops>
[[gnu::noinline]] void sum_span(const std::uint8_t* plane, const std::uint8_t* tables,
                                std::uint32_t groups, std::uint32_t* sums) {
  Words low;
  Words high;
  const std::uint8_t* const end = plane + groups * kGroupBytes;
  do {
    v128_t low_sum = wasm_i8x16_const_splat(0);
    v128_t high_sum = wasm_i8x16_const_splat(0);
    for (std::uint32_t at = 0; at < 4 * kGroupBytes; at += kGroupBytes) {
      const v128_t signs = wasm_v128_load(plane + at);
      const v128_t table = wasm_v128_load(tables + at);
      low_sum = wasm_i8x16_add(low_sum, Ops::look_up(table, nibbles_of<Half::kLow>(signs)));
      high_sum = wasm_i8x16_add(high_sum, Ops::look_up(table, nibbles_of<Half::kHigh>(signs)));
    }
    low.add(low_sum);
    high.add(high_sum);
    plane += 4 * kGroupBytes;
    tables += 4 * kGroupBytes;
  } while (plane < end);
  fold(low, sums);
  fold(high, sums + kBlockRows / 2);
}

// As sum_span, of two queries: a nibble is taken out once for both. One half of the rows at a time,
// since the sums of both halves would need more registers than there are. Rejected: nibbles in
// memory for any number of queries, which gains from four queries on only.
//
// With relaxed lookups a query costs an eighth less; without them the clamps of the indices take so
// much that nothing is gained (Ops::kPairsGain).
template <class Ops, Half kHalf>
[[gnu::noinline]] void sum_pair(const std::uint8_t* plane, const std::uint8_t* first_tables,
                                const std::uint8_t* second_tables, std::uint32_t groups,
                                std::uint32_t* first_sums, std::uint32_t* second_sums) {
  Words first;
  Words second;
  const std::uint8_t* const end = plane + groups * kGroupBytes;
  do {
    v128_t first_sum = wasm_i8x16_const_splat(0);
    v128_t second_sum = wasm_i8x16_const_splat(0);
    for (std::uint32_t at = 0; at < 4 * kGroupBytes; at += kGroupBytes) {
      const v128_t nibbles = nibbles_of<kHalf>(wasm_v128_load(plane + at));
      first_sum =
          wasm_i8x16_add(first_sum, Ops::look_up(wasm_v128_load(first_tables + at), nibbles));
      second_sum =
          wasm_i8x16_add(second_sum, Ops::look_up(wasm_v128_load(second_tables + at), nibbles));
    }
    first.add(first_sum);
    second.add(second_sum);
    plane += 4 * kGroupBytes;
    first_tables += 4 * kGroupBytes;
    second_tables += 4 * kGroupBytes;
  } while (plane < end);
  constexpr std::uint32_t kRow = kHalf == Half::kLow ? 0 : kBlockRows / 2;
  fold(first, first_sums + kRow);
  fold(second, second_sums + kRow);
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
    sum_span<Ops>(plane + done * kGroupBytes, query.tables + done * kGroupBytes,
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

template <class Ops>
inline void scan_alone(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan& scan) {
  const std::uint8_t* plane = blocks.planes + block * blocks.plane_bytes;
  const PlaneQuery& query = *scan.query;
  std::uint32_t sums[kBlockRows];
  sum_span<Ops>(plane, query.tables, span_end(query.groups, kPlaneSpanGroups), sums);
  if (query.groups > kPlaneSpanGroups) add_spans<Ops>(plane, query, sums);
  scan.reached[block] = blocks.lanes[block] & bound_rows(sums, blocks, block, scan);
}

template <class Ops>
inline void sum_pair_span(const std::uint8_t* plane, const PlaneQuery& first,
                          const PlaneQuery& second, std::uint32_t done, std::uint32_t* first_sums,
                          std::uint32_t* second_sums) {
  const std::uint32_t at = done * kGroupBytes;
  const std::uint32_t groups = span_end(first.groups - done, kPlaneSpanGroups);
  sum_pair<Ops, Half::kLow>(plane + at, first.tables + at, second.tables + at, groups, first_sums,
                            second_sums);
  sum_pair<Ops, Half::kHigh>(plane + at, first.tables + at, second.tables + at, groups, first_sums,
                             second_sums);
}

template <class Ops>
inline void scan_pair(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan& first,
                      const PlaneScan& second) {
  const std::uint8_t* plane = blocks.planes + block * blocks.plane_bytes;
  std::uint32_t sums[2][kBlockRows];
  sum_pair_span<Ops>(plane, *first.query, *second.query, 0, sums[0], sums[1]);
  for (std::uint32_t done = kPlaneSpanGroups; done < first.query->groups;
       done += kPlaneSpanGroups) {
    std::uint32_t next[2][kBlockRows];
    sum_pair_span<Ops>(plane, *first.query, *second.query, done, next[0], next[1]);
    add_rows(next[0], sums[0]);
    add_rows(next[1], sums[1]);
  }
  first.reached[block] = blocks.lanes[block] & bound_rows(sums[0], blocks, block, first);
  second.reached[block] = blocks.lanes[block] & bound_rows(sums[1], blocks, block, second);
}

// Kernels::plane_scan.
template <class Ops>
inline void scan_blocks(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    std::uint32_t q = 0;
    if constexpr (Ops::kPairsGain) {
      for (; q + 2 <= queries; q += 2) scan_pair<Ops>(blocks, block, scans[q], scans[q + 1]);
    }
    for (; q < queries; ++q) scan_alone<Ops>(blocks, block, scans[q]);
  }
}

}  // namespace vicinal::simd::wasm
