// A row as its caller gave it, before normalisation: dim floats, or halves rounded to the nearest.
//
// Thread safety: pure functions.
// I1: a kept row has the same bytes on every target (simd/half.hpp I1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::quant {

// Of one coordinate; 0 where none are kept.
[[nodiscard]] constexpr std::size_t original_coordinate_bytes(Originals kind) noexcept {
  if (kind == Originals::none) return 0;
  return kind == Originals::float16 ? 2 : sizeof(float);
}

[[nodiscard]] constexpr std::size_t original_row_bytes(Originals kind,
                                                       std::uint32_t dim) noexcept {
  return original_coordinate_bytes(kind) * dim;
}

// NOT_FINITE(row, coordinate) for the first coordinate that no kept row can have: one that rounds
// to no finite half. `vector`: dim floats that Quantiser::validate has let pass.
[[nodiscard]] Status validate_original(Originals kind, const float* vector, std::uint32_t dim,
                                       std::uint64_t row) noexcept;
// `bytes`: original_row_bytes. Of a valid vector.
void store_original(Originals kind, const float* vector, std::uint32_t dim,
                    std::uint8_t* bytes) noexcept;
// Whether bytes from outside are a row that `store_original` can have made.
[[nodiscard]] bool is_original(Originals kind, const std::uint8_t* bytes,
                               std::uint32_t dim) noexcept;
void load_original(Originals kind, const std::uint8_t* bytes, std::uint32_t dim,
                   float* vector) noexcept;

}  // namespace vicinal::quant
