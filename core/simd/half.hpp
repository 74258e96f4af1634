// Numbers of 16 bits (IEEE 754 binary16) as kept vectors have them, without infinities and NaN.
//
// Thread safety: pure functions.
// I1: both ways give the same bits on every target: only + and * of floats and operations on whole
//     numbers. Widening is exact; narrowing rounds to the nearest, of two to the even one.
// I2: not for the target folders but scalar/ (targets.hpp I2).
#pragma once

#include <cstdint>
#include <cstring>

namespace vicinal::simd {

// The least magnitude that rounds to no finite half.
inline constexpr float kHalfLimit = 65520.0f;

[[nodiscard]] inline float half_to_float(std::uint16_t half) noexcept {
  // The bits of a half, moved to a float's, are the same number times 2^-112, also below the least
  // normal one.
  const std::uint32_t magnitude = std::uint32_t{half & 0x7fffu} << 13;
  float value = 0;
  std::memcpy(&value, &magnitude, sizeof value);
  value *= 0x1p112f;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits |= std::uint32_t{half & 0x8000u} << 16;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// `value` is finite and below kHalfLimit in magnitude.
[[nodiscard]] inline std::uint16_t float_to_half(float value) noexcept {
  constexpr std::uint32_t kLeastNormal = 0x38800000;   // 2^-14
  constexpr std::uint32_t kOneHalf = 0x3f000000;       // the spacing of floats there is 2^-24
  constexpr std::uint32_t kExponentShift = 112u << 23;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  std::uint32_t magnitude = 0;
  if (bits < kLeastNormal) {
    float sum = 0;
    std::memcpy(&sum, &bits, sizeof sum);
    sum += 0.5f;  // rounds to a multiple of the least half
    std::memcpy(&magnitude, &sum, sizeof magnitude);
    magnitude -= kOneHalf;
  } else {
    const std::uint32_t odd = bits >> 13 & 1;
    magnitude = (bits - kExponentShift + 0xfff + odd) >> 13;
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

}  // namespace vicinal::simd
