// A fixed random orthogonal transform of D coordinates, cheap to apply: after it the coordinates of
// any vector look like those of a uniformly random direction, which is what the codebook is for.
//
// Two pairs of rounds, each round (permutation, signs, fast Walsh-Hadamard transform). The
// transform takes a power of two, P: the largest that is <= D. A pair's first round transforms the
// window [0, P), its second the window [D - P, D); P > D / 2, so the two together cover everything
// whatever the factors of D are. (Blocks of the largest power of two that divides D would be, at D
// = 1032, blocks of 8.)
//
// Thread safety: immutable after create.
// I1: only a pair's first round permutes: what its window leaves out then lies in the second
//     round's window, and no coordinate escapes a pair. (With a permutation before every round, one
//     coordinate in 16 would escape all four at a D just below a power of two.)
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
  static constexpr std::uint32_t kPairs = 2;

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

  // D places of the pair: where coordinate j comes from.
  [[nodiscard]] const std::uint16_t* sources(std::uint32_t pair) const noexcept;
  // D signs of the round `second` (0 or 1) of the pair: kSignBit or 0.
  [[nodiscard]] const std::uint16_t* signs(std::uint32_t pair, std::uint32_t second) const noexcept;
  // The signs and the transform of one round, in place, and its inverse.
  void round(const simd::Kernels& kernels, std::uint32_t pair, std::uint32_t second,
             float* x) const noexcept;
  void round_inverse(const simd::Kernels& kernels, std::uint32_t pair, std::uint32_t second,
                     float* x) const noexcept;

  std::uint32_t coded_dim_ = 0;
  std::uint32_t window_ = 0;   // P
  float window_scale_ = 0;     // 1 / sqrt(P)
  AlignedBuffer tables_;       // per pair: sources, signs of the first round, signs of the second
};

}  // namespace vicinal::quant
