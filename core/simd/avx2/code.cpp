#include <immintrin.h>

#include "simd/avx2/functions.hpp"

// A chunk of 16 groups is two vectors: its 16 bytes of each component are repeated in both lanes,
// and each lane shifts its bytes so that its coordinate's bits come to their place in the
// magnitude's index. Lanes of vector v hold coordinates t = 2v and 2v + 1. Signs are applied to the
// query, which is symmetric: |value| <= 127, or 2047.
namespace vicinal::simd::avx2 {
namespace {

[[nodiscard]] inline __m256i load(const void* bytes) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
}

[[nodiscard]] inline __m256i repeat16(const void* bytes) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(bytes)));
}

[[nodiscard]] inline __m256i per_lane(int first, int second) {
  return _mm256_set_epi32(second, second, second, second, first, first, first, first);
}

[[nodiscard]] inline __m128i load_dword(const std::uint8_t* bytes) {
  return _mm_loadu_si32(bytes);
}

// The row's bytes of four groups of its block's plane, in the lowest four bytes.
[[nodiscard]] inline __m128i gather_four(const std::uint8_t* row_plane) {
  const __m128i a =
      _mm_unpacklo_epi8(load_dword(row_plane), load_dword(row_plane + kGroupBytes));
  const __m128i b = _mm_unpacklo_epi8(load_dword(row_plane + 2 * kGroupBytes),
                                      load_dword(row_plane + 3 * kGroupBytes));
  return _mm_unpacklo_epi16(a, b);
}

