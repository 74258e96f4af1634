#include "quant/quantiser.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/code_set.hpp"
#include "support/vectors.hpp"

namespace vicinal::quant {
namespace {

constexpr std::uint32_t kBits[] = {1, 2, 3, 4, 8};

std::unique_ptr<Quantiser> make(std::uint32_t dim, Metric metric, std::uint32_t bits) {
  return std::move(Quantiser::create(dim, metric, bits, 11, simd::best_kernels())).value();
}

double length(const float* vector, std::uint32_t dim) {
  double sum = 0;
  for (std::uint32_t j = 0; j < dim; ++j) sum += double{vector[j]} * double{vector[j]};
  return std::sqrt(sum);
}

double cosine(const float* a, const float* b, std::uint32_t dim) {
  double sum = 0;
  for (std::uint32_t j = 0; j < dim; ++j) sum += double{a[j]} * double{b[j]};
  return sum / length(a, dim) / length(b, dim);
}

struct Encoded {
  std::vector<std::uint8_t> packed;
  RowFactors factors;
  std::vector<float> decoded;
};

Encoded encode(const Quantiser& quantiser, const float* vector) {
  Encoded row{std::vector<std::uint8_t>(quantiser.layout().packed_row_bytes), {},
              std::vector<float>(quantiser.layout().dim)};
  AlignedBuffer scratch = test::scratch_buffer(quantiser.encode_scratch_bytes());
  quantiser.encode(vector, scratch.data(), row.packed.data(), &row.factors);
  quantiser.decode(row.packed.data(), row.factors, scratch.data(), row.decoded.data());
  return row;
}

OptionName refused_option(std::uint32_t dim, Metric metric, std::uint32_t bits) {
  const auto made = Quantiser::create(dim, metric, bits, 0, simd::best_kernels());
  EXPECT_EQ(made.code(), Code::bad_option);
  return static_cast<OptionName>(made.status().a());
}

TEST(Quantiser, RefusesOptionsOutsideTheirRange) {
  EXPECT_EQ(refused_option(0, Metric::ip, 4), OptionName::dim);
  EXPECT_EQ(refused_option(16385, Metric::ip, 4), OptionName::dim);
  for (const std::uint32_t bits : {0u, 5u, 6u, 7u, 9u, 16u}) {
    EXPECT_EQ(refused_option(8, Metric::ip, bits), OptionName::bits);
  }
  EXPECT_EQ(refused_option(8, static_cast<Metric>(3), 4), OptionName::metric);
}

TEST(Quantiser, DecodesToNearTheRowAndTheNearerTheMoreBits) {
  constexpr double kCosines[] = {0.78, 0.93, 0.98, 0.994, 0.9999};
  for (const std::uint32_t dim : {64u, 100u, 768u, 1032u}) {
    const test::VectorSet rows = test::random_vectors(dim, 20, 3);
    for (const std::uint32_t bits : kBits) {
      const auto quantiser = make(dim, Metric::l2, bits);
      double sum = 0;
      for (std::size_t i = 0; i < rows.rows(); ++i) {
        const Encoded row = encode(*quantiser, rows.row(i));
        sum += cosine(rows.row(i), row.decoded.data(), dim);
        EXPECT_NEAR(length(row.decoded.data(), dim) / length(rows.row(i), dim), 1, 1e-5);
      }
      EXPECT_GT(sum / 20, kCosines[simd::bits_index(bits)]) << dim << ' ' << bits;
    }
  }
}

TEST(Quantiser, DecodesToUnitLengthForCosine) {
  const test::VectorSet rows = test::random_vectors(100, 4, 3);
  const auto quantiser = make(100, Metric::cosine, 4);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    EXPECT_NEAR(length(encode(*quantiser, rows.row(i)).decoded.data(), 100), 1, 1e-6);
  }
}

TEST(Quantiser, CosineCodesDoNotDependOnTheLength) {
  const auto quantiser = make(40, Metric::cosine, 4);
  test::VectorSet rows = test::random_vectors(40, 1, 8);
  const Encoded whole = encode(*quantiser, rows.row(0));
  for (float& value : rows.values) value *= 1024;  // exact
  const Encoded scaled = encode(*quantiser, rows.row(0));
  EXPECT_EQ(whole.packed, scaled.packed);
  EXPECT_EQ(whole.factors.scale, scaled.factors.scale);
}

TEST(Quantiser, HandlesEveryMagnitudeThatIsValid) {
  const test::VectorSet rows = test::random_vectors(48, 1, 6);
  for (const Metric metric : {Metric::ip, Metric::l2}) {
    for (const std::uint32_t bits : kBits) {
      const auto quantiser = make(48, metric, bits);
      const Encoded usual = encode(*quantiser, rows.row(0));
      for (const float by : {1e-36f, 1e-20f, 1e10f, 2e15f}) {
        std::vector<float> row(rows.values);
        for (float& value : row) value *= by;
        const Encoded scaled = encode(*quantiser, row.data());
        EXPECT_NEAR(scaled.factors.plane_cosine2, usual.factors.plane_cosine2, 1e-6);
        EXPECT_NEAR(scaled.factors.scale / by / usual.factors.scale, 1, 1e-2) << by;
        EXPECT_NEAR(cosine(scaled.decoded.data(), usual.decoded.data(), 48), 1, 1e-3) << by;
      }
    }
  }
}

TEST(Quantiser, HandlesTheLargestAndTheSmallestRows) {
  for (const std::uint32_t bits : kBits) {
    const auto large = make(16384, Metric::l2, bits);
    const std::vector<float> most(16384, 9.99e15f);
    const Encoded row = encode(*large, most.data());
    EXPECT_TRUE(std::isfinite(row.factors.scale) && std::isfinite(row.factors.plane_scale));
    EXPECT_NEAR(length(row.decoded.data(), 16384) / length(most.data(), 16384), 1, 1e-4);
    const float least = std::numeric_limits<float>::denorm_min();
    const Encoded small = encode(*make(1, Metric::cosine, bits), &least);
    EXPECT_NEAR(small.decoded[0], 1, 1e-6);
    const float minus = -least;
    EXPECT_NEAR(encode(*make(1, Metric::cosine, bits), &minus).decoded[0], -1, 1e-6);
  }
}

TEST(Quantiser, TheZeroRowHasNoFactorsAndDecodesToZero) {
  const std::vector<float> zero(20, -0.0f);
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    const Encoded row = encode(*make(20, metric, 4), zero.data());
    EXPECT_EQ(row.factors.scale, 0);
    EXPECT_EQ(row.factors.plane_scale, 0);
    EXPECT_EQ(row.factors.plane_cosine2, 0);
    EXPECT_EQ(row.packed, std::vector<std::uint8_t>(row.packed.size()));
    EXPECT_EQ(row.decoded, std::vector<float>(20));
  }
}

