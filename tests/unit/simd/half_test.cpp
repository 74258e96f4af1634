#include "simd/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vicinal::simd {
namespace {

constexpr std::uint16_t kHalfMax = 0x7bff;  // 65504

// What the format says, by other means.
double value_of(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
                                         : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryFiniteHalfIsTheNumberThatItsBitsSayAndComesBack) {
  for (std::uint32_t bits = 0; bits <= kHalfMax; ++bits) {
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const auto half = static_cast<std::uint16_t>(bits | sign);
      const float value = half_to_float(half);
      ASSERT_EQ(double{value}, value_of(half)) << half;
      ASSERT_EQ(std::signbit(value), sign != 0) << half;
      ASSERT_EQ(float_to_half(value), half);
    }
  }
}

TEST(Half, WhatLiesBetweenTwoGoesToTheNearerAndFromTheMiddleToTheEven) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::uint32_t bits = 0; bits < kHalfMax; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const auto middle = static_cast<float>((value_of(low) + value_of(high)) / 2);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), low) << bits;
    ASSERT_EQ(float_to_half(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, kInfinity)), high) << bits;
    ASSERT_EQ(float_to_half(-middle), (bits % 2 == 0 ? low : high) | 0x8000) << bits;
  }
}

TEST(Half, TheLimitIsTheLeastFloatThatWouldBecomeInfinite) {
  EXPECT_EQ(float_to_half(std::nextafter(kHalfLimit, 0.0f)), kHalfMax);
  EXPECT_EQ(value_of(kHalfMax), 65504.0);
  EXPECT_EQ(kHalfLimit, (65504.0f + 65536.0f) / 2);
  EXPECT_EQ(float_to_half(1e-30f), 0);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
}

}  // namespace
}  // namespace vicinal::simd
