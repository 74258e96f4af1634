#include "simd/bound.hpp"
#include "simd/scalar/functions.hpp"

namespace vicinal::simd::scalar {

std::uint32_t plane_scan(const std::uint8_t* plane, const PlaneQuery& query,
                         const float* plane_scale, const float* plane_cosine2, std::uint32_t lanes,
                         float threshold, float* upper) noexcept {
  constexpr std::uint32_t kHalfRows = kBlockRows / 2;
  std::uint32_t sums[kBlockRows] = {};
  for (std::uint32_t group = 0; group < query.groups; ++group) {
    const std::uint8_t* signs = plane + group * kGroupBytes;
    const std::uint8_t* table = query.tables + group * kGroupBytes;
    for (std::uint32_t j = 0; j < kHalfRows; ++j) {
      sums[j] += table[signs[j] & 15];
      sums[j + kHalfRows] += table[signs[j] >> 4];
    }
  }
  std::uint32_t reached = 0;
  for (std::uint32_t row = 0; row < kBlockRows; ++row) {
    upper[row] = upper_bound(sums[row], query, plane_scale[row], plane_cosine2[row]);
    // "Not below" rather than "at least": a bound that is not a number must never hide a row.
    if (!(upper[row] < threshold)) reached |= std::uint32_t{1} << row;
  }
  return reached & lanes;
}

}  // namespace vicinal::simd::scalar
