// What the NEON kernels of whole codes share: from a row's bytes to its coordinates' levels and
// their products.
//
// A chunk of 16 groups is one vector of each component; it gives its groups' 16 coordinates t, for
// one t after the other.
//
// Thread safety: pure functions.
#pragma once

#include <arm_neon.h>

#include "simd/neon/functions.hpp"

namespace vicinal::simd::neon {

// Shifts bytes so that bit kFrom comes to bit kTo; other bits are arbitrary.
template <int kFrom, int kTo>
[[nodiscard]] inline uint8x16_t move_bit(uint8x16_t x) {
  if constexpr (kFrom > kTo) return vshrq_n_u8(x, kFrom - kTo);
  if constexpr (kFrom < kTo) return vshlq_n_u8(x, kTo - kFrom);
  return x;
}

// The count that brings a nibble down, the low one or the high one: negative counts shift right.
[[nodiscard]] inline int8x16_t nibble_shift(bool high) { return vdupq_n_s8(high ? -4 : 0); }

// The components of a chunk: bits t (signs and one), 2t and 2t + 1 (two), and nibbles (four) of
// each byte.
struct Chunk {
  uint8x16_t signs;
  uint8x16_t one;
  uint8x16_t two;
  uint8x16_t four[2];
};

// Where one half's components begin.
template <std::uint32_t kBits>
class Rest {
 public:
  Rest(const std::uint8_t* rest, std::uint32_t groups, std::uint32_t half)
      : groups_(groups),
        four_(rest + half * (groups / 2)),
        two_(kBits == 8 ? four_ + 2 * groups : four_),
        one_(kBits == 8 ? rest + 3 * groups : kBits == 4 ? rest + groups : rest),
        one_shift_(nibble_shift(half == 1)) {}

  // The chunk at group `at` of the half, with these signs.
  [[nodiscard]] inline Chunk load(std::uint32_t at, uint8x16_t signs) const {
    Chunk chunk = {};
    chunk.signs = signs;
    if constexpr (kBits == 2 || kBits == 4 || kBits == 8) {
      chunk.one = vshlq_u8(vld1q_u8(one_ + at), one_shift_);
    }
    if constexpr (kBits == 3 || kBits == 4 || kBits == 8) chunk.two = vld1q_u8(two_ + at);
    if constexpr (kBits == 8) {
      chunk.four[0] = vld1q_u8(four_ + at);
      chunk.four[1] = vld1q_u8(four_ + groups_ + at);
    }
    return chunk;
  }

 private:
  std::uint32_t groups_;
  const std::uint8_t* four_;
  const std::uint8_t* two_;
  const std::uint8_t* one_;
  int8x16_t one_shift_;
};

// sign << (kBits - 1) | magnitude index, kBits <= 4. Selecting bits takes one instruction where
// masking and joining takes two.
template <std::uint32_t kBits, int kT>
[[nodiscard]] inline uint8x16_t narrow_code(const Chunk& chunk) {
  constexpr int kSign = static_cast<int>(kBits) - 1;
  uint8x16_t code = move_bit<kT, kSign>(chunk.signs);
  if constexpr (kBits == 2) {
    code = vbslq_u8(vdupq_n_u8(1), move_bit<kT, 0>(chunk.one), code);
  } else if constexpr (kBits == 3) {
    code = vbslq_u8(vdupq_n_u8(3), move_bit<2 * kT, 0>(chunk.two), code);
  } else if constexpr (kBits == 4) {
    code = vbslq_u8(vdupq_n_u8(1), move_bit<kT, 0>(chunk.one), code);
    code = vbslq_u8(vdupq_n_u8(6), move_bit<2 * kT, 1>(chunk.two), code);
  }
  return vandq_u8(code, vdupq_n_u8((1 << kBits) - 1));
}

// Signed levels by sign << (kBits - 1) | magnitude.
template <std::uint32_t kBits>
[[nodiscard]] inline int8x16_t signed_levels(const Levels& levels) {
  constexpr std::uint32_t kHalf = 1u << (kBits - 1);
  alignas(16) std::int8_t table[16] = {};
  for (std::uint32_t m = 0; m < kHalf; ++m) {
    table[kHalf + m] = static_cast<std::int8_t>(2 * levels.biased[m] - 127);
    table[m] = static_cast<std::int8_t>(-table[kHalf + m]);
  }
  return vld1q_s8(table);
}

// The 128 levels of 8 bits, their low and their high bytes apart: 64 fill one table.
class WideLevels {
 public:
  explicit WideLevels(const Levels& levels) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(levels.wide);
    for (std::uint32_t i = 0; i < 8; ++i) {
      const uint8x16x2_t pair = vld2q_u8(bytes + 32 * i);
      low_[i / 4].val[i % 4] = pair.val[0];
      high_[i / 4].val[i % 4] = pair.val[1];
    }
  }

