#include <arm_neon.h>

#include "simd/neon/functions.hpp"

namespace vicinal::simd::neon {
namespace {

constexpr std::uint32_t kHalfRows = kBlockRows / 2;
// Sums of 63 stay below 65,536 for 1,040 groups; 1,024 is a whole number of steps of four.
constexpr std::uint32_t kSpanGroups = 1024;

// Bytes of four lookups at most: rows 0..15 in `low`, 16..31 in `high`.
struct Lookups {
  uint8x16_t low;
  uint8x16_t high;
};

[[nodiscard]] inline Lookups look_up(const std::uint8_t* plane, const std::uint8_t* tables) {
  const uint8x16_t signs = vld1q_u8(plane);
  const uint8x16_t table = vld1q_u8(tables);
  return {vqtbl1q_u8(table, vandq_u8(signs, vdupq_n_u8(15))),
          vqtbl1q_u8(table, vshrq_n_u8(signs, 4))};
}

// u16 sums of 16 rows, in order.
struct Words {
  uint16x8_t first = vdupq_n_u16(0);
  uint16x8_t second = vdupq_n_u16(0);

  inline void add(uint8x16_t bytes) {
    first = vaddw_u8(first, vget_low_u8(bytes));
    second = vaddw_high_u8(second, bytes);
  }
};

// Adds 16 rows' sums in order.
inline void add_words(const Words& words, uint32x4_t (&sums)[4]) {
  sums[0] = vaddw_u16(sums[0], vget_low_u16(words.first));
  sums[1] = vaddw_high_u16(sums[1], words.first);
  sums[2] = vaddw_u16(sums[2], vget_low_u16(words.second));
  sums[3] = vaddw_high_u16(sums[3], words.second);
}

// Rows 4i .. 4i + 3 in low[i], 16 + 4i .. 19 + 4i in high[i].
struct Sums {
  uint32x4_t low[4];
  uint32x4_t high[4];
};

[[nodiscard]] inline Sums sum_groups(const std::uint8_t* plane, const PlaneQuery& query) {
  const uint32x4_t zero = vdupq_n_u32(0);
  Sums sums = {{zero, zero, zero, zero}, {zero, zero, zero, zero}};
  const std::uint8_t* tables = query.tables;
  for (std::uint32_t done = 0; done < query.groups; done += kSpanGroups) {
    const std::uint32_t left = query.groups - done;
    const std::uint8_t* const end =
        plane + (left < kSpanGroups ? left : kSpanGroups) * kGroupBytes;
    Words low;
    Words high;
    // Padded to a multiple of four groups by zero tables.
    do {
      Lookups four = look_up(plane, tables);
      for (std::uint32_t step = 1; step < 4; ++step) {
        const Lookups next = look_up(plane + step * kGroupBytes, tables + step * kGroupBytes);
        four.low = vaddq_u8(four.low, next.low);
        four.high = vaddq_u8(four.high, next.high);
      }
      low.add(four.low);
      high.add(four.high);
      plane += 4 * kGroupBytes;
      tables += 4 * kGroupBytes;
    } while (plane < end);
    add_words(low, sums.low);
    add_words(high, sums.high);
  }
  return sums;
}

// bound.hpp's upper_bound, in its order of operations.
class Bound {
 public:
  explicit Bound(const PlaneQuery& query, float threshold)
      : query_(query), threshold_(vdupq_n_f32(threshold)) {}

  // Four rows' bounds into upper[4]; all ones where the bound is below the threshold.
  [[nodiscard]] inline uint32x4_t below(uint32x4_t sum, const float* plane_scale,
                                        const float* plane_cosine2, float* upper) const {
    const float32x4_t scale = vld1q_f32(plane_scale);
    const float32x4_t cosine2 = vld1q_f32(plane_cosine2);
    const float32x4_t product = vmulq_n_f32(vcvtq_f32_u32(sum), query_.step);
    const float32x4_t reach = vmulq_f32(
        scale, vaddq_f32(vaddq_f32(product, vdupq_n_f32(query_.base)),
                         vmulq_n_f32(cosine2, query_.slope)));
    float32x4_t bound = vmulq_n_f32(reach, query_.weight);
    if (query_.l2) {
      const float32x4_t length2 =
          vmulq_f32(vmulq_f32(scale, scale), vmulq_n_f32(cosine2, query_.coded_dim));
      bound = vsubq_f32(vsubq_f32(bound, length2), vdupq_n_f32(query_.query2));
    }
    vst1q_f32(upper, bound);
    return vcltq_f32(bound, threshold_);
  }

 private:
  const PlaneQuery& query_;
  float32x4_t threshold_;
};

// Bit i of the result: whether row i of 16 is all ones.
[[nodiscard]] inline std::uint32_t row_mask(const uint32x4_t (&rows)[4]) {
  alignas(16) static constexpr std::uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                         1, 2, 4, 8, 16, 32, 64, 128};
  const uint16x8_t first = vcombine_u16(vmovn_u32(rows[0]), vmovn_u32(rows[1]));
  const uint16x8_t second = vcombine_u16(vmovn_u32(rows[2]), vmovn_u32(rows[3]));
  const uint8x16_t bits =
      vandq_u8(vcombine_u8(vmovn_u16(first), vmovn_u16(second)), vld1q_u8(kBits));
  return vaddv_u8(vget_low_u8(bits)) |
         static_cast<std::uint32_t>(vaddv_u8(vget_high_u8(bits))) << 8;
}

// The mask of 16 rows that are below the threshold.
[[nodiscard]] inline std::uint32_t bound_rows(const Bound& bound, const uint32x4_t (&sums)[4],
                                              const float* plane_scale,
                                              const float* plane_cosine2, float* upper) {
  uint32x4_t below[4];
  for (std::uint32_t i = 0; i < 4; ++i) {
    below[i] = bound.below(sums[i], plane_scale + 4 * i, plane_cosine2 + 4 * i, upper + 4 * i);
  }
  return row_mask(below);
}

void scan_block(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan& scan) {
  const Sums sums = sum_groups(blocks.planes + block * blocks.plane_bytes, *scan.query);
  const Bound bound(*scan.query, scan.threshold);
  const float* scale = blocks.plane_scales + block * kBlockRows;
  const float* cosine2 = blocks.plane_cosines2 + block * kBlockRows;
  float* upper = scan.upper + block * kBlockRows;
  const std::uint32_t low = bound_rows(bound, sums.low, scale, cosine2, upper);
  const std::uint32_t high = bound_rows(bound, sums.high, scale + kHalfRows, cosine2 + kHalfRows,
                                        upper + kHalfRows);
  scan.reached[block] = ~(low | high << kHalfRows) & blocks.lanes[block];
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    for (std::uint32_t q = 0; q < queries; ++q) scan_block(blocks, block, scans[q]);
  }
}

}  // namespace vicinal::simd::neon
