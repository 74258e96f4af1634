// Encoded rows in blocks of 32, and their scores one by one: the plain form of what segments and
// scans do, to test them and the quantiser against.
//
// Thread safety: immutable after construction, but for the scratch that `score` is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/quantiser.hpp"
#include "support/vectors.hpp"

namespace vicinal::test {

class CodeSet {
 public:
  // `origin`: dim floats that rows are measured from, or null; needed during the call only.
  CodeSet(const quant::Quantiser& quantiser, const VectorSet& rows, const float* origin = nullptr);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] const quant::RowFactors& factors(std::size_t row) const noexcept {
    return factors_[row];
  }
  [[nodiscard]] const std::uint8_t* packed(std::size_t row) const noexcept;

  struct Score {
    std::int64_t dot = 0;
    float code = 0;   // the whole code's estimate, in the metric's score
    float upper = 0;  // the sign plane's bound
    [[nodiscard]] float ranking() const noexcept { return code < upper ? code : upper; }
  };
  // Of every row, by the kernels of the quantiser.
  [[nodiscard]] std::vector<Score> scores(const quant::PreparedQuery& query) const;
  // Rows by (ranking score descending, row ascending), the first k.
  [[nodiscard]] std::vector<std::size_t> nearest(const quant::PreparedQuery& query,
                                                 std::size_t k) const;

 private:
  [[nodiscard]] const std::uint8_t* plane(std::size_t block) const noexcept;

  const quant::Quantiser* quantiser_;
  std::size_t rows_;
  std::vector<quant::RowFactors> factors_;
  AlignedBuffer packed_;  // one packed row after the other
  AlignedBuffer planes_;  // one block's sign plane after the other
};

}  // namespace vicinal::test
