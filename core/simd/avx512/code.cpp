#include "simd/avx512/code_parts.hpp"

namespace vicinal::simd::avx512 {
namespace {

// Gathers one row's sign bytes from its block's plane.
class SignGather {
 public:
  explicit SignGather(std::uint32_t lane) {
    const __m512i quarter = _mm512_set1_epi32(0x30201000);
    byte_ = _mm512_or_si512(quarter, _mm512_set1_epi8(static_cast<char>(lane % kGroupBytes)));
  }

  // Byte i of each lane: group i of the chunk at `plane`, i < groups. A vector holds four groups,
  // and the same permutation takes the row's byte of each to all its places; masks keep their
  // shares. Rejected: vpgatherdd and vpmovdb, a shuffle per vector and a joining permutation, and
  // permutations of two vectors; all slower.
  [[nodiscard]] inline __m512i whole_chunk(const std::uint8_t* plane) const {
    __m512i signs = _mm512_permutexvar_epi8(byte_, _mm512_loadu_si512(plane));
    signs = _mm512_mask_permutexvar_epi8(signs, kShare << 4, byte_, _mm512_loadu_si512(plane + 64));
    signs =
        _mm512_mask_permutexvar_epi8(signs, kShare << 8, byte_, _mm512_loadu_si512(plane + 128));
    return _mm512_mask_permutexvar_epi8(signs, kShare << 12, byte_,
                                        _mm512_loadu_si512(plane + 192));
  }

  // Reads no vector that holds no valid group: at most 48 bytes past the last of them.
  [[nodiscard]] inline __m512i part_chunk(const std::uint8_t* plane, std::uint32_t groups) const {
    __m512i signs = _mm512_setzero_si512();
    for (std::uint32_t at = 0; at < groups; at += 4) {
      signs = _mm512_mask_permutexvar_epi8(signs, kShare << at, byte_,
                                           _mm512_loadu_si512(plane + at * kGroupBytes));
    }
    return signs;
  }

 private:
  static constexpr __mmask64 kShare = 0x000f000f000f000fu;
  __m512i byte_;
};

// Signed level words of 64 coordinates from magnitude bytes and a mask of the negative ones.
class WideLevels {
 public:
  explicit WideLevels(const Levels& levels) {
    const __m512i even = _mm512_set_epi8(
        126, 124, 122, 120, 118, 116, 114, 112, 110, 108, 106, 104, 102, 100, 98, 96, 94, 92, 90,
        88, 86, 84, 82, 80, 78, 76, 74, 72, 70, 68, 66, 64, 62, 60, 58, 56, 54, 52, 50, 48, 46, 44,
        42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi8(1));
    const __m512i a = _mm512_loadu_si512(levels.wide);
    const __m512i b = _mm512_loadu_si512(levels.wide + 32);
    const __m512i c = _mm512_loadu_si512(levels.wide + 64);
    const __m512i d = _mm512_loadu_si512(levels.wide + 96);
    low_[0] = _mm512_permutex2var_epi8(a, even, b);
    low_[1] = _mm512_permutex2var_epi8(c, even, d);
    high_[0] = _mm512_permutex2var_epi8(a, odd, b);
    high_[1] = _mm512_permutex2var_epi8(c, odd, d);
  }

  struct Words {
    __m512i first;   // of each lane t: groups 0..7
    __m512i second;  // groups 8..15
  };

  [[nodiscard]] inline Words words(__m512i magnitude, __mmask64 negative) const {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i ones = _mm512_set1_epi8(-1);
    __m512i low = _mm512_permutex2var_epi8(low_[0], magnitude, low_[1]);
    __m512i high = _mm512_permutex2var_epi8(high_[0], magnitude, high_[1]);
    // Negated as bytes, where the mask fits: -x = ~x + 1, the carry reaches `high` if low is zero.
    const __mmask64 carry = _mm512_mask_testn_epi8_mask(negative, low, low);
    low = _mm512_mask_sub_epi8(low, negative, zero, low);
    high = _mm512_mask_sub_epi8(high, negative, ones, high);
    high = _mm512_mask_sub_epi8(high, carry, high, ones);
    return {_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high)};
  }

