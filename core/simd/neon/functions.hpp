// AArch64 with the dot product: one group of a sign plane a step.
//
// Thread safety: pure functions.
// I1: the same bits as the scalar reference.
#pragma once

#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::simd::neon {

std::uint32_t plane_scan(const std::uint8_t* plane, const PlaneQuery& query,
                         const float* plane_scale, const float* plane_cosine2, std::uint32_t lanes,
                         float threshold, float* upper) noexcept;

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept;

void fwht(float* x, std::uint32_t n, float scale) noexcept;

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept;

}  // namespace vicinal::simd::neon
