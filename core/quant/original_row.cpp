#include "quant/original_row.hpp"

#include <cmath>
#include <cstring>

#include "base/assert.hpp"
#include "simd/half.hpp"

namespace vicinal::quant {

Status validate_original(Originals kind, const float* vector, std::uint32_t dim,
                         std::uint64_t row) noexcept {
  if (kind != Originals::float16) return {};
  for (std::uint32_t j = 0; j < dim; ++j) {
    if (!(std::fabs(vector[j]) < simd::kHalfLimit)) return Status(Code::not_finite, row, j);
  }
  return {};
}

void store_original(Originals kind, const float* vector, std::uint32_t dim,
                    std::uint8_t* bytes) noexcept {
  VICINAL_ASSERT(kind != Originals::none);
  if (kind == Originals::float32) {
    std::memcpy(bytes, vector, dim * sizeof(float));
    return;
  }
  for (std::uint32_t j = 0; j < dim; ++j) {
    const std::uint16_t half = simd::float_to_half(vector[j]);
    std::memcpy(bytes + j * sizeof half, &half, sizeof half);
  }
}

bool is_original(Originals kind, const std::uint8_t* bytes, std::uint32_t dim) noexcept {
  VICINAL_ASSERT(kind != Originals::none);
  constexpr std::uint16_t kHalfMagnitude = 0x7fff;
  constexpr std::uint16_t kHalfInfinity = 0x7c00;
  for (std::uint32_t j = 0; j < dim; ++j) {
    if (kind == Originals::float16) {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes + j * sizeof half, sizeof half);
      if ((half & kHalfMagnitude) >= kHalfInfinity) return false;
    } else {
      float value = 0;
      std::memcpy(&value, bytes + j * sizeof value, sizeof value);
      if (!(std::fabs(value) < kMagnitudeLimit)) return false;
    }
  }
  return true;
}

void load_original(Originals kind, const std::uint8_t* bytes, std::uint32_t dim,
                   float* vector) noexcept {
  VICINAL_ASSERT(kind != Originals::none);
  if (kind == Originals::float32) {
    std::memcpy(vector, bytes, dim * sizeof(float));
    return;
  }
  for (std::uint32_t j = 0; j < dim; ++j) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes + j * sizeof half, sizeof half);
    vector[j] = simd::half_to_float(half);
  }
}

}  // namespace vicinal::quant