 private:
  __m512i low_[2];
  __m512i high_[2];
};

// `levels` biased, against values8.
template <std::uint32_t kBits>
[[nodiscard]] inline std::int64_t narrow_dot(const std::uint8_t* plane, std::uint32_t lane,
                                             const std::uint8_t* rest, const CodeQuery& query,
                                             const Levels& levels) {
  const SignGather gather(lane);
  const __m512i table = level_table<kBits>(levels);
  const __m512i rotate =
      rotation(static_cast<int>(kBits) - 1, lane < kGroupBytes ? 0 : 4, 1);
  const std::uint32_t half_groups = query.groups / 2;
  const std::int8_t* values = query.values8;
  __m512i sum = _mm512_setzero_si512();
  for (std::uint32_t half = 0; half < 2; ++half) {
    const Magnitudes<kBits> magnitudes(rest, query.groups, half);
    const std::uint8_t* half_plane = plane + half * half_groups * kGroupBytes;
    const auto step = [&](std::uint32_t at, __m512i signs) {
      const __m512i index =
          select(1 << (kBits - 1), _mm512_rolv_epi32(signs, rotate), magnitudes.chunk(at));
      sum = _mm512_dpbusd_epi32(sum, _mm512_permutexvar_epi8(index, table),
                                _mm512_loadu_si512(values));
      values += kChunkValues;
    };
    std::uint32_t at = 0;
    for (; at + kChunkGroups <= half_groups; at += kChunkGroups) {
      step(at, gather.whole_chunk(half_plane + at * kGroupBytes));
    }
    if (at < half_groups) {
      step(at, gather.part_chunk(half_plane + at * kGroupBytes, half_groups - at));
    }
  }
  return 2 * std::int64_t{_mm512_reduce_add_epi32(sum)} - 127 * query.value_sum;
}

[[nodiscard]] inline __m512i widen_sum(__m512i sum) {
  return _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum)),
                          _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum, 1)));
}

// Two products of at most 2047 * 8191 a step: 64 steps fit 32 bits.
constexpr std::uint32_t kSpanGroups = 64 * kChunkGroups;

[[nodiscard]] inline std::int64_t wide_dot(const std::uint8_t* plane, std::uint32_t lane,
                                           const std::uint8_t* rest, const CodeQuery& query,
                                           const Levels& levels) {
  const SignGather gather(lane);
  const WideLevels wide(levels);
  const __m512i sign_bits =
      _mm512_slli_epi32(per_lane(0x01010101, 0x02020202, 0x04040404, 0x08080808),
                        lane < kGroupBytes ? 0 : 4);
  const std::uint32_t half_groups = query.groups / 2;
  const std::int16_t* values = query.values16;
  __m512i total = _mm512_setzero_si512();
  for (std::uint32_t half = 0; half < 2; ++half) {
    const Magnitudes<8> magnitudes(rest, query.groups, half);
    const std::uint8_t* half_plane = plane + half * half_groups * kGroupBytes;
    for (std::uint32_t span = 0; span < half_groups; span += kSpanGroups) {
      const std::uint32_t end =
          half_groups - span < kSpanGroups ? half_groups : span + kSpanGroups;
      __m512i first = _mm512_setzero_si512();
      __m512i second = _mm512_setzero_si512();
      for (std::uint32_t at = span; at < end; at += kChunkGroups) {
        const std::uint8_t* chunk = half_plane + at * kGroupBytes;
        const __m512i signs = end - at >= kChunkGroups ? gather.whole_chunk(chunk)
                                                       : gather.part_chunk(chunk, end - at);
        const WideLevels::Words words =
            wide.words(magnitudes.chunk(at), _mm512_testn_epi8_mask(signs, sign_bits));
        const __m512i low = _mm512_loadu_si512(values);
        const __m512i high = _mm512_loadu_si512(values + 32);
        first = _mm512_dpwssd_epi32(first, words.first, _mm512_shuffle_i64x2(low, high, 0x88));
        second = _mm512_dpwssd_epi32(second, words.second, _mm512_shuffle_i64x2(low, high, 0xdd));
        values += kChunkValues;
      }
      total = _mm512_add_epi64(total, _mm512_add_epi64(widen_sum(first), widen_sum(second)));
    }
  }
  return _mm512_reduce_add_epi64(total);
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

}  // namespace vicinal::simd::avx512
