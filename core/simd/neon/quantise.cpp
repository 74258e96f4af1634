#include <arm_neon.h>

#include "simd/neon/functions.hpp"

namespace vicinal::simd::neon {
namespace {

// Up to 4 bits: compares with every threshold; the levels of eight magnitudes are one vector.
class FewLevels {
 public:
  explicit FewLevels(const Levels& levels)
      : thresholds_(levels.thresholds),
        count_((1u << (levels.bits - 1)) - 1),
        biased_(vld1q_u8(levels.biased)) {}

  [[nodiscard]] inline uint32x4_t index(float32x4_t value) const {
    uint32x4_t index = vdupq_n_u32(0);
    for (std::uint32_t m = 0; m < count_; ++m) {
      index = vsubq_u32(index, vcltq_f32(vld1q_dup_f32(thresholds_ + m), value));
    }
    return index;
  }

  [[nodiscard]] inline float32x4_t size(uint32x4_t index) const {
    // The upper three bytes of an index are zero and look up the first level.
    const uint32x4_t biased = vandq_u32(
        vreinterpretq_u32_u8(vqtbl1q_u8(biased_, vreinterpretq_u8_u32(index))), vdupq_n_u32(255));
    return vcvtq_f32_s32(
        vsubq_s32(vreinterpretq_s32_u32(vaddq_u32(biased, biased)), vdupq_n_s32(127)));
  }

 private:
  const float* thresholds_;
  std::uint32_t count_;
  uint8x16_t biased_;
};

// 8 bits: bisection, one coordinate at a time: there is no gather.
class ManyLevels {
 public:
  explicit ManyLevels(const Levels& levels) : levels_(&levels) {}

  [[nodiscard]] inline uint32x4_t index(float32x4_t value) const {
    alignas(16) const std::uint32_t index[4] = {
        bisect(vgetq_lane_f32(value, 0)), bisect(vgetq_lane_f32(value, 1)),
        bisect(vgetq_lane_f32(value, 2)), bisect(vgetq_lane_f32(value, 3))};
    return vld1q_u32(index);
  }

  [[nodiscard]] inline float32x4_t size(uint32x4_t index) const {
    const std::int16_t* wide = levels_->wide;
    int16x4_t words = vld1_dup_s16(wide + vgetq_lane_u32(index, 0));
    words = vld1_lane_s16(wide + vgetq_lane_u32(index, 1), words, 1);
    words = vld1_lane_s16(wide + vgetq_lane_u32(index, 2), words, 2);
    words = vld1_lane_s16(wide + vgetq_lane_u32(index, 3), words, 3);
    return vcvtq_f32_s32(vmovl_s16(words));
  }

 private:
  [[nodiscard]] inline std::uint32_t bisect(float value) const {
    std::uint32_t index = 0;
    for (std::uint32_t step = 64; step > 0; step /= 2) {
      index += levels_->thresholds[index + step - 1] < value ? step : 0;
    }
    return index;
  }

  const Levels* levels_;
};

struct Sums {
  float32x4_t absolute[4];
  float32x4_t level[4];
  float32x4_t square[4];
};

// Four coordinates into lanes 4 * quarter and on; their codes.
template <class Search>
[[nodiscard]] inline uint16x4_t quantise_four(const Search& search, float32x4_t x, uint32x4_t sign,
                                              std::uint32_t quarter, Sums& sums) {
  const float32x4_t value = vabsq_f32(x);
  const uint32x4_t index = search.index(value);
  const uint32x4_t negative = vcltzq_f32(x);
  const uint32x4_t sign_bit = vshlq_n_u32(negative, 31);
  const float32x4_t size = search.size(index);
  const float32x4_t level =
      vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(size), sign_bit));
  sums.absolute[quarter] = vaddq_f32(sums.absolute[quarter], value);
  sums.level[quarter] = vaddq_f32(sums.level[quarter], vmulq_f32(x, level));
  sums.square[quarter] = vaddq_f32(sums.square[quarter], vmulq_f32(size, size));
  return vmovn_u32(vorrq_u32(index, vbicq_u32(sign, negative)));
}

[[nodiscard]] inline float reduce(const float32x4_t (&lanes)[4]) {
  const float32x4_t four =
      vaddq_f32(vaddq_f32(lanes[0], lanes[2]), vaddq_f32(lanes[1], lanes[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

template <class Search>
[[nodiscard]] QuantiseSums quantise_with(const Search& search, const float* u,
                                         std::uint32_t coded_dim, std::uint32_t bits,
                                         std::uint8_t* codes) {
  const uint32x4_t sign = vdupq_n_u32(1u << (bits - 1));
  const float32x4_t zero = vdupq_n_f32(0.0f);
  Sums sums = {{zero, zero, zero, zero}, {zero, zero, zero, zero}, {zero, zero, zero, zero}};
  const auto eight = [&](std::uint32_t at, std::uint32_t quarter) {
    const uint16x4_t a = quantise_four(search, vld1q_f32(u + at), sign, quarter, sums);
    const uint16x4_t b = quantise_four(search, vld1q_f32(u + at + 4), sign, quarter + 1, sums);
    vst1_u8(codes + at, vmovn_u16(vcombine_u16(a, b)));
  };
  std::uint32_t j = 0;
  for (; j + 16 <= coded_dim; j += 16) {
    eight(j, 0);
    eight(j + 8, 2);
  }
  if (j < coded_dim) eight(j, 0);
  return {reduce(sums.absolute), reduce(sums.level), reduce(sums.square)};
}

}  // namespace

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept {
  if (levels.bits == 8) return quantise_with(ManyLevels(levels), u, coded_dim, 8, codes);
  return quantise_with(FewLevels(levels), u, coded_dim, levels.bits, codes);
}

}  // namespace vicinal::simd::neon
