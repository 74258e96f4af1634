#include "simd/wasm/code_kernel.hpp"
#include "simd/wasm/simd128.hpp"

namespace vicinal::simd::wasm {
namespace {

[[nodiscard]] inline v128_t interleave8_high(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Eight levels by magnitude index. Rejected: sixteen swizzles of 16-entry tables, a third slower.
[[nodiscard]] inline v128_t look_up_eight(const std::int16_t* wide, const std::uint8_t* index) {
  v128_t words = wasm_v128_load16_splat(wide + index[0]);
  words = wasm_v128_load16_lane(wide + index[1], words, 1);
  words = wasm_v128_load16_lane(wide + index[2], words, 2);
  words = wasm_v128_load16_lane(wide + index[3], words, 3);
  words = wasm_v128_load16_lane(wide + index[4], words, 4);
  words = wasm_v128_load16_lane(wide + index[5], words, 5);
  words = wasm_v128_load16_lane(wide + index[6], words, 6);
  return wasm_v128_load16_lane(wide + index[7], words, 7);
}

[[nodiscard]] inline v128_t negate_where(v128_t mask, v128_t x) {
  return wasm_i16x8_sub(wasm_v128_xor(x, mask), mask);
}

// Adds the products of 16 coordinates: two steps of two products of at most 2047 * 8191.
template <int kT>
[[nodiscard]] inline v128_t wide_step(v128_t sum, const Chunk& chunk, const std::int16_t* wide,
                                      const std::int16_t* values) {
  const v128_t four = wasm_v128_and(move_bit<4 * (kT % 2), 3>(chunk.four[kT / 2]),
                                    wasm_i8x16_const_splat(15 << 3));
  alignas(16) std::uint8_t index[16];
  wasm_v128_store(index,
                  wasm_v128_or(four, wasm_v128_or(two_bits<kT, 1>(chunk), one_bit<kT>(chunk))));
  const v128_t negative =
      wasm_i8x16_eq(wasm_v128_and(chunk.signs, wasm_i8x16_const_splat(1 << kT)),
                    wasm_i8x16_const_splat(0));
  const v128_t first =
      negate_where(interleave8(negative, negative), look_up_eight(wide, index));
  const v128_t second =
      negate_where(interleave8_high(negative, negative), look_up_eight(wide, index + 8));
  sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(first, wasm_v128_load(values + 16 * kT)));
  return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(second, wasm_v128_load(values + 16 * kT + 8)));
}

// At most eight chunks, of eight steps each: 64 steps fit 32 bits.
constexpr std::uint32_t kSpanGroups = 8 * kChunkGroups;

[[gnu::noinline]] std::int64_t wide_span(const std::uint8_t* row_plane, std::uint32_t sign_shift,
                                         const Rest<8>& rest, std::uint32_t at, std::uint32_t end,
                                         const std::int16_t* wide, const std::int16_t* values) {
  v128_t sum = wasm_i32x4_const_splat(0);
  for (; at < end; at += kChunkGroups) {
    Chunk chunk;
    chunk.signs = wasm_u16x8_shr(gather_signs(row_plane + at * kGroupBytes, end - at), sign_shift);
    rest.load(at, chunk);
    sum = wide_step<0>(sum, chunk, wide, values);
    sum = wide_step<1>(sum, chunk, wide, values);
    sum = wide_step<2>(sum, chunk, wide, values);
    sum = wide_step<3>(sum, chunk, wide, values);
    values += kChunkValues;
  }
  const v128_t two =
      wasm_i64x2_add(wasm_i64x2_extend_low_i32x4(sum), wasm_i64x2_extend_high_i32x4(sum));
  return wasm_i64x2_extract_lane(two, 0) + wasm_i64x2_extract_lane(two, 1);
}

[[nodiscard]] inline std::int64_t wide_dot(const std::uint8_t* row_plane, std::uint32_t sign_shift,
                                           const std::uint8_t* rest, const CodeQuery& query,
                                           const Levels& levels) {
  const std::uint32_t half_groups = query.groups / 2;
  std::int64_t sum = 0;
  for (std::uint32_t half = 0; half < 2; ++half) {
    const Rest<8> half_rest(rest, query.groups, half);
    const std::int16_t* values = query.values16 + half * query.half_chunks * kChunkValues;
    for (std::uint32_t at = 0; at < half_groups; at += kSpanGroups) {
      const std::uint32_t left = half_groups - at;
      sum += wide_span(row_plane + half * half_groups * kGroupBytes, sign_shift, half_rest, at,
                       left < kSpanGroups ? half_groups : at + kSpanGroups, levels.wide,
                       values + at * kGroupCoordinates);
    }
  }
  return sum;
}

}  // namespace

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept {
  if constexpr (kBits == 8) {
    return wide_dot(plane + lane % kGroupBytes, lane < kGroupBytes ? 0 : 4, rest, query, levels);
  } else {
    return narrow_dot<Simd128, kBits>(plane, lane, rest, query, levels);
  }
}

template std::int64_t code_dot<1>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<2>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<3>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<4>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;
template std::int64_t code_dot<8>(const std::uint8_t*, std::uint32_t, const std::uint8_t*,
                                  const CodeQuery&, const Levels&) noexcept;

}  // namespace vicinal::simd::wasm