TEST(Quantiser, ScoresOfZeroRowsAndZeroQueriesAreThoseOfAZeroProduct) {
  test::VectorSet rows = test::random_vectors(20, 3, 5);
  for (int j = 0; j < 20; ++j) rows.values[20 + j] = 0;
  const std::vector<float> zero(20);
  for (const std::uint32_t bits : kBits) {
    for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
      const auto quantiser = make(20, metric, bits);
      const test::CodeSet codes(*quantiser, rows);
      AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
      const PreparedQuery query = quantiser->prepare(rows.row(0), 3, scratch.data());
      const double query2 = std::pow(length(rows.row(0), 20), 2);
      const auto to_zero_row = codes.scores(query)[1];
      EXPECT_NEAR(to_zero_row.code, metric == Metric::l2 ? -query2 : 0, 1e-4);
      EXPECT_EQ(to_zero_row.code, to_zero_row.upper);
      const PreparedQuery none = quantiser->prepare(zero.data(), 3, scratch.data());
      EXPECT_TRUE(none.zero);
      for (std::size_t i = 0; i < 3; ++i) {
        const auto score = codes.scores(none)[i];
        const double row2 = std::pow(length(rows.row(i), 20), 2);
        EXPECT_NEAR(score.code, metric == Metric::l2 ? -row2 : 0, 1e-4);
        EXPECT_EQ(score.code, score.upper);
      }
    }
  }
}

