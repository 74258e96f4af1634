#include <cstring>

#include "simd/half.hpp"
#include "simd/scalar/functions.hpp"

namespace vicinal::simd::scalar {
namespace {

constexpr std::uint32_t kSumLanes = 16;

[[nodiscard]] double widened(float coordinate) noexcept { return coordinate; }
[[nodiscard]] double widened(std::uint16_t coordinate) noexcept {
  return half_to_float(coordinate);
}

// A row need not be aligned.
template <class Coordinate>
[[nodiscard]] double coordinate_at(const void* row, std::uint32_t j) noexcept {
  Coordinate coordinate;
  std::memcpy(&coordinate, static_cast<const std::uint8_t*>(row) + j * sizeof coordinate,
              sizeof coordinate);
  return widened(coordinate);
}

[[nodiscard]] double reduce(double* lanes) noexcept {
  for (std::uint32_t width = kSumLanes / 2; width != 0; width /= 2) {
    for (std::uint32_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace

template <class Coordinate>
OriginalSums original_dots(const float* query, const void* row, std::uint32_t dim) noexcept {
  double dots[kSumLanes] = {};
  double squares[kSumLanes] = {};
  for (std::uint32_t j = 0; j < dim; ++j) {
    const double x = coordinate_at<Coordinate>(row, j);
    dots[j % kSumLanes] += double{query[j]} * x;
    squares[j % kSumLanes] += x * x;
  }
  return {reduce(dots), reduce(squares)};
}

template <class Coordinate>
double original_distance(const float* query, const void* row, std::uint32_t dim) noexcept {
  double squares[kSumLanes] = {};
  for (std::uint32_t j = 0; j < dim; ++j) {
    const double difference = double{query[j]} - coordinate_at<Coordinate>(row, j);
    squares[j % kSumLanes] += difference * difference;
  }
  return reduce(squares);
}

template OriginalSums original_dots<std::uint16_t>(const float*, const void*,
                                                   std::uint32_t) noexcept;
template OriginalSums original_dots<float>(const float*, const void*, std::uint32_t) noexcept;
template double original_distance<std::uint16_t>(const float*, const void*,
                                                 std::uint32_t) noexcept;
template double original_distance<float>(const float*, const void*, std::uint32_t) noexcept;

}  // namespace vicinal::simd::scalar
