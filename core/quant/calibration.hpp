// Calibration: an origin, fitted to a sample, that rows and queries are measured from.
//
// Embeddings rarely lie around zero. Measured from where they do lie, a row is shorter, and so is
// the query: the error of an estimate is the product of both lengths and of the code's own error.
// What is left of a score follows exactly. With o the origin,
//   l2:      -|q - x|^2 = 2 <q - o, x - o> - |x - o|^2 - |q - o|^2
//   cosine:  <q, u> = <q - o, u - o> + 1 - |u - o|^2 / 2 - |q - o|^2 / 2   for unit q and u
// and the row's factors know |x - o|. So a calibrated row is encoded, bounded and scored as any row
// of l2 is, by the same kernels, and its bound holds for the same reason. `ip` would need <o, x>, a
// fourth factor: it has no calibration.
//
// Thread safety: pure functions.
// I1: only + - * / sqrt of doubles in a fixed order, and order statistics: the same origin on every
//     target.
// I2: an origin's coordinates are finite and below kMagnitudeLimit; for cosine its length is at
//     most 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vicinal/types.hpp"

namespace vicinal::quant {

// Fewer rows would move the origin by more than it is worth.
inline constexpr std::uint64_t kSampleRowsMin = 32;
// More are thinned out evenly: beyond this the origin is as good as it gets.
inline constexpr std::uint64_t kSampleRowsMax = 1024;
inline constexpr std::uint64_t kSampleBytesMax = std::uint64_t{16} << 20;
// This share of the largest and of the smallest values of a coordinate counts as the next value
// only: a few wild rows must not move the origin.
inline constexpr std::size_t kTrimmedPart = 20;

// How many of `rows` rows of a sample are kept.
[[nodiscard]] std::uint64_t sample_rows_kept(std::uint32_t dim, std::uint64_t rows) noexcept;

// The place of row `row` among the `kept` of `rows` rows that are kept, or `kept` for none.
[[nodiscard]] constexpr std::uint64_t sample_place(std::uint64_t row, std::uint64_t rows,
                                                   std::uint64_t kept) noexcept {
  const std::uint64_t place = (row * kept + rows - 1) / rows;
  return place < kept && place * rows / kept == row ? place : kept;
}

// A valid vector as the sample keeps it: unit length for cosine (the zero vector stays), else as it
// is. dim floats.
void keep_sample_row(const float* vector, std::uint32_t dim, Metric metric, float* to) noexcept;

// The origin of `rows` kept rows: of each coordinate the mean, its extremes drawn in. `column`:
// room for `rows` floats.
void fit_origin(const float* sample, std::uint64_t rows, std::uint32_t dim, float* column,
                float* origin) noexcept;

// Whether the dim floats, from wherever, are an origin (I2).
[[nodiscard]] bool is_origin(const float* origin, std::uint32_t dim, Metric metric) noexcept;

}  // namespace vicinal::quant
