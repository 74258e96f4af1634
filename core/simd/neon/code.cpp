#include <arm_neon.h>

#include "simd/neon/functions.hpp"

// A chunk of 16 groups is one vector of each component; it gives its groups' 16 coordinates t, for
// one t after the other.
namespace vicinal::simd::neon {
namespace {

// Shifts bytes so that bit kFrom comes to bit kTo; other bits are arbitrary.
template <int kFrom, int kTo>
[[nodiscard]] inline uint8x16_t move_bit(uint8x16_t x) {
  if constexpr (kFrom > kTo) return vshrq_n_u8(x, kFrom - kTo);
  if constexpr (kFrom < kTo) return vshlq_n_u8(x, kTo - kFrom);
  return x;
}

// The row's bytes of groups kTo .. kTo + 3, into those lanes. A load of one byte reads nothing of
// other rows, whose bytes may be in the writer's hands.
template <int kTo>
[[nodiscard]] inline uint8x16_t gather_four(const std::uint8_t* row_plane, uint8x16_t into) {
  into = vld1q_lane_u8(row_plane, into, kTo);
  into = vld1q_lane_u8(row_plane + kGroupBytes, into, kTo + 1);
  into = vld1q_lane_u8(row_plane + 2 * kGroupBytes, into, kTo + 2);
  return vld1q_lane_u8(row_plane + 3 * kGroupBytes, into, kTo + 3);
}

// The row's bytes of a chunk. Fours without a valid group are left zero; the last valid one ends at
// most 48 bytes past its group. Two chains of insertions, since each waits for the one before.
[[nodiscard]] inline uint8x16_t gather_signs(const std::uint8_t* row_plane, std::uint32_t groups) {
  uint8x16_t low = gather_four<0>(row_plane, vdupq_n_u8(0));
  uint8x16_t high = vdupq_n_u8(0);
  if (groups > 4) low = gather_four<4>(row_plane + 4 * kGroupBytes, low);
  if (groups > 8) high = gather_four<8>(row_plane + 8 * kGroupBytes, high);
  if (groups > 12) high = gather_four<12>(row_plane + 12 * kGroupBytes, high);
  return vorrq_u8(low, high);
}

// The components of a chunk: bits t (one), 2t and 2t + 1 (two), and nibbles (four) of each byte.
struct Chunk {
  uint8x16_t signs;
  uint8x16_t one;
  uint8x16_t two;
  uint8x16_t four[2];
};

// One half of a row: where its signs and components begin.
template <std::uint32_t kBits>
class HalfRow {
 public:
  HalfRow(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
          std::uint32_t groups, std::uint32_t half)
      : half_groups_(groups / 2),
        groups_(groups),
        signs_(plane + half * half_groups_ * kGroupBytes + lane % kGroupBytes),
        four_(rest + half * half_groups_),
        two_(kBits == 8 ? four_ + 2 * groups : four_),
        one_(kBits == 8 ? rest + 3 * groups : kBits == 4 ? rest + groups : rest),
        // A negative count shifts to the right.
        sign_shift_(vdupq_n_s8(lane < kGroupBytes ? 0 : -4)),
        one_shift_(vdupq_n_s8(half == 0 ? 0 : -4)) {}

  // The chunk at group `at` of the half.
  [[nodiscard]] inline Chunk load(std::uint32_t at) const {
    Chunk chunk = {};
    chunk.signs =
        vshlq_u8(gather_signs(signs_ + at * kGroupBytes, half_groups_ - at), sign_shift_);
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
  std::uint32_t half_groups_;
  std::uint32_t groups_;
  const std::uint8_t* signs_;
  const std::uint8_t* four_;
  const std::uint8_t* two_;
  const std::uint8_t* one_;
  int8x16_t sign_shift_;
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

// Adds the products of 16 coordinates: all 16,384 of at most 127 * 127 fit 32 bits.
template <std::uint32_t kBits, int kT>
[[nodiscard]] inline int32x4_t narrow_step(int32x4_t sum, const Chunk& chunk, int8x16_t levels,
                                           const std::int8_t* values) {
  const int8x16_t level = vqtbl1q_s8(levels, narrow_code<kBits, kT>(chunk));
  return vdotq_s32(sum, level, vld1q_s8(values + 16 * kT));
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

template <std::uint32_t kBits>
[[nodiscard]] std::int64_t narrow_dot(const std::uint8_t* plane, std::uint32_t lane,
                                      const std::uint8_t* rest, const CodeQuery& query,
                                      const Levels& levels) {
  const int8x16_t table = signed_levels<kBits>(levels);
  int32x4_t even = vdupq_n_s32(0);
  int32x4_t odd = vdupq_n_s32(0);
  const std::int8_t* values = query.values8;
  for (std::uint32_t half = 0; half < 2; ++half) {
    const HalfRow<kBits> row(plane, lane, rest, query.groups, half);
    for (std::uint32_t at = 0; at < query.groups / 2; at += kChunkGroups) {
      const Chunk chunk = row.load(at);
      even = narrow_step<kBits, 0>(even, chunk, table, values);
      odd = narrow_step<kBits, 1>(odd, chunk, table, values);
      even = narrow_step<kBits, 2>(even, chunk, table, values);
      odd = narrow_step<kBits, 3>(odd, chunk, table, values);
      values += kChunkValues;
    }
  }
  return vaddvq_s32(vaddq_s32(even, odd));
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

// Sixteen chunks add 128 products to a lane, which 32 bits just hold.
constexpr std::uint32_t kSpanGroups = 16 * kChunkGroups;
static_assert(128LL * 2047 * 8191 < 1LL << 31);

[[nodiscard]] std::int64_t wide_span(const HalfRow<8>& row, std::uint32_t at, std::uint32_t end,
                                     const WideLevels& levels, const std::int16_t* values) {
  int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
  for (; at < end; at += kChunkGroups) {
    const Chunk chunk = row.load(at);
    wide_step<0>(sums, chunk, levels, values);
    wide_step<1>(sums, chunk, levels, values);
    wide_step<2>(sums, chunk, levels, values);
    wide_step<3>(sums, chunk, levels, values);
    values += kChunkValues;
  }
  return vaddlvq_s32(sums[0]) + vaddlvq_s32(sums[1]);
}

[[nodiscard]] std::int64_t wide_dot(const std::uint8_t* plane, std::uint32_t lane,
                                    const std::uint8_t* rest, const CodeQuery& query,
                                    const Levels& levels) {
  const WideLevels wide(levels);
  const std::uint32_t half_groups = query.groups / 2;
  std::int64_t sum = 0;
  for (std::uint32_t half = 0; half < 2; ++half) {
    const HalfRow<8> row(plane, lane, rest, query.groups, half);
    const std::int16_t* values = query.values16 + half * query.half_chunks * kChunkValues;
    for (std::uint32_t at = 0; at < half_groups; at += kSpanGroups) {
      const std::uint32_t end = half_groups - at < kSpanGroups ? half_groups : at + kSpanGroups;
      sum += wide_span(row, at, end, wide, values + at * kGroupCoordinates);
    }
  }
  return sum;
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

}  // namespace vicinal::simd::neon