TEST(Quantiser, PreparesNoTablesForASearchOfWholeCodes) {
  const test::VectorSet rows = test::random_vectors(100, 1, 6);
  for (const std::uint32_t bits : kBits) {
    const auto quantiser = make(100, Metric::cosine, bits);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
    const auto written = [&](float certainty) {
      std::memset(scratch.data(), 0xa5, scratch.size());
      const PreparedQuery query = quantiser->prepare(rows.row(0), certainty, scratch.data());
      const std::uint8_t* tables = query.plane.tables;
      const std::size_t bytes = std::size_t{quantiser->layout().groups} * simd::kGroupBytes;
      return static_cast<std::size_t>(std::count_if(
          tables, tables + bytes, [](std::uint8_t byte) { return byte != 0xa5; }));
    };
    EXPECT_EQ(written(std::numeric_limits<float>::infinity()), 0u) << bits;
    EXPECT_GT(written(64), 0u) << bits;
  }
}

TEST(Quantiser, ScoresEstimateTheMetric) {
  constexpr std::uint32_t kDim = 200;
  const test::VectorSet rows = test::random_vectors(kDim, 40, 5);
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    const auto quantiser = make(kDim, metric, 8);
    const test::CodeSet codes(*quantiser, rows);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
    const PreparedQuery query = quantiser->prepare(rows.row(3), 3, scratch.data());
    const auto scores = codes.scores(query);
    const double query_length = length(rows.row(3), kDim);
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const double row_length = length(rows.row(i), kDim);
      const double product = cosine(rows.row(i), rows.row(3), kDim) * row_length * query_length;
      const double expected = metric == Metric::cosine ? product / row_length / query_length
                              : metric == Metric::ip   ? product
                                                       : 2 * product - row_length * row_length -
                                                             query_length * query_length;
      const double unit = metric == Metric::cosine ? 1 : 2 * row_length * query_length;
      EXPECT_NEAR(scores[i].code, expected, 0.003 * unit) << i;
    }
  }
}

TEST(Quantiser, ValidateNamesTheFirstCoordinateThatIsNotAllowed) {
  const float limit = std::nextafter(kMagnitudeLimit, 0.0f);
  std::vector<float> row(67, limit);
  row[5] = -limit;
  row[6] = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(Quantiser::validate(row.data(), 67, 0).ok());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, -nan, infinity, -infinity, kMagnitudeLimit, -kMagnitudeLimit}) {
    for (const std::uint32_t at : {0u, 31u, 66u}) {
      std::vector<float> broken(row);
      broken[at] = bad;
      broken[66] = nan;
      const Status status = Quantiser::validate(broken.data(), 67, 9);
      EXPECT_EQ(status.code(), Code::not_finite);
      EXPECT_EQ(status.a(), 9u);
      EXPECT_EQ(status.b(), at);
    }
  }
}

TEST(Quantiser, DecodeReadsOnlyItsRowWhateverTheBytes) {
  Random random(3);
  for (const std::uint32_t bits : kBits) {
    const auto quantiser = make(17, Metric::ip, bits);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->encode_scratch_bytes());
    std::vector<std::uint8_t> packed(quantiser->layout().packed_row_bytes);
    for (auto& byte : packed) byte = static_cast<std::uint8_t>(random.below(256));
    std::vector<float> decoded(17);
    quantiser->decode(packed.data(), RowFactors{1, 1, 1}, scratch.data(), decoded.data());
    for (const float value : decoded) EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace vicinal::quant
