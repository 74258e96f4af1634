#include <wasm_simd128.h>

#include "simd/wasm/functions.hpp"

// The loops stand in functions of their own that are never inlined: engines raise a small hot
// function to their optimising tier soon, a long caller late or never.
namespace vicinal::simd::wasm {
namespace {

// Sums of 63 stay below 65,536 for 1,040 groups; 1,024 is a whole number of steps of four.
constexpr std::uint32_t kSpanGroups = 1024;

// Bytes of four lookups at most: rows 0..15 in `low`, 16..31 in `high`.
struct Lookups {
  v128_t low;
  v128_t high;
};

[[nodiscard]] inline Lookups look_up(const std::uint8_t* plane, const std::uint8_t* tables) {
  const v128_t nibble = wasm_i8x16_splat(15);
  const v128_t signs = wasm_v128_load(plane);
  const v128_t table = wasm_v128_load(tables);
  const v128_t high = wasm_v128_and(wasm_u16x8_shr(signs, 4), nibble);
  return {wasm_i8x16_swizzle(table, wasm_v128_and(signs, nibble)),
          wasm_i8x16_swizzle(table, high)};
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

// At most kSpanGroups groups, padded to a multiple of four by zero tables.
[[gnu::noinline]] void sum_span(const std::uint8_t* plane, const std::uint8_t* tables,
                                std::uint32_t groups, std::uint32_t* sums) {
  Words low;
  Words high;
  const std::uint8_t* const end = plane + groups * kGroupBytes;
  do {
    Lookups sum = look_up(plane, tables);
    for (std::uint32_t step = 1; step < 4; ++step) {
      const Lookups next = look_up(plane + step * kGroupBytes, tables + step * kGroupBytes);
      sum.low = wasm_i8x16_add(sum.low, next.low);
      sum.high = wasm_i8x16_add(sum.high, next.high);
    }
    low.add(sum.low);
    high.add(sum.high);
    plane += 4 * kGroupBytes;
    tables += 4 * kGroupBytes;
  } while (plane < end);
  fold(low, sums);
  fold(high, sums + 16);
}

// The spans after the first one.
[[gnu::noinline]] void add_spans(const std::uint8_t* plane, const PlaneQuery& query,
                                 std::uint32_t* sums) {
  for (std::uint32_t done = kSpanGroups; done < query.groups; done += kSpanGroups) {
    std::uint32_t next[kBlockRows];
    const std::uint32_t left = query.groups - done;
    sum_span(plane + done * kGroupBytes, query.tables + done * kGroupBytes,
             left < kSpanGroups ? left : kSpanGroups, next);
    for (std::uint32_t row = 0; row < kBlockRows; ++row) sums[row] += next[row];
  }
}

// bound.hpp's upper_bound, in its order of operations.
[[gnu::noinline]] std::uint32_t bound_rows(const std::uint32_t* sums, const PlaneBlocks& blocks,
                                           std::uint32_t block, const PlaneScan& scan) {
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
      const v128_t length2 =
          wasm_f32x4_mul(wasm_f32x4_mul(scale, scale),
                         wasm_f32x4_mul(cosine2, wasm_f32x4_splat(query.coded_dim)));
      bound = wasm_f32x4_sub(wasm_f32x4_sub(bound, length2), wasm_f32x4_splat(query.query2));
    }
    wasm_v128_store(upper + row, bound);
    below |= wasm_i32x4_bitmask(wasm_f32x4_lt(bound, limit)) << row;
  }
  return ~below;
}

inline void sum_rows(const std::uint8_t* plane, const PlaneQuery& query, std::uint32_t* sums) {
  sum_span(plane, query.tables, query.groups < kSpanGroups ? query.groups : kSpanGroups, sums);
  if (query.groups > kSpanGroups) add_spans(plane, query, sums);
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    const std::uint8_t* plane = blocks.planes + block * blocks.plane_bytes;
    for (std::uint32_t q = 0; q < queries; ++q) {
      const PlaneScan& scan = scans[q];
      std::uint32_t sums[kBlockRows];
      sum_rows(plane, *scan.query, sums);
      scan.reached[block] = blocks.lanes[block] & bound_rows(sums, blocks, block, scan);
    }
  }
}

}  // namespace vicinal::simd::wasm