// The row's bytes of a chunk, complemented, repeated in both lanes. Fours without a valid group
// repeat the first; the last valid one ends at most 51 bytes past its group. Rejected: loads offset
// so that blends join them (no faster), words joined in scalar registers, vpgatherdd (both slower).
[[nodiscard]] inline __m256i gather_signs(const std::uint8_t* row_plane, std::uint32_t groups) {
  const __m128i a = gather_four(row_plane);
  const __m128i b = gather_four(row_plane + (groups > 4 ? 4 * kGroupBytes : 0));
  const __m128i c = gather_four(row_plane + (groups > 8 ? 8 * kGroupBytes : 0));
  const __m128i d = gather_four(row_plane + (groups > 12 ? 12 * kGroupBytes : 0));
  const __m128i all = _mm_unpacklo_epi64(_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
  return _mm256_xor_si256(_mm256_broadcastsi128_si256(all), _mm256_set1_epi8(-1));
}

// Bytes that are negative where the coordinate is, and never zero.
class Signs {
 public:
  explicit Signs(std::uint32_t lane) {
    const int top = lane < kGroupBytes ? 7 : 3;
    shifts_[0] = per_lane(top, top - 1);
    shifts_[1] = per_lane(top - 2, top - 3);
  }

  [[nodiscard]] inline __m256i bytes(__m256i complemented, int vector) const {
    return _mm256_or_si256(_mm256_sllv_epi32(complemented, shifts_[vector]),
                           _mm256_set1_epi8(1));
  }

 private:
  __m256i shifts_[2];
};

// Magnitude indexes of the chunk at group `at` of one half.
template <std::uint32_t kBits>
class Magnitudes {
 public:
  Magnitudes(const std::uint8_t* rest, std::uint32_t groups, std::uint32_t half)
      : groups_(groups),
        rest4_(rest + half * (groups / 2)),
        rest2_(kBits == 8 ? rest4_ + 2 * groups : rest4_),
        rest1_(kBits == 8 ? rest + 3 * groups : kBits == 4 ? rest + groups : rest) {
    const int half_shift = half == 0 ? 0 : 4;
    for (int v = 0; v < 2; ++v) {
      shifts2_[v] = per_lane(4 * v, 4 * v + 2);
      shifts1_[v] = per_lane(2 * v + half_shift, 2 * v + 1 + half_shift);
    }
  }

  [[nodiscard]] inline __m256i chunk(std::uint32_t at, int vector) const {
    if constexpr (kBits == 2) {
      return _mm256_and_si256(one(at, vector), _mm256_set1_epi8(1));
    } else if constexpr (kBits == 3) {
      return _mm256_and_si256(two(at, vector), _mm256_set1_epi8(3));
    } else {
      static_assert(kBits == 4 || kBits == 8);
      const __m256i low = _mm256_and_si256(one(at, vector), _mm256_set1_epi8(1));
      const __m256i middle = _mm256_and_si256(two(at, vector), _mm256_set1_epi8(3));
      const __m256i three = _mm256_or_si256(low, _mm256_add_epi8(middle, middle));
      return kBits == 4 ? three : _mm256_or_si256(three, four(at, vector));
    }
  }

 private:
  [[nodiscard]] inline __m256i one(std::uint32_t at, int vector) const {
    return _mm256_srlv_epi32(repeat16(rest1_ + at), shifts1_[vector]);
  }
  [[nodiscard]] inline __m256i two(std::uint32_t at, int vector) const {
    return _mm256_srlv_epi32(repeat16(rest2_ + at), shifts2_[vector]);
  }
  // In bits 3 to 6.
  [[nodiscard]] inline __m256i four(std::uint32_t at, int vector) const {
    const __m256i bytes = repeat16(rest4_ + (vector == 0 ? 0 : groups_) + at);
    const __m256i high = _mm256_sllv_epi32(bytes, per_lane(4, 0));
    return _mm256_and_si256(_mm256_srli_epi16(high, 1), _mm256_set1_epi8(0x78));
  }

  std::uint32_t groups_;
  const std::uint8_t* rest4_;
  const std::uint8_t* rest2_;
  const std::uint8_t* rest1_;
  __m256i shifts2_[2];
  __m256i shifts1_[2];
};

template <std::uint32_t kBits>
[[nodiscard]] inline std::int64_t narrow_dot(const std::uint8_t* plane, std::uint32_t lane,
                                             const std::uint8_t* rest, const CodeQuery& query,
                                             const Levels& levels) {
  const Signs signs(lane);
  const __m256i biased = repeat16(levels.biased);
  const __m256i sizes =
      _mm256_sub_epi8(_mm256_add_epi8(biased, biased), _mm256_set1_epi8(127));  // 1..127
  const __m256i only = _mm256_shuffle_epi8(sizes, _mm256_setzero_si256());
  const std::uint32_t half_groups = query.groups / 2;
  const std::int8_t* values = query.values8;
  __m256i sum = _mm256_setzero_si256();
  for (std::uint32_t half = 0; half < 2; ++half) {
    const std::uint8_t* row_plane =
        plane + half * half_groups * kGroupBytes + lane % kGroupBytes;
    const Magnitudes<kBits == 1 ? 2 : kBits> magnitudes(rest, query.groups, half);
    const auto step = [&](std::uint32_t at, std::uint32_t groups) {
      const __m256i complemented = gather_signs(row_plane + at * kGroupBytes, groups);
      for (int v = 0; v < 2; ++v) {
        const __m256i size =
            kBits == 1 ? only : _mm256_shuffle_epi8(sizes, magnitudes.chunk(at, v));
        const __m256i value = _mm256_sign_epi8(load(values + 32 * v),
                                               signs.bytes(complemented, v));
        // Pairs of at most 2 * 127 * 127 fit 16 bits; sums of pairs would not.
        const __m256i pairs = _mm256_maddubs_epi16(size, value);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
      }
      values += kChunkValues;
    };
    std::uint32_t at = 0;
    for (; at + kChunkGroups <= half_groups; at += kChunkGroups) step(at, kChunkGroups);
    if (at < half_groups) step(at, half_groups - at);
  }
  __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

// The levels' bytes by magnitude index, as differences of 16-entry tables: an index less 16 k has
// its top bit set, and so looks up zero, exactly if it is below 16 k; the xor of the lookups in
// tables 0..index / 16 leaves the last of them.
class WideLevels {
 public:
  explicit WideLevels(const Levels& levels) {
    const __m128i split = _mm_set_epi8(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);
    __m128i last_low = _mm_setzero_si128();
    __m128i last_high = _mm_setzero_si128();
    for (int k = 0; k < 8; ++k) {
      const auto* words = reinterpret_cast<const __m128i*>(levels.wide + 16 * k);
      const __m128i a = _mm_shuffle_epi8(_mm_loadu_si128(words), split);
      const __m128i b = _mm_shuffle_epi8(_mm_loadu_si128(words + 1), split);
      const __m128i low = _mm_unpacklo_epi64(a, b);
      const __m128i high = _mm_unpackhi_epi64(a, b);
      low_[k] = _mm256_broadcastsi128_si256(_mm_xor_si128(low, last_low));
      high_[k] = _mm256_broadcastsi128_si256(_mm_xor_si128(high, last_high));
      last_low = low;
      last_high = high;
    }
  }

  struct Words {
    __m256i first;   // of each lane: groups 0..7
    __m256i second;  // groups 8..15
  };

  [[nodiscard]] inline Words words(__m256i index) const {
    __m256i low = _mm256_shuffle_epi8(low_[0], index);
    __m256i high = _mm256_shuffle_epi8(high_[0], index);
    for (int k = 1; k < 8; ++k) {
      index = _mm256_sub_epi8(index, _mm256_set1_epi8(16));
      low = _mm256_xor_si256(low, _mm256_shuffle_epi8(low_[k], index));
      high = _mm256_xor_si256(high, _mm256_shuffle_epi8(high_[k], index));
    }
    return {_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)};
  }

 private:
  __m256i low_[8];
  __m256i high_[8];
};

[[nodiscard]] inline __m256i widen_sum(__m256i sum) {
  return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum)),
                          _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum, 1)));
}

