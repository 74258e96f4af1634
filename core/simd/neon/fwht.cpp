#include <arm_neon.h>

#include "simd/neon/functions.hpp"

namespace vicinal::simd::neon {
namespace {

// The first pair of each.
[[nodiscard]] inline float32x4_t low_pairs(float32x4_t a, float32x4_t b) {
  return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}

// Distances 1 and 2, inside a vector: first partners get the sum, second ones the difference.
[[nodiscard]] inline float32x4_t first_two(float32x4_t x) {
  float32x4_t swapped = vrev64q_f32(x);
  x = vtrn1q_f32(vaddq_f32(x, swapped), vsubq_f32(x, swapped));
  swapped = vextq_f32(x, x, 2);
  return low_pairs(vaddq_f32(x, swapped), vsubq_f32(x, swapped));
}

// Distances 1, 2 and 4 of every eight values.
void inside_eights(float* x, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; i += 8) {
    const float32x4_t a = first_two(vld1q_f32(x + i));
    const float32x4_t b = first_two(vld1q_f32(x + i + 4));
    vst1q_f32(x + i, vaddq_f32(a, b));
    vst1q_f32(x + i + 4, vsubq_f32(a, b));
  }
}

// Distances d and 2d in one pass over memory: the same butterflies as in two.
void two_distances(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 4 * d) {
    for (std::uint32_t i = start; i < start + d; i += 4) {
      const float32x4_t a = vld1q_f32(x + i);
      const float32x4_t b = vld1q_f32(x + i + d);
      const float32x4_t c = vld1q_f32(x + i + 2 * d);
      const float32x4_t e = vld1q_f32(x + i + 3 * d);
      const float32x4_t ab = vaddq_f32(a, b);
      const float32x4_t ba = vsubq_f32(a, b);
      const float32x4_t ce = vaddq_f32(c, e);
      const float32x4_t ec = vsubq_f32(c, e);
      vst1q_f32(x + i, vaddq_f32(ab, ce));
      vst1q_f32(x + i + d, vaddq_f32(ba, ec));
      vst1q_f32(x + i + 2 * d, vsubq_f32(ab, ce));
      vst1q_f32(x + i + 3 * d, vsubq_f32(ba, ec));
    }
  }
}

void one_distance(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 2 * d) {
    for (std::uint32_t i = start; i < start + d; i += 4) {
      const float32x4_t a = vld1q_f32(x + i);
      const float32x4_t b = vld1q_f32(x + i + d);
      vst1q_f32(x + i, vaddq_f32(a, b));
      vst1q_f32(x + i + d, vsubq_f32(a, b));
    }
  }
}

void multiply(float* x, std::uint32_t n, float scale) {
  for (std::uint32_t i = 0; i < n; i += 4) vst1q_f32(x + i, vmulq_n_f32(vld1q_f32(x + i), scale));
}

}  // namespace

void fwht(float* x, std::uint32_t n, float scale) noexcept {
  inside_eights(x, n);
  std::uint32_t d = 8;
  for (; 2 * d < n; d *= 4) two_distances(x, n, d);
  if (d < n) one_distance(x, n, d);
  multiply(x, n, scale);
}

}  // namespace vicinal::simd::neon
