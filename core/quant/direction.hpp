// Lengths and unit vectors, in the one order of operations that every target follows.
//
// Thread safety: pure functions.
// I1: squares are taken in double, where those of any valid vector neither overflow nor vanish.
#pragma once

#include <cstdint>

namespace vicinal::quant {

// sqrt of the sum of squares: lane j % 8 of eight, ascending j, then lanes l and l + 4, + 2, + 1.
[[nodiscard]] double vector_length(const float* vector, std::uint32_t dim) noexcept;

// to[j] = float(double(vector[j]) * (1 / length)); to[dim..coded_dim) = 0. length > 0. `to` may be
// `vector`.
void unit_vector(const float* vector, std::uint32_t dim, double length, std::uint32_t coded_dim,
                 float* to) noexcept;

// to[j] = float(double(vector[j]) * inverse_length - origin[j]), dim floats.
void from_origin(const float* vector, std::uint32_t dim, double inverse_length,
                 const float* origin, float* to) noexcept;

}  // namespace vicinal::quant