// Eight values of coordinate t and of t + 1.
[[nodiscard]] inline __m256i load_values(const std::int16_t* values) {
  const auto* first = reinterpret_cast<const __m128i*>(values);
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(first)),
                                 _mm_loadu_si128(first + 2), 1);
}

// Two steps a chunk of two products of at most 2047 * 8191: 32 chunks fit 32 bits.
constexpr std::uint32_t kSpanGroups = 32 * kChunkGroups;

[[nodiscard]] inline std::int64_t wide_dot(const std::uint8_t* plane, std::uint32_t lane,
                                           const std::uint8_t* rest, const CodeQuery& query,
                                           const Levels& levels) {
  const Signs signs(lane);
  const WideLevels wide(levels);
  const std::uint32_t half_groups = query.groups / 2;
  const std::int16_t* values = query.values16;
  __m256i total = _mm256_setzero_si256();
  for (std::uint32_t half = 0; half < 2; ++half) {
    const std::uint8_t* row_plane =
        plane + half * half_groups * kGroupBytes + lane % kGroupBytes;
    const Magnitudes<8> magnitudes(rest, query.groups, half);
    for (std::uint32_t span = 0; span < half_groups; span += kSpanGroups) {
      const std::uint32_t end =
          half_groups - span < kSpanGroups ? half_groups : span + kSpanGroups;
      __m256i first = _mm256_setzero_si256();
      __m256i second = _mm256_setzero_si256();
      for (std::uint32_t at = span; at < end; at += kChunkGroups) {
        const __m256i complemented = gather_signs(
            row_plane + at * kGroupBytes, end - at < kChunkGroups ? end - at : kChunkGroups);
        for (int v = 0; v < 2; ++v) {
          const WideLevels::Words words = wide.words(magnitudes.chunk(at, v));
          const __m256i sign = signs.bytes(complemented, v);
          const __m256i low = _mm256_sign_epi16(load_values(values + 32 * v),
                                                _mm256_unpacklo_epi8(sign, sign));
          const __m256i high = _mm256_sign_epi16(load_values(values + 32 * v + 8),
                                                 _mm256_unpackhi_epi8(sign, sign));
          first = _mm256_add_epi32(first, _mm256_madd_epi16(words.first, low));
          second = _mm256_add_epi32(second, _mm256_madd_epi16(words.second, high));
        }
        values += kChunkValues;
      }
      total = _mm256_add_epi64(total, _mm256_add_epi64(widen_sum(first), widen_sum(second)));
    }
  }
  const __m128i two =
      _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
  return _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
}

}  // namespace

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept {
  if constexpr (kBits == 8) {
    return wide_dot(plane, lane, rest, query, levels);
  } else {
    return narrow_dot<kBits>(plane, lane, rest, query, levels);
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

}  // namespace vicinal::simd::avx2
