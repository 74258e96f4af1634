// Which factors a row can have: what is outside was not encoded, and would end in scores that are
// no numbers.
//
// Thread safety: immutable value.
// I1: rows within the limits keep every score and bound finite (search/scan.hpp I3).
#pragma once

#include <cstdint>

#include "quant/layout.hpp"
#include "vicinal/types.hpp"

namespace vicinal::quant {

class FactorLimits {
 public:
  // Of the rows of an index; `calibrated`: whether they are measured from an origin.
  FactorLimits(std::uint32_t coded_dim, bool calibrated, Metric metric) noexcept
      : coded_dim_(coded_dim),
        // No vector is longer than sqrt(16384) * 1e16, nor farther than twice that from an origin,
        // and no row's factors are larger than its length.
        largest_(calibrated ? 4.0e18f : 2.0e18f),
        zero_rows_(calibrated && metric == Metric::cosine) {}

  // Whether the factors can be those of a valid row.
  [[nodiscard]] bool hold_for(const RowFactors& factors) const noexcept {
    if (is_zero_row(factors.plane_cosine2)) {
      return zero_rows_ && factors.scale == kZeroRowFactors.scale &&
             factors.plane_scale == kZeroRowFactors.plane_scale &&
             factors.plane_cosine2 == kZeroRowFactors.plane_cosine2;
    }
    const double largest = double{largest_};
    const double length2 = double{factors.plane_scale} * double{factors.plane_scale} *
                           double{factors.plane_cosine2} * coded_dim_;
    if (!(length2 <= largest * largest)) return false;
    // Comparisons are written so that NaN fails them.
    return factors.scale >= 0 && factors.scale <= largest_ && factors.plane_scale >= 0 &&
           factors.plane_scale <= largest_ && factors.plane_cosine2 >= 0 &&
           factors.plane_cosine2 <= 1;
  }

 private:
  std::uint32_t coded_dim_;
  float largest_;
  bool zero_rows_;
};

}  // namespace vicinal::quant
