// The quantiser of one rotated coordinate: levels and thresholds that minimise the mean squared
// error (Lloyd, "Least squares quantization in PCM", 1982; Max, "Quantizing for minimum
// distortion", 1960) for the density of a coordinate of a uniformly random unit vector in D
// dimensions, (1 - t^2)^((D - 3) / 2) on [-1, 1]. Nothing is learned from the data.
//
// Thread safety: immutable.
// I1: computed with + - * / sqrt of doubles in a fixed order: the same bits on every target.
// I2: levels and thresholds ascend strictly; the largest level is 127 (bits <= 4) or 8191 (8 bits).
#pragma once

#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::quant {

inline constexpr std::uint32_t kMagnitudesMax = 128;  // levels of the positive half at 8 bits
// How many stretches of the thresholds a row may be encoded with; the levels are the same.
inline constexpr std::uint32_t kStretches = 3;

class Codebook {
 public:
  // `coded_dim` a multiple of 8, `bits` one of 1, 2, 3, 4, 8. Takes about a millisecond at 8
  // bits.
  Codebook(std::uint32_t coded_dim, std::uint32_t bits) noexcept;

  // Levels with the optimal thresholds.
  [[nodiscard]] const simd::Levels& levels() const noexcept { return levels_[0]; }
  // The same levels with thresholds for rows that lie closer to them when seen a little larger or
  // smaller: a row is finite, so its own best grid differs from the optimum over all rows. 0 is
  // levels(); the others exist where they were found to help, at 3 and 4 bits.
  [[nodiscard]] const simd::Levels& stretched(std::uint32_t stretch) const noexcept {
    return levels_[stretch];
  }
  [[nodiscard]] std::uint32_t stretches() const noexcept {
    return levels().bits == 3 || levels().bits == 4 ? kStretches : 1;
  }
  [[nodiscard]] std::uint32_t magnitudes() const noexcept { return 1u << (levels().bits - 1); }
  // The level of magnitude index m in integer units: 1..127 or 1..8191.
  [[nodiscard]] std::int32_t level(std::uint32_t magnitude) const noexcept {
    return levels().bits == 8 ? levels().wide[magnitude] : 2 * levels().biased[magnitude] - 127;
  }
  // The coordinate of a unit vector that an integer level of 1 stands for.
  [[nodiscard]] double unit() const noexcept { return unit_; }

 private:
  simd::Levels levels_[kStretches];
  double unit_ = 0;
};

// The optimal levels of the positive half before they become integers, `count` of them (1..128).
void lloyd_max(std::uint32_t coded_dim, std::uint32_t count, double* levels) noexcept;

// The probability of [low, high] and its first moment, up to one common factor, for the density
// above. 0 <= low <= high <= 1.
struct Moments {
  double weight = 0;
  double first = 0;
};
[[nodiscard]] Moments density_moments(std::uint32_t coded_dim, double low, double high) noexcept;

}  // namespace vicinal::quant
