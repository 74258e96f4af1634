// A fixed random orthogonal transform of D coordinates, cheap to apply: after it the coordinates of
// any vector look like those of a uniformly random direction, which is what the codebook is for.
//
// Four rounds of (permutation, signs, fast Walsh-Hadamard transform). The transform takes a power of
// two, P: the largest that is <= D. Even rounds transform the window [0, P), odd rounds the window
// [D - P, D); P > D / 2, so the two together cover everything whatever the factors of D are.
// (Blocks of the largest power of two that divides D would leave, at D = 1032, blocks of 8.)
//
// Thread safety: immutable after create.
// I1: even rounds permute all D coordinates; odd rounds only those that the round before transformed,
//     so that what it left out lies in the odd round's window and nothing escapes a pair of rounds.
// I2: orthogonal in structure: permutation, signs, and Hadamard matrices scaled by 1 / sqrt(P).
// I3: the same seed gives the same transform, and the same input the same bits, on every target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.hpp"
#include "simd/kernels.hpp"
#include "vicinal/status.hpp"

namespace vicinal::quant {

class Rotation {
 public:
  static constexpr std::uint32_t kRounds = 4;

  // `coded_dim`: a multiple of 8 in 8..16384. FULL when there is no memory for the tables.
  [[nodiscard]] static Result<Rotation> create(std::uint32_t coded_dim,
                                               std::uint64_t seed) noexcept;

  [[nodiscard]] std::uint32_t coded_dim() const noexcept { return coded_dim_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return tables_.size(); }

  // Floats that each array given to `apply` and `invert` has room for.
  [[nodiscard]] std::size_t array_floats() const noexcept {
    return coded_dim_ + simd::kOverread / sizeof(float);
  }

  // Replaces the D floats of `x` by the rotated ones. `spare` loses what it held.
  void apply(const simd::Kernels& kernels, float* x, float* spare) const noexcept;
  // The inverse of `apply`, exact but for rounding.
  void invert(const simd::Kernels& kernels, float* x, float* spare) const noexcept;

 private:
  Rotation() noexcept = default;

  [[nodiscard]] const std::uint16_t* table(std::uint32_t round) const noexcept;
  [[nodiscard]] std::uint32_t window_start(std::uint32_t round) const noexcept {
    return round % 2 == 0 ? 0 : coded_dim_ - window_;
  }

  std::uint32_t coded_dim_ = 0;
  std::uint32_t window_ = 0;   // P
  float window_scale_ = 0;     // 1 / sqrt(P)
  // Per round D entries: where coordinate j comes from (kSourceMask), and whether its sign flips
  // (kSignBit).
  AlignedBuffer tables_;
};

}  // namespace vicinal::quant
