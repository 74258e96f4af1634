#include "support/golden.hpp"

#include <vector>

#include "base/checksum.hpp"
#include "quant/codebook.hpp"
#include "quant/quantiser.hpp"
#include "support/code_set.hpp"
#include "support/vectors.hpp"

namespace vicinal::test {
namespace {

constexpr float kCertainty = 3;
constexpr std::size_t kRows = 40;  // more than a block
constexpr std::size_t kQueries = 12;

class Digest {
 public:
  template <class T>
  void add(const T* values, std::size_t count) noexcept {
    sum_ = checksum64(values, count * sizeof(T), sum_);
  }
  template <class T>
  void add(T value) noexcept {
    static_assert(std::is_arithmetic_v<T>);
    add(&value, 1);
  }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

// Random rows, the first eleven of which are made special.
[[nodiscard]] VectorSet golden_rows(std::uint32_t dim) {
  VectorSet set = random_vectors(dim, kRows, 1000 + dim);
  float* values = set.values.data();
  const auto scale_row = [&](std::size_t row, float by) {
    for (std::uint32_t j = 0; j < dim; ++j) values[row * dim + j] *= by;
  };
  const auto fill_row = [&](std::size_t row, float with) {
    for (std::uint32_t j = 0; j < dim; ++j) values[row * dim + j] = with;
  };
  fill_row(0, 0);
  fill_row(1, 0);
  values[1 * dim] = 1;
  fill_row(2, 0);
  values[2 * dim + dim - 1] = -3.5f;
  scale_row(3, 1e-38f);
  scale_row(4, 1e-44f);    // denormal
  values[4 * dim] = 1e-45f;
  scale_row(5, 1e15f);
  fill_row(6, 9.9e15f);
  fill_row(7, -0.0f);
  fill_row(8, 1);
  values[9 * dim] *= 1000;  // one dominant coordinate
  for (std::uint32_t j = 0; j < dim; ++j) values[10 * dim + j] = j % 2 == 0 ? 1.0f : -1.0f;
  return set;
}

void add_rows(const quant::Quantiser& quantiser, const CodeSet& codes, Digest& digest) {
  AlignedBuffer scratch = scratch_buffer(quantiser.encode_scratch_bytes());
  std::vector<float> decoded(quantiser.layout().dim);
  for (std::size_t i = 0; i < codes.rows(); ++i) {
    const quant::RowFactors& factors = codes.factors(i);
    digest.add(codes.packed(i), quantiser.layout().packed_row_bytes);
    digest.add(factors.scale);
    digest.add(factors.plane_scale);
    digest.add(factors.plane_cosine2);
    quantiser.decode(codes.packed(i), factors, scratch.data(), decoded.data());
    digest.add(decoded.data(), decoded.size());
  }
}

void add_query(const quant::PreparedQuery& query, std::uint32_t groups, Digest& digest) {
  const simd::PlaneQuery& plane = query.plane;
  digest.add(plane.tables, std::size_t{groups} * simd::kGroupBytes);
  for (const float value : {plane.step, plane.base, plane.slope,
                            plane.weight, plane.coded_dim, plane.query2, query.code_step}) {
    digest.add(value);
  }
  const std::size_t values = std::size_t{2} * query.code.half_chunks * simd::kChunkValues;
  if (query.code.values8 != nullptr) digest.add(query.code.values8, values);
  if (query.code.values16 != nullptr) digest.add(query.code.values16, values);
  digest.add(query.code.value_sum);
}

}  // namespace

std::uint64_t codebook_digest(std::uint32_t coded_dim, std::uint32_t bits) {
  const quant::Codebook codebook(coded_dim, bits);
  const simd::Levels& levels = codebook.levels();
  Digest digest;
  digest.add(levels.biased, 16);
  digest.add(levels.wide, 128);
  digest.add(levels.thresholds, 128);
  return digest.sum();
}

std::uint64_t golden_digest(std::uint32_t dim, std::uint32_t bits, Metric metric,
                            const simd::Kernels& kernels) {
  const auto quantiser = quant::Quantiser::create(dim, metric, bits, 7 * dim + bits, kernels);
  const VectorSet rows = golden_rows(dim);
  const CodeSet codes(**quantiser, rows);
  Digest digest;
  add_rows(**quantiser, codes, digest);
  AlignedBuffer scratch = scratch_buffer((*quantiser)->prepare_scratch_bytes());
  for (std::size_t i = 0; i < kQueries; ++i) {
    const quant::PreparedQuery query =
        (*quantiser)->prepare(rows.row(i), kCertainty, scratch.data());
    add_query(query, (*quantiser)->layout().groups, digest);
    for (const CodeSet::Score& score : codes.scores(query)) {
      digest.add(score.dot);
      digest.add(score.code);
      digest.add(score.upper);
    }
  }
  return digest.sum();
}

}  // namespace vicinal::test