  // The levels of 16 magnitude indices. Lookups beyond the first table give zero, and beyond the
  // second, where small indices wrap to, leave what the first one gave.
  [[nodiscard]] inline int16x8x2_t look_up(uint8x16_t index) const {
    const uint8x16_t beyond = vsubq_u8(index, vdupq_n_u8(64));
    const uint8x16_t low = vqtbx4q_u8(vqtbl4q_u8(low_[0], index), low_[1], beyond);
    const uint8x16_t high = vqtbx4q_u8(vqtbl4q_u8(high_[0], index), high_[1], beyond);
    return {{vreinterpretq_s16_u8(vzip1q_u8(low, high)),
             vreinterpretq_s16_u8(vzip2q_u8(low, high))}};
  }

 private:
  uint8x16x4_t low_[2];
  uint8x16x4_t high_[2];
};

[[nodiscard]] inline int16x8_t negate_where(int16x8_t mask, int16x8_t x) {
  return vsubq_s16(veorq_s16(x, mask), mask);
}

// Adds the products of 16 coordinates, each at most 2047 * 8191: two to each lane of each sum.
template <int kT>
inline void wide_step(int32x4_t (&sums)[2], const Chunk& chunk, const WideLevels& levels,
                      const std::int16_t* values) {
  uint8x16_t index = move_bit<kT, 0>(chunk.one);
  index = vbslq_u8(vdupq_n_u8(6), move_bit<2 * kT, 1>(chunk.two), index);
  index = vbslq_u8(vdupq_n_u8(15 << 3), move_bit<4 * (kT % 2), 3>(chunk.four[kT / 2]), index);
  const int16x8x2_t level = levels.look_up(vandq_u8(index, vdupq_n_u8(127)));
  const uint8x16_t negative = vceqzq_u8(vandq_u8(chunk.signs, vdupq_n_u8(1 << kT)));
  const int16x8_t first =
      negate_where(vreinterpretq_s16_u8(vzip1q_u8(negative, negative)), level.val[0]);
  const int16x8_t second =
      negate_where(vreinterpretq_s16_u8(vzip2q_u8(negative, negative)), level.val[1]);
  const int16x8_t first_value = vld1q_s16(values + 16 * kT);
  const int16x8_t second_value = vld1q_s16(values + 16 * kT + 8);
  sums[0] = vmlal_s16(sums[0], vget_low_s16(first), vget_low_s16(first_value));
  sums[1] = vmlal_high_s16(sums[1], first, first_value);
  sums[0] = vmlal_s16(sums[0], vget_low_s16(second), vget_low_s16(second_value));
  sums[1] = vmlal_high_s16(sums[1], second, second_value);
}

// A run of chunks of one half whose sum stays in 32 bits: 8 bits add eight products a chunk to a
// lane, and 128 of at most 2047 * 8191 fit; up to 4 bits every run does.
inline constexpr std::uint32_t kSpanChunks = 16;
static_assert(8LL * kSpanChunks * 2047 * 8191 < 1LL << 31);

// Levels as a kernel holds them, and the sum of a span with them.
template <std::uint32_t kBits>
class Dot {
 public:
  explicit Dot(const Levels& levels) : levels_(signed_levels<kBits>(levels)) {}

  [[nodiscard]] static const std::int8_t* values(const CodeQuery& query) { return query.values8; }

  inline void add(const Chunk& chunk, const std::int8_t* values) {
    step<0>(chunk, values);
    step<1>(chunk, values);
    step<2>(chunk, values);
    step<3>(chunk, values);
  }

  // The sum of what was added since it was last taken.
  [[nodiscard]] inline std::int64_t take() {
    const std::int32_t sum = vaddvq_s32(vaddq_s32(sums_[0], sums_[1]));
    sums_[0] = sums_[1] = vdupq_n_s32(0);
    return sum;
  }

 private:
  template <int kT>
  inline void step(const Chunk& chunk, const std::int8_t* values) {
    const int8x16_t level = vqtbl1q_s8(levels_, narrow_code<kBits, kT>(chunk));
    sums_[kT % 2] = vdotq_s32(sums_[kT % 2], level, vld1q_s8(values + 16 * kT));
  }

  int8x16_t levels_;
  int32x4_t sums_[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
};

template <>
class Dot<8> {
 public:
  explicit Dot(const Levels& levels) : levels_(levels) {}

  [[nodiscard]] static const std::int16_t* values(const CodeQuery& query) {
    return query.values16;
  }

  inline void add(const Chunk& chunk, const std::int16_t* values) {
    wide_step<0>(sums_, chunk, levels_, values);
    wide_step<1>(sums_, chunk, levels_, values);
    wide_step<2>(sums_, chunk, levels_, values);
    wide_step<3>(sums_, chunk, levels_, values);
  }

  [[nodiscard]] inline std::int64_t take() {
    const std::int64_t sum = vaddlvq_s32(sums_[0]) + vaddlvq_s32(sums_[1]);
    sums_[0] = sums_[1] = vdupq_n_s32(0);
    return sum;
  }

 private:
  WideLevels levels_;
  int32x4_t sums_[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
};

}  // namespace vicinal::simd::neon
