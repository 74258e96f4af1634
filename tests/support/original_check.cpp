#include "support/original_check.hpp"

#include <cstring>

#include "base/bits.hpp"
#include "simd/half.hpp"
#include "support/kernel_input.hpp"

namespace vicinal::test {
namespace {

enum class OriginalPattern { kRandom, kSmall, kLarge, kCancelling, kZeros, kCount };
constexpr const char* kPatternNames[] = {"random", "small", "large", "cancelling", "zeros"};

[[nodiscard]] float coordinate(OriginalPattern pattern, bool half, SteeredRandom& random) {
  const float unit = random_unit(random);
  switch (pattern) {
    case OriginalPattern::kSmall: return unit * (half ? 0x1p-14f : 0x1p-140f);
    case OriginalPattern::kLarge: return unit * (half ? 65500.0f : 9e15f);
    case OriginalPattern::kZeros: return random.below(2) == 0 ? 0.0f : -0.0f;
    default: return random.below(8) == 0 ? unit * 1000 : unit;
  }
}

// Values that end where memory ends.
template <class T>
class Tight {
 public:
  static_assert(simd::kOverread % sizeof(T) == 0);
  Tight(std::size_t count, SteeredRandom& random)
      : array_(count, random), values_(array_.data() + simd::kOverread / sizeof(T)) {}
  [[nodiscard]] T* values() noexcept { return values_; }

 private:
  GuardedArray<T> array_;
  T* values_;
};

void put(float value, float* place) { *place = value; }
void put(float value, std::uint16_t* place) { *place = simd::float_to_half(value); }

[[nodiscard]] std::uint64_t bits_of(double value) { return bit_cast<std::uint64_t>(value); }

template <class Coordinate>
[[nodiscard]] KernelDifference check(const simd::Kernels& reference,
                                     const simd::Kernels& candidate, std::uint32_t dim,
                                     OriginalPattern pattern, SteeredRandom& random) {
  constexpr bool kHalf = sizeof(Coordinate) == sizeof(std::uint16_t);
  Tight<float> query(dim, random);
  Tight<Coordinate> row(dim, random);
  for (std::uint32_t j = 0; j < dim; ++j) {
    const float value = coordinate(pattern, kHalf, random);
    const bool cancels = pattern == OriginalPattern::kCancelling && j % 16 < 8;
    query.values()[j] = cancels ? -value : coordinate(pattern, false, random);
    put(value, row.values() + j);
  }
  const std::uint32_t index = simd::original_index(sizeof(Coordinate));
  KernelDifference difference;
  difference.input = kPatternNames[static_cast<int>(pattern)];
  difference.coded_dim = dim;
  difference.bits = 8 * sizeof(Coordinate);
  const auto compare = [&](const char* kernel, std::uint32_t output, double expected,
                           double actual) {
    if (difference.found || bits_of(expected) == bits_of(actual)) return;
    difference.found = true;
    difference.kernel = kernel;
    difference.index = output;
    difference.expected = bits_of(expected);
    difference.actual = bits_of(actual);
  };
  const auto expected = reference.original_dots[index](query.values(), row.values(), dim);
  const auto actual = candidate.original_dots[index](query.values(), row.values(), dim);
  compare("original_dots", 0, expected.dot, actual.dot);
  compare("original_dots", 1, expected.square, actual.square);
  compare("original_distance", 0,
          reference.original_distance[index](query.values(), row.values(), dim),
          candidate.original_distance[index](query.values(), row.values(), dim));
  return difference;
}

}  // namespace

KernelDifference check_originals(const simd::Kernels& reference, const simd::Kernels& candidate,
                                 std::uint32_t coded_dim, std::uint64_t seed) {
  KernelDifference difference;
  for (int i = 0; i < static_cast<int>(OriginalPattern::kCount) && !difference.found; ++i) {
    const auto pattern = static_cast<OriginalPattern>(i);
    SteeredRandom random(mix64(seed + static_cast<std::uint64_t>(i)));
    const std::uint32_t dim = coded_dim - random.below(8);
    difference = check<std::uint16_t>(reference, candidate, dim, pattern, random);
    if (!difference.found) difference = check<float>(reference, candidate, dim, pattern, random);
    difference.seed = seed;
  }
  return difference;
}

KernelDifference check_drawn_originals(const simd::Kernels& reference,
                                       const simd::Kernels& candidate, std::uint32_t coded_dim,
                                       SteeredRandom& random) {
  const auto pattern = static_cast<OriginalPattern>(
      random.below(static_cast<std::uint32_t>(OriginalPattern::kCount)));
  const std::uint32_t dim = coded_dim - random.below(8);
  return random.below(2) == 0
             ? check<std::uint16_t>(reference, candidate, dim, pattern, random)
             : check<float>(reference, candidate, dim, pattern, random);
}

}  // namespace vicinal::test
