#include "simd/neon/code_parts.hpp"

namespace vicinal::simd::neon {
namespace {

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

}  // namespace

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept {
  Dot<kBits> dot(levels);
  const auto* values = Dot<kBits>::values(query);
  const std::uint32_t half_groups = query.groups / 2;
  const int8x16_t sign_shift = nibble_shift(lane >= kGroupBytes);
  const std::uint8_t* row_plane = plane + lane % kGroupBytes;
  std::int64_t sum = 0;
  for (std::uint32_t half = 0; half < 2; ++half) {
    const Rest<kBits> half_rest(rest, query.groups, half);
    const std::uint8_t* half_plane = row_plane + half * half_groups * kGroupBytes;
    for (std::uint32_t at = 0; at < half_groups;) {
      const std::uint32_t left = half_groups - at;
      const std::uint32_t end =
          left < kSpanChunks * kChunkGroups ? half_groups : at + kSpanChunks * kChunkGroups;
      for (; at < end; at += kChunkGroups) {
        const uint8x16_t signs = gather_signs(half_plane + at * kGroupBytes, half_groups - at);
        dot.add(half_rest.load(at, vshlq_u8(signs, sign_shift)), values);
        values += kChunkValues;
      }
      sum += dot.take();
    }
  }
  return sum;
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
