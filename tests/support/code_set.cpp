#include "support/code_set.hpp"

#include <algorithm>
#include <numeric>

#include "simd/bound.hpp"

namespace vicinal::test {

using simd::kBlockRows;
using simd::kGroupBytes;

CodeSet::CodeSet(const quant::Quantiser& quantiser, const VectorSet& rows, const float* origin)
    : quantiser_(&quantiser), rows_(rows.rows()), factors_(rows_) {
  const quant::CodeLayout& layout = quantiser.layout();
  const std::size_t blocks = (rows_ + kBlockRows - 1) / kBlockRows;
  packed_ = scratch_buffer(rows_ * layout.packed_row_bytes + simd::kOverread);
  planes_ = scratch_buffer(blocks * layout.plane_block_bytes + simd::kOverread);
  AlignedBuffer scratch = scratch_buffer(quantiser.encode_scratch_bytes());
  for (std::size_t i = 0; i < rows_; ++i) {
    auto* row = packed_.as<std::uint8_t>() + i * layout.packed_row_bytes;
    quantiser.encode(rows.row(i), scratch.data(), row, &factors_[i], origin);
    auto* block = planes_.as<std::uint8_t>() + i / kBlockRows * layout.plane_block_bytes;
    const std::size_t lane = i % kBlockRows;
    quant::for_each_sign_nibble(row, layout.groups, [&](std::uint32_t group, std::uint8_t nibble) {
      std::uint8_t& byte = block[group * kGroupBytes + lane % kGroupBytes];
      byte = static_cast<std::uint8_t>(byte | nibble << (lane / kGroupBytes * 4));
    });
  }
}

const std::uint8_t* CodeSet::packed(std::size_t row) const noexcept {
  return packed_.as<std::uint8_t>() + row * quantiser_->layout().packed_row_bytes;
}

const std::uint8_t* CodeSet::plane(std::size_t block) const noexcept {
  return planes_.as<std::uint8_t>() + block * quantiser_->layout().plane_block_bytes;
}

std::vector<CodeSet::Score> CodeSet::scores(const quant::PreparedQuery& query) const {
  const quant::CodeLayout& layout = quantiser_->layout();
  const simd::Kernels& kernels = quantiser_->kernels();
  const simd::Kernels::CodeDot code_dot = kernels.code_dot[simd::bits_index(layout.bits)];
  std::vector<Score> scores(rows_);
  for (std::size_t first = 0; first < rows_; first += kBlockRows) {
    alignas(64) float scale[kBlockRows + simd::kOverread / 4] = {};
    alignas(64) float cosine2[kBlockRows + simd::kOverread / 4] = {};
    alignas(64) float upper[kBlockRows];
    const std::size_t count = std::min<std::size_t>(kBlockRows, rows_ - first);
    for (std::size_t i = 0; i < count; ++i) {
      scale[i] = factors_[first + i].plane_scale;
      cosine2[i] = factors_[first + i].plane_cosine2;
    }
    const std::uint8_t* block = plane(first / kBlockRows);
    const std::uint32_t lanes = ~0u;
    std::uint32_t reached = 0;
    const simd::PlaneScan scan{&query.plane, 0, upper, &reached};
    kernels.plane_scan({block, layout.plane_block_bytes, scale, cosine2, &lanes, 1}, &scan, 1);
    for (std::size_t i = 0; i < count; ++i) {
      Score& score = scores[first + i];
      score.dot = code_dot(block, static_cast<std::uint32_t>(i),
                           packed(first + i) + layout.sign_bytes, query.code,
                           quantiser_->levels());
      const float product =
          (static_cast<float>(score.dot) * factors_[first + i].scale) * query.code_step;
      score.code = simd::metric_score(product, query.plane, scale[i], cosine2[i]);
      score.upper = upper[i];
      if (quant::is_zero_row(cosine2[i])) score.code = 0;
    }
  }
  return scores;
}

std::vector<std::size_t> CodeSet::nearest(const quant::PreparedQuery& query,
                                          std::size_t k) const {
  const std::vector<Score> all = scores(query);
  std::vector<std::size_t> order(rows_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  k = std::min(k, rows_);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      if (all[a].ranking() != all[b].ranking()) {
                        return all[a].ranking() > all[b].ranking();
                      }
                      return a < b;
                    });
  order.resize(k);
  return order;
}

}  // namespace vicinal::test
