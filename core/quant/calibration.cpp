#include "quant/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "quant/direction.hpp"

namespace vicinal::quant {

std::uint64_t sample_rows_kept(std::uint32_t dim, std::uint64_t rows) noexcept {
  VICINAL_ASSERT(dim >= 1 && dim <= kDimMax);
  const std::uint64_t fit = kSampleBytesMax / (std::uint64_t{dim} * sizeof(float));
  return std::min(rows, std::clamp(fit, kSampleRowsMin, kSampleRowsMax));
}

void keep_sample_row(const float* vector, std::uint32_t dim, Metric metric, float* to) noexcept {
  const double length = metric == Metric::cosine ? vector_length(vector, dim) : 0;
  if (length == 0) {
    std::copy(vector, vector + dim, to);
  } else {
    unit_vector(vector, dim, length, dim, to);
  }
}

void fit_origin(const float* sample, std::uint64_t rows, std::uint32_t dim, float* column,
                float* origin) noexcept {
  VICINAL_ASSERT(sample != nullptr && rows >= 1 && column != nullptr && origin != nullptr);
  const std::size_t trimmed = static_cast<std::size_t>(rows) / kTrimmedPart;
  for (std::uint32_t j = 0; j < dim; ++j) {
    for (std::uint64_t i = 0; i < rows; ++i) column[i] = sample[i * dim + j];
    float* const end = column + rows;
    // The values at these two places do not depend on how a library sorts.
    std::nth_element(column, column + trimmed, end);
    const double low = column[trimmed];
    std::nth_element(column, end - 1 - trimmed, end);
    const double high = *(end - 1 - trimmed);
    double sum = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
      sum += std::clamp<double>(sample[i * dim + j], low, high);
    }
    origin[j] = static_cast<float>(sum / static_cast<double>(rows));
  }
}

bool is_origin(const float* origin, std::uint32_t dim, Metric metric) noexcept {
  constexpr double kRounding = 1e-4;
  if (metric == Metric::ip) return false;
  for (std::uint32_t j = 0; j < dim; ++j) {
    if (!(std::fabs(origin[j]) < kMagnitudeLimit)) return false;  // NaN fails, too
  }
  return metric == Metric::l2 || vector_length(origin, dim) <= 1 + kRounding;
}

}  // namespace vicinal::quant
