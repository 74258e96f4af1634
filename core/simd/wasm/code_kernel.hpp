// Whole codes in WebAssembly, but for the two operations in which SIMD128 and relaxed SIMD differ.
// A chunk of 16 groups is one vector of each component; it gives its groups' 16 coordinates t, for
// one t after the other.
//
// Thread safety: pure functions.
// I1: Ops::look_up(table, index) is table[index] for indices below 16.
// I2: Ops::add_products(sum, level, values) adds the products of 16 levels 0..127 with 16 values
//     -127..127, each to any of the four lanes of `sum`: only their total matters, which is exact.
#pragma once

#include <wasm_simd128.h>

#include "simd/wasm/functions.hpp"

namespace vicinal::simd::wasm {

// Shifts words so that bit kFrom of each byte comes to bit kTo; other bits are arbitrary.
template <int kFrom, int kTo>
[[nodiscard]] inline v128_t move_bit(v128_t x) {
  if constexpr (kFrom > kTo) return wasm_u16x8_shr(x, kFrom - kTo);
  if constexpr (kFrom < kTo) return wasm_i16x8_shl(x, kTo - kFrom);
  return x;
}

[[nodiscard]] inline v128_t interleave8(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

// The row's bytes of four groups of its block's plane, in the lowest four bytes.
[[nodiscard]] inline v128_t gather_four(const std::uint8_t* row_plane) {
  const v128_t a =
      interleave8(wasm_v128_load32_zero(row_plane), wasm_v128_load32_zero(row_plane + kGroupBytes));
  const v128_t b = interleave8(wasm_v128_load32_zero(row_plane + 2 * kGroupBytes),
                               wasm_v128_load32_zero(row_plane + 3 * kGroupBytes));
  return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

// The row's bytes of a chunk. Fours without a valid group repeat the first; the last valid one ends
// at most 48 + 3 bytes past its group.
[[nodiscard]] inline v128_t gather_signs(const std::uint8_t* row_plane, std::uint32_t groups) {
  const v128_t a = gather_four(row_plane);
  const v128_t b = gather_four(row_plane + (groups > 4 ? 4 * kGroupBytes : 0));
  const v128_t c = gather_four(row_plane + (groups > 8 ? 8 * kGroupBytes : 0));
  const v128_t d = gather_four(row_plane + (groups > 12 ? 12 * kGroupBytes : 0));
  const v128_t ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
  return wasm_i64x2_shuffle(ab, wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), 0, 2);
}

// The components of a chunk: bits t (one), 2t and 2t + 1 (two), and nibbles (four) of each byte.
struct Chunk {
  v128_t signs;
  v128_t one;
  v128_t two;
  v128_t four[2];
};

// Where one half's components begin.
template <std::uint32_t kBits>
struct Rest {
  Rest(const std::uint8_t* rest, std::uint32_t groups_all, std::uint32_t half)
      : groups(groups_all),
        four(rest + half * (groups / 2)),
        two(kBits == 8 ? four + 2 * groups : four),
        one(kBits == 8   ? rest + 3 * groups
            : kBits == 4 ? rest + groups
                         : rest),
        one_shift(4 * half) {}

  inline void load(std::uint32_t at, Chunk& chunk) const {
    if constexpr (kBits == 2 || kBits == 4 || kBits == 8) {
      chunk.one = wasm_u16x8_shr(wasm_v128_load(one + at), one_shift);
    }
    if constexpr (kBits == 3 || kBits == 4 || kBits == 8) chunk.two = wasm_v128_load(two + at);
    if constexpr (kBits == 8) {
      chunk.four[0] = wasm_v128_load(four + at);
      chunk.four[1] = wasm_v128_load(four + groups + at);
    }
  }

  std::uint32_t groups;
  const std::uint8_t* four;
  const std::uint8_t* two;
  const std::uint8_t* one;
  std::uint32_t one_shift;
};

template <int kT>
[[nodiscard]] inline v128_t one_bit(const Chunk& chunk) {
  return wasm_v128_and(move_bit<kT, 0>(chunk.one), wasm_i8x16_const_splat(1));
}

template <int kT, int kTo>
[[nodiscard]] inline v128_t two_bits(const Chunk& chunk) {
  return wasm_v128_and(move_bit<2 * kT, kTo>(chunk.two), wasm_i8x16_const_splat(3 << kTo));
}

// sign << (kBits - 1) | magnitude index, kBits <= 4.
template <std::uint32_t kBits, int kT>
[[nodiscard]] inline v128_t narrow_code(const Chunk& chunk) {
  constexpr int kSign = static_cast<int>(kBits) - 1;
  const v128_t sign =
      wasm_v128_and(move_bit<kT, kSign>(chunk.signs), wasm_i8x16_const_splat(1 << kSign));
  if constexpr (kBits == 1) {
    return sign;
  } else if constexpr (kBits == 2) {
    return wasm_v128_or(sign, one_bit<kT>(chunk));
  } else if constexpr (kBits == 3) {
    return wasm_v128_or(sign, two_bits<kT, 0>(chunk));
  } else {
    return wasm_v128_or(sign, wasm_v128_or(two_bits<kT, 1>(chunk), one_bit<kT>(chunk)));
  }
}

template <std::uint32_t kBits>
[[nodiscard]] constexpr int biased_place(std::uint32_t code) {
  constexpr std::uint32_t kHalf = 1u << (kBits - 1);
  return static_cast<int>(code < kHalf ? code : 16 + code % kHalf);
}

// Biased levels by sign << (kBits - 1) | magnitude: the negative ones are mirrored.
template <std::uint32_t kBits>
[[nodiscard]] inline v128_t biased_levels(const Levels& levels) {
  constexpr auto place = biased_place<kBits>;
  const v128_t positive = wasm_v128_load(levels.biased);
  const v128_t negative = wasm_i8x16_sub(wasm_i8x16_const_splat(127), positive);
  return wasm_i8x16_shuffle(negative, positive, place(0), place(1), place(2), place(3), place(4),
                            place(5), place(6), place(7), place(8), place(9), place(10), place(11),
                            place(12), place(13), place(14), place(15));
}

template <class Ops, std::uint32_t kBits, int kT>
[[nodiscard]] inline v128_t narrow_step(v128_t sum, const Chunk& chunk, v128_t levels,
                                        const std::int8_t* values) {
  return Ops::add_products(sum, Ops::look_up(levels, narrow_code<kBits, kT>(chunk)),
                           values + 16 * kT);
}

template <class Ops, std::uint32_t kBits>
[[gnu::noinline]] v128_t narrow_half(const std::uint8_t* row_plane, std::uint32_t sign_shift,
                                     const Rest<kBits>& rest, v128_t levels,
                                     const std::int8_t* values) {
  const std::uint32_t half_groups = rest.groups / 2;
  v128_t sum = wasm_i32x4_const_splat(0);
  for (std::uint32_t at = 0; at < half_groups; at += kChunkGroups) {
    Chunk chunk;
    chunk.signs = wasm_u16x8_shr(gather_signs(row_plane, half_groups - at), sign_shift);
    rest.load(at, chunk);
    sum = narrow_step<Ops, kBits, 0>(sum, chunk, levels, values);
    sum = narrow_step<Ops, kBits, 1>(sum, chunk, levels, values);
    sum = narrow_step<Ops, kBits, 2>(sum, chunk, levels, values);
    sum = narrow_step<Ops, kBits, 3>(sum, chunk, levels, values);
    row_plane += kChunkGroups * kGroupBytes;
    values += kChunkValues;
  }
  return sum;
}

// Kernels::code_dot for up to 4 bits. The sum of products with the biased levels fits 32 bits:
// 16,384 of at most 127 * 127.
template <class Ops, std::uint32_t kBits>
[[nodiscard]] inline std::int64_t narrow_dot(const std::uint8_t* plane, std::uint32_t lane,
                                             const std::uint8_t* rest, const CodeQuery& query,
                                             const Levels& levels) {
  const std::uint8_t* row_plane = plane + lane % kGroupBytes;
  const std::uint32_t sign_shift = lane < kGroupBytes ? 0 : 4;
  const v128_t table = biased_levels<kBits>(levels);
  const std::uint32_t half_groups = query.groups / 2;
  const v128_t first = narrow_half<Ops, kBits>(
      row_plane, sign_shift, Rest<kBits>(rest, query.groups, 0), table, query.values8);
  const v128_t second = narrow_half<Ops, kBits>(row_plane + half_groups * kGroupBytes, sign_shift,
                                                Rest<kBits>(rest, query.groups, 1), table,
                                                query.values8 + query.half_chunks * kChunkValues);
  const v128_t sum = wasm_i32x4_add(first, second);
  const std::int32_t biased = wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) +
                              wasm_i32x4_extract_lane(sum, 2) + wasm_i32x4_extract_lane(sum, 3);
  return 2 * std::int64_t{biased} - 127 * query.value_sum;
}

}  // namespace vicinal::simd::wasm
