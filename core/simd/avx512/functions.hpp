// AVX-512 (F, BW, VL, VBMI, VNNI): 512-bit vectors, four groups of a sign plane a step.
//
// Thread safety: pure functions.
// I1: the same bits as the scalar reference.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::simd::avx512 {

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept;

template <std::uint32_t kBits>
std::int64_t code_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                      const CodeQuery& query, const Levels& levels) noexcept;

template <std::uint32_t kBits>
void code_dots(const std::uint8_t* plane, std::uint32_t lanes, const std::uint8_t* rests,
               std::size_t rest_bytes, const CodeQuery& query, const Levels& levels,
               std::int64_t* dots) noexcept;

void fwht(float* x, std::uint32_t n, float scale) noexcept;

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept;

// `Coordinate`: std::uint16_t, the bits of a half, or float.
template <class Coordinate>
OriginalSums original_dots(const float* query, const void* row, std::uint32_t dim) noexcept;

template <class Coordinate>
double original_distance(const float* query, const void* row, std::uint32_t dim) noexcept;

}  // namespace vicinal::simd::avx512
