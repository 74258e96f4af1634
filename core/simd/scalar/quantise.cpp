#include <cmath>

#include "simd/scalar/functions.hpp"

namespace vicinal::simd::scalar {
namespace {

constexpr std::uint32_t kLanes = 16;

[[nodiscard]] float reduce(float (&lanes)[kLanes]) noexcept {
  for (std::uint32_t apart = kLanes / 2; apart > 0; apart /= 2) {
    for (std::uint32_t i = 0; i < apart; ++i) lanes[i] += lanes[i + apart];
  }
  return lanes[0];
}

// The number of thresholds below `value`, by bisection: they ascend.
[[nodiscard]] std::uint32_t magnitude_index(float value, const Levels& levels) noexcept {
  std::uint32_t index = 0;
  for (std::uint32_t step = (std::uint32_t{1} << (levels.bits - 1)) / 2; step > 0; step /= 2) {
    if (levels.thresholds[index + step - 1] < value) index += step;
  }
  return index;
}

}  // namespace

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept {
  float absolute[kLanes] = {};
  float level[kLanes] = {};
  float square[kLanes] = {};
  for (std::uint32_t j = 0; j < coded_dim; ++j) {
    const float value = std::fabs(u[j]);
    const std::uint32_t m = magnitude_index(value, levels);
    const bool positive = !(u[j] < 0);
    const int size = levels.bits == 8 ? levels.wide[m] : 2 * levels.biased[m] - 127;
    codes[j] = static_cast<std::uint8_t>((positive ? 1u << (levels.bits - 1) : 0u) | m);
    absolute[j % kLanes] += value;
    level[j % kLanes] += u[j] * static_cast<float>(positive ? size : -size);
    square[j % kLanes] += static_cast<float>(size) * static_cast<float>(size);
  }
  return {reduce(absolute), reduce(level), reduce(square)};
}

}  // namespace vicinal::simd::scalar
