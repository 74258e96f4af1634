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

// est + e of the row in the metric's score; e is `certainty` standard deviations of the estimate's
// error (RaBitQ, arXiv 2405.12497) joined with the rounding of the tables.
[[nodiscard]] inline float upper_bound(std::uint32_t sum, const PlaneQuery& query,
                                       float plane_scale, float plane_cosine2) noexcept {
  const float product = static_cast<float>(static_cast<std::int32_t>(sum)) * query.step;
  const float variance =
      (1.0f - plane_cosine2) * query.error_direction + query.error_table;
  const float reach = plane_scale * ((product + query.base) + std::sqrt(variance));
  return metric_score(reach, query, plane_scale, plane_cosine2);
}

}  // namespace vicinal::simd
