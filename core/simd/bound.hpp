// The upper bound of a row's score from its sign plane, in the one order of operations that every
// kernel follows.
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::simd {

// What turns the inner product with the unit query into the metric's score: weight * product, and
// for l2 less the squared lengths of row and query. The row's squared length follows from its
// factors: plane_scale = length / (c sqrt(D)), plane_cosine2 = c^2, c the cosine of the row and its
// signs.
[[nodiscard]] inline float metric_score(float product, const PlaneQuery& query, float plane_scale,
                                        float plane_cosine2) noexcept {
  const float weighted = query.weight * product;
  if (!query.l2) return weighted;
  const float length2 = plane_scale * plane_scale * (plane_cosine2 * query.coded_dim);
  return weighted - length2 - query.query2;
}

// The certain error e of a row's estimate in units of its plane_scale, as a line over cosine2.
struct ErrorLine {
  float at_zero = 0;
  float slope = 0;
};

// e is `certainty` standard deviations of the estimate's error (RaBitQ, arXiv 2405.12497) joined
// with the rounding of the tables:
//   certainty * sqrt((1 - cosine2) * D / (D - 1) + residual2).
// A square root lies below each of its tangents, so the line that touches it where rows of many
// coordinates are, at cosine2 = 2 / pi, is as certain; and it costs a row a product, where the root
// cost the vector kernels more than the lookups of 128 coordinates.
[[nodiscard]] inline ErrorLine error_line(float certainty, float coded_dim,
                                          float residual2) noexcept {
  constexpr float kTouch = 0.63661977f;
  const float direction = coded_dim / (coded_dim - 1.0f);
  const float root = std::sqrt((1.0f - kTouch) * direction + residual2);
  const float slope = direction / (root + root);
  return {certainty * (root + kTouch * slope), -(certainty * slope)};
}

// est + e of the row in the metric's score.
[[nodiscard]] inline float upper_bound(std::uint32_t sum, const PlaneQuery& query,
                                       float plane_scale, float plane_cosine2) noexcept {
  const float product = static_cast<float>(static_cast<std::int32_t>(sum)) * query.step;
  const float reach = plane_scale * ((product + query.base) + plane_cosine2 * query.slope);
  return metric_score(reach, query, plane_scale, plane_cosine2);
}

}  // namespace vicinal::simd
