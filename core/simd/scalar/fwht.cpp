#include "simd/scalar/functions.hpp"

namespace vicinal::simd::scalar {

void fwht(float* x, std::uint32_t n, float scale) noexcept {
  for (std::uint32_t distance = 1; distance < n; distance *= 2) {
    for (std::uint32_t start = 0; start < n; start += 2 * distance) {
      for (std::uint32_t i = start; i < start + distance; ++i) {
        const float a = x[i];
        const float b = x[i + distance];
        x[i] = a + b;
        x[i + distance] = a - b;
      }
    }
  }
  for (std::uint32_t i = 0; i < n; ++i) x[i] *= scale;
}

}  // namespace vicinal::simd::scalar
