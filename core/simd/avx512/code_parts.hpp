// What the AVX-512 kernels of whole codes share: from a row's bytes to its coordinates' levels.
//
// A chunk of 16 groups is one vector: its 16 bytes of each component are repeated in four lanes,
// and lane t shifts its bytes so that coordinate t's bits come to their place in the magnitude's
// index. Bits of other coordinates around them need no masking: the byte permutations read only the
// lower six or seven bits of an index, and a table shorter than that is repeated.
//
// Thread safety: pure functions.
#pragma once

#include "simd/avx512/functions.hpp"
#include "simd/avx512/intrinsics.hpp"

namespace vicinal::simd::avx512 {

[[nodiscard]] inline __m512i per_lane(int t0, int t1, int t2, int t3) {
  return _mm512_set_epi32(t3, t3, t3, t3, t2, t2, t2, t2, t1, t1, t1, t1, t0, t0, t0, t0);
}

// Left rotation of dwords by to - from: rotating right is rotating left modulo 32.
[[nodiscard]] inline __m512i rotation(int to, int from, int from_step) {
  return _mm512_and_si512(
      per_lane(to - from, to - from - from_step, to - from - 2 * from_step,
               to - from - 3 * from_step),
      _mm512_set1_epi32(31));
}

[[nodiscard]] inline __m512i repeat16(const std::uint8_t* bytes) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// Bits of `a` where `mask` is set, of `b` elsewhere.
[[nodiscard]] inline __m512i select(int mask, __m512i a, __m512i b) {
  return _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(mask)), a, b, 0xca);
}

// Bits of the sign, and of each component, that a rotation brings into an index's lower bits.
template <std::uint32_t kBits>
struct Magnitudes {
  static constexpr int kPlace2 = kBits == 3 ? 0 : 1;  // of the 2-bit component

  Magnitudes(const std::uint8_t* rest, std::uint32_t groups, std::uint32_t half)
      : groups_(groups),
        rest4_(rest + half * (groups / 2)),
        rest2_(kBits == 8 ? rest4_ + 2 * groups : rest4_),
        rest1_(kBits == 8 ? rest + 3 * groups : kBits == 4 ? rest + groups : rest),
        rotate4_(per_lane(3, 31, 3, 31)),
        rotate2_(rotation(kPlace2, 0, 2)),
        rotate1_(rotation(0, 4 * static_cast<int>(half), 1)) {}

  // The index's bits below its sign; others are arbitrary.
  [[nodiscard]] inline __m512i chunk(std::uint32_t at) const {
    if constexpr (kBits == 1) {
      return _mm512_setzero_si512();
    } else if constexpr (kBits == 2) {
      return one(at);
    } else if constexpr (kBits == 3) {
      return two(at);
    } else if constexpr (kBits == 4) {
      return select(6, two(at), one(at));
    } else {
      return select(7, select(6, two(at), one(at)), four(at));
    }
  }

 private:
  [[nodiscard]] inline __m512i one(std::uint32_t at) const {
    return _mm512_rolv_epi32(repeat16(rest1_ + at), rotate1_);
  }
  [[nodiscard]] inline __m512i two(std::uint32_t at) const {
    return _mm512_rolv_epi32(repeat16(rest2_ + at), rotate2_);
  }
  [[nodiscard]] inline __m512i four(std::uint32_t at) const {
    const __m512i both = _mm512_mask_broadcast_i32x4(
        repeat16(rest4_ + at), 0xff00,
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(rest4_ + groups_ + at)));
    return _mm512_rolv_epi32(both, rotate4_);
  }

  std::uint32_t groups_;
  const std::uint8_t* rest4_;
  const std::uint8_t* rest2_;
  const std::uint8_t* rest1_;
  __m512i rotate4_;
  __m512i rotate2_;
  __m512i rotate1_;
};

// Biased levels by sign << (kBits - 1) | magnitude, repeated to 64 entries.
template <std::uint32_t kBits>
[[nodiscard]] inline __m512i level_table(const Levels& levels) {
  const __m512i entry = _mm512_set_epi8(
      63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
      40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
      17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const char sign = static_cast<char>(1 << (kBits - 1));
  const __m512i magnitude = _mm512_and_si512(entry, _mm512_set1_epi8(static_cast<char>(sign - 1)));
  const __m512i positive = _mm512_permutexvar_epi8(magnitude, repeat16(levels.biased));
  const __mmask64 negative = _mm512_testn_epi8_mask(entry, _mm512_set1_epi8(sign));
  return _mm512_mask_sub_epi8(positive, negative, _mm512_set1_epi8(127), positive);
}

}  // namespace vicinal::simd::avx512
