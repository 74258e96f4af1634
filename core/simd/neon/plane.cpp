#include <arm_neon.h>

#include "simd/neon/functions.hpp"

namespace vicinal::simd::neon {
namespace {

constexpr std::uint32_t kHalfRows = kBlockRows / 2;
// Sums of 63 stay below 65,536 for 1,040 groups; 1,024 is a whole number of steps of four.
constexpr std::uint32_t kSpanGroups = 1024;

// Four groups' signs as indices of lookups, the same for every query.
struct Indices {
  explicit Indices(const std::uint8_t* plane) {
    for (std::uint32_t step = 0; step < 4; ++step) {
      const uint8x16_t signs = vld1q_u8(plane + step * kGroupBytes);
      low[step] = vandq_u8(signs, vdupq_n_u8(15));
      high[step] = vshrq_n_u8(signs, 4);
    }
  }

  uint8x16_t low[4];   // rows 0..15
  uint8x16_t high[4];  // rows 16..31
};

// u16 sums of 16 rows, in order.
struct Words {
  uint16x8_t first = vdupq_n_u16(0);
  uint16x8_t second = vdupq_n_u16(0);

  inline void add(uint8x16_t bytes) {
    first = vaddw_u8(first, vget_low_u8(bytes));
    second = vaddw_high_u8(second, bytes);
  }
};

// The sums of a span of groups for one query: rows 0..15 in `low`, 16..31 in `high`.
struct SpanSums {
  Words low;
  Words high;

  // Four lookups fit a byte.
  inline void add(const Indices& indices, const std::uint8_t* tables) {
    const uint8x16_t first = vld1q_u8(tables);
    uint8x16_t low_sum = vqtbl1q_u8(first, indices.low[0]);
    uint8x16_t high_sum = vqtbl1q_u8(first, indices.high[0]);
    for (std::uint32_t step = 1; step < 4; ++step) {
      const uint8x16_t table = vld1q_u8(tables + step * kGroupBytes);
      low_sum = vaddq_u8(low_sum, vqtbl1q_u8(table, indices.low[step]));
      high_sum = vaddq_u8(high_sum, vqtbl1q_u8(table, indices.high[step]));
    }
    low.add(low_sum);
    high.add(high_sum);
  }
};

// Adds 16 rows' sums in order.
inline void add_words(const Words& words, uint32x4_t* sums) {
  sums[0] = vaddw_u16(sums[0], vget_low_u16(words.first));
  sums[1] = vaddw_high_u16(sums[1], words.first);
  sums[2] = vaddw_u16(sums[2], vget_low_u16(words.second));
  sums[3] = vaddw_high_u16(sums[3], words.second);
}

// Rows 4i .. 4i + 3 in rows[i].
struct Sums {
  uint32x4_t rows[kBlockRows / 4];
};

// A block's sums for several queries. Four queries' words, one step's indices and what a lookup
// needs just fit the 32 registers.
template <std::uint32_t kQueries>
inline void sum_groups(const std::uint8_t* plane, const PlaneScan* scans,
                       Sums (&sums)[kQueries]) {
  for (Sums& own : sums) {
    for (uint32x4_t& four : own.rows) four = vdupq_n_u32(0);
  }
  const std::uint32_t groups = scans[0].query->groups;
  for (std::uint32_t done = 0; done < groups; done += kSpanGroups) {
    const std::uint32_t end = groups - done < kSpanGroups ? groups : done + kSpanGroups;
    const std::uint8_t* tables[kQueries];
    SpanSums spans[kQueries];
    for (std::uint32_t q = 0; q < kQueries; ++q) tables[q] = scans[q].query->tables;
    // Padded to a multiple of four groups by zero tables.
    for (std::uint32_t group = done; group < end; group += 4) {
      const Indices indices(plane + group * kGroupBytes);
      for (std::uint32_t q = 0; q < kQueries; ++q) {
        spans[q].add(indices, tables[q] + group * kGroupBytes);
      }
    }
    for (std::uint32_t q = 0; q < kQueries; ++q) {
      add_words(spans[q].low, sums[q].rows);
      add_words(spans[q].high, sums[q].rows + 4);
    }
  }
}

// bound.hpp's upper_bound, in its order of operations. A copy of the query's numbers, since stores
// of bounds could change those in memory for all that the compiler knows.
class Bound {
 public:
  explicit Bound(const PlaneScan& scan)
      : query_(*scan.query), threshold_(vdupq_n_f32(scan.threshold)) {}

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
  PlaneQuery query_;
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
[[nodiscard]] inline std::uint32_t bound_rows(const Bound& bound, const uint32x4_t* sums,
                                              const float* plane_scale,
                                              const float* plane_cosine2, float* upper) {
  uint32x4_t below[4];
  for (std::uint32_t i = 0; i < 4; ++i) {
    below[i] = bound.below(sums[i], plane_scale + 4 * i, plane_cosine2 + 4 * i, upper + 4 * i);
  }
  return row_mask(below);
}

inline void bound_block(const PlaneBlocks& blocks, std::uint32_t block, const Sums& sums,
                        const PlaneScan& scan) {
  const Bound bound(scan);
  const float* scale = blocks.plane_scales + block * kBlockRows;
  const float* cosine2 = blocks.plane_cosines2 + block * kBlockRows;
  float* upper = scan.upper + block * kBlockRows;
  const std::uint32_t low = bound_rows(bound, sums.rows, scale, cosine2, upper);
  const std::uint32_t high = bound_rows(bound, sums.rows + 4, scale + kHalfRows,
                                        cosine2 + kHalfRows, upper + kHalfRows);
  scan.reached[block] = ~(low | high << kHalfRows) & blocks.lanes[block];
}

template <std::uint32_t kQueries>
void scan_blocks(const PlaneBlocks& blocks, const PlaneScan* scans) {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    Sums sums[kQueries];
    sum_groups<kQueries>(blocks.planes + block * blocks.plane_bytes, scans, sums);
    for (std::uint32_t q = 0; q < kQueries; ++q) bound_block(blocks, block, sums[q], scans[q]);
  }
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  static_assert(kScanQueries == 4);
  switch (queries) {
    case 1: return scan_blocks<1>(blocks, scans);
    case 2: return scan_blocks<2>(blocks, scans);
    case 3: return scan_blocks<3>(blocks, scans);
    default: return scan_blocks<4>(blocks, scans);
  }
}

}  // namespace vicinal::simd::neon
