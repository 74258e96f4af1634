#include "quant/direction.hpp"

#include <cmath>

#include "base/assert.hpp"

namespace vicinal::quant {

double vector_length(const float* vector, std::uint32_t dim) noexcept {
  constexpr std::uint32_t kLanes = 8;
  double lanes[kLanes] = {};
  const std::uint32_t whole = dim / kLanes * kLanes;
  for (std::uint32_t j = 0; j < whole; j += kLanes) {
    for (std::uint32_t l = 0; l < kLanes; ++l) {
      const double value = vector[j + l];
      lanes[l] += value * value;
    }
  }
  for (std::uint32_t j = whole; j < dim; ++j) {
    const double value = vector[j];
    lanes[j - whole] += value * value;
  }
  for (std::uint32_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::uint32_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return std::sqrt(lanes[0]);
}

void unit_vector(const float* vector, std::uint32_t dim, double length, std::uint32_t coded_dim,
                 float* to) noexcept {
  VICINAL_ASSERT(length > 0 && dim <= coded_dim);
  const double inverse = 1 / length;
  for (std::uint32_t j = 0; j < dim; ++j) {
    to[j] = static_cast<float>(double{vector[j]} * inverse);
  }
  for (std::uint32_t j = dim; j < coded_dim; ++j) to[j] = 0;
}

void from_origin(const float* vector, std::uint32_t dim, double inverse_length,
                 const float* origin, float* to) noexcept {
  VICINAL_ASSERT(origin != nullptr);
  for (std::uint32_t j = 0; j < dim; ++j) {
    to[j] = static_cast<float>(double{vector[j]} * inverse_length - double{origin[j]});
  }
}

}  // namespace vicinal::quant
