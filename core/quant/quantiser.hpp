// Turns vectors into codes and queries into tables: rotation, codebook, encoding, preparation.
//
// Thread safety: a Quantiser is immutable after create and may be used by any number of threads,
// each with scratch of its own.
// I1: the same input gives the same bytes on every target, thread and batch size.
// I2: no function but create and its destructor allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "quant/codebook.hpp"
#include "quant/layout.hpp"
#include "quant/rotation.hpp"
#include "simd/kernels.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::quant {

// Above this many standard deviations a search is exhaustive: it scores every row's whole code.
inline constexpr float kCertaintyMax = 64.0f;

// A query ready for the scan. The arrays lie in the scratch that it was prepared in.
struct PreparedQuery {
  simd::PlaneQuery plane;
  simd::CodeQuery code;
  float code_step = 0;      // unit inner product = (float(dot) * scale) * code_step
  // The zero vector, or with an origin the origin: no direction, scores by `metric_score` of 0.
  bool zero = false;

  // The same query whose arrays were copied from one scratch to another.
  [[nodiscard]] PreparedQuery moved(const std::byte* from, std::byte* to) const noexcept;
};

class Quantiser {
 public:
  // `bits` in {1, 2, 3, 4, 8}, 1 <= dim <= 16384: BAD_OPTION otherwise. FULL without memory.
  [[nodiscard]] static Result<std::unique_ptr<Quantiser>> create(std::uint32_t dim, Metric metric,
                                                                 std::uint32_t bits,
                                                                 std::uint64_t seed,
                                                                 const simd::Kernels& kernels);

  [[nodiscard]] const CodeLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const simd::Levels& levels() const noexcept { return codebook_.levels(); }
  [[nodiscard]] const simd::Kernels& kernels() const noexcept { return *kernels_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }
  // Bytes that this object holds beside itself.
  [[nodiscard]] std::size_t bytes() const noexcept;

  // NOT_FINITE(row, coordinate) at the first coordinate that is not finite or too large.
  [[nodiscard]] static Status validate(const float* vector, std::uint32_t dim,
                                       std::uint64_t row) noexcept;

  // Scratch that `encode` and `decode` need; aligned to 64.
  [[nodiscard]] std::size_t encode_scratch_bytes() const noexcept;
  // One valid vector of dim floats -> packed_row_bytes and the factors. cosine: the length counts
  // as 1. The zero vector gives factors of 0. `origin`: dim floats that the row is measured from
  // (calibration.hpp), or null; not with `ip`. Such a row's length is its distance from the origin,
  // for cosine too; the zero vector of a cosine index then gives kZeroRowFactors.
  void encode(const float* vector, std::byte* scratch, std::uint8_t* packed_row,
              RowFactors* factors, const float* origin = nullptr) const noexcept;

  // Scratch that `prepare` needs, results included; aligned to 64.
  [[nodiscard]] std::size_t prepare_scratch_bytes() const noexcept;
  // One valid query of dim floats. `certainty` >= 0; above kCertaintyMax nothing is prepared for
  // the sign plane, which a search of whole codes does not read. For the zero query every estimate,
  // error and dot is 0. `origin`: that of the rows to be searched.
  [[nodiscard]] PreparedQuery prepare(const float* query, float certainty, std::byte* scratch,
                                      const float* origin = nullptr) const noexcept;

  // The vector that a packed row stands for, dim floats: unit length for cosine. Any bytes and any
  // finite factors give finite coordinates or infinities, never a read out of bounds.
  void decode(const std::uint8_t* packed_row, const RowFactors& factors, std::byte* scratch,
              float* vector, const float* origin = nullptr) const noexcept;

 private:
  Quantiser(CodeLayout layout, Metric metric, Rotation rotation,
            const simd::Kernels& kernels) noexcept;
  // Adds what the code says to `vector`, the row's origin or zeros.
  void add_decoded(const std::uint8_t* packed_row, const RowFactors& factors, std::byte* scratch,
                   const float* origin, float* vector) const noexcept;

  CodeLayout layout_;
  Metric metric_;
  const simd::Kernels* kernels_;
  Rotation rotation_;
  Codebook codebook_;
};

}  // namespace vicinal::quant
