#include <wasm_simd128.h>

#include "simd/wasm/functions.hpp"

// A chunk of 16 groups is one vector of each component; it gives its groups' 16 coordinates t, for
// one t after the other.
namespace vicinal::simd::wasm {
namespace {

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

[[nodiscard]] inline v128_t interleave8_high(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// The row's bytes of four groups of its block's plane, in the lowest four bytes.
[[nodiscard]] inline v128_t gather_four(const std::uint8_t* row_plane) {
  const v128_t a = interleave8(wasm_v128_load32_zero(row_plane),
                               wasm_v128_load32_zero(row_plane + kGroupBytes));
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
        one(kBits == 8 ? rest + 3 * groups : kBits == 4 ? rest + groups : rest),
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

// Adds the products of 16 coordinates: two of at most 127 * 127 fit 16 bits.
template <std::uint32_t kBits, int kT>
[[nodiscard]] inline v128_t narrow_step(v128_t sum, const Chunk& chunk, v128_t levels,
                                        const std::int8_t* values) {
  const v128_t level = wasm_i8x16_swizzle(levels, narrow_code<kBits, kT>(chunk));
  const v128_t value = wasm_v128_load(values + 16 * kT);
  const v128_t pairs = wasm_i16x8_add(wasm_i16x8_extmul_low_i8x16(level, value),
                                      wasm_i16x8_extmul_high_i8x16(level, value));
  return wasm_i32x4_add(sum, wasm_i32x4_extadd_pairwise_i16x8(pairs));
}

// Signed levels by sign << (kBits - 1) | magnitude.
template <std::uint32_t kBits>
[[nodiscard]] inline v128_t signed_levels(const Levels& levels) {
  constexpr std::uint32_t kHalf = 1u << (kBits - 1);
  alignas(16) std::int8_t table[16] = {};
  for (std::uint32_t m = 0; m < kHalf; ++m) {
    table[kHalf + m] = static_cast<std::int8_t>(2 * levels.biased[m] - 127);
    table[m] = static_cast<std::int8_t>(-table[kHalf + m]);
  }
  return wasm_v128_load(table);
}

template <std::uint32_t kBits>
[[gnu::noinline]] v128_t narrow_half(const std::uint8_t* row_plane, std::uint32_t sign_shift,
                                     const Rest<kBits>& rest, v128_t levels,
                                     const std::int8_t* values) {
  const std::uint32_t half_groups = rest.groups / 2;
  v128_t sum = wasm_i32x4_const_splat(0);
  for (std::uint32_t at = 0; at < half_groups; at += kChunkGroups) {
    Chunk chunk;
    chunk.signs = wasm_u16x8_shr(gather_signs(row_plane, half_groups - at), sign_shift);
    rest.load(at, chunk);
    sum = narrow_step<kBits, 0>(sum, chunk, levels, values);
    sum = narrow_step<kBits, 1>(sum, chunk, levels, values);
    sum = narrow_step<kBits, 2>(sum, chunk, levels, values);
    sum = narrow_step<kBits, 3>(sum, chunk, levels, values);
    row_plane += kChunkGroups * kGroupBytes;
    values += kChunkValues;
  }
  return sum;
}

template <std::uint32_t kBits>
[[nodiscard]] inline std::int64_t narrow_dot(const std::uint8_t* row_plane,
                                             std::uint32_t sign_shift, const std::uint8_t* rest,
                                             const CodeQuery& query, const Levels& levels) {
  const v128_t table = signed_levels<kBits>(levels);
  const std::uint32_t half_groups = query.groups / 2;
  const v128_t first = narrow_half<kBits>(row_plane, sign_shift,
                                          Rest<kBits>(rest, query.groups, 0), table,
                                          query.values8);
  const v128_t second = narrow_half<kBits>(
      row_plane + half_groups * kGroupBytes, sign_shift, Rest<kBits>(rest, query.groups, 1), table,
      query.values8 + query.half_chunks * kChunkValues);
  const v128_t sum = wasm_i32x4_add(first, second);
  return wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) +
         wasm_i32x4_extract_lane(sum, 2) + wasm_i32x4_extract_lane(sum, 3);
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
  const std::uint8_t* row_plane = plane + lane % kGroupBytes;
  const std::uint32_t sign_shift = lane < kGroupBytes ? 0 : 4;
  if constexpr (kBits == 8) {
    return wide_dot(row_plane, sign_shift, rest, query, levels);
  } else {
    return narrow_dot<kBits>(row_plane, sign_shift, rest, query, levels);
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
