// Statistics of the estimates: the bound that skips rows, and the recall that the codes reach.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "quant/quantiser.hpp"
#include "simd/bound.hpp"
#include "support/code_set.hpp"
#include "support/vectors.hpp"

namespace vicinal::quant {
namespace {

std::unique_ptr<Quantiser> make(std::uint32_t dim, std::uint32_t bits, std::uint64_t seed) {
  return std::move(
             Quantiser::create(dim, Metric::cosine, bits, seed, simd::best_kernels())).value();
}

double cosine(const float* a, const float* b, std::uint32_t dim) {
  double product = 0;
  double a2 = 0;
  double b2 = 0;
  for (std::uint32_t j = 0; j < dim; ++j) {
    product += double{a[j]} * double{b[j]};
    a2 += double{a[j]} * double{a[j]};
    b2 += double{b[j]} * double{b[j]};
  }
  return product / std::sqrt(a2 * b2);
}

// The share of (query, row) pairs whose true product the bound covers, over several rotations.
double covered_share(std::uint32_t dim, const test::VectorSet& rows,
                     const test::VectorSet& queries, float certainty, int seeds) {
  double covered = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto quantiser = make(dim, 1, static_cast<std::uint64_t>(seed));
    const test::CodeSet codes(*quantiser, rows);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      const auto scores =
          codes.scores(quantiser->prepare(queries.row(q), certainty, scratch.data()));
      for (std::size_t i = 0; i < rows.rows(); ++i) {
        covered += scores[i].upper >= cosine(rows.row(i), queries.row(q), dim) ? 1 : 0;
      }
    }
  }
  return covered / seeds / static_cast<double>(queries.rows() * rows.rows());
}

TEST(Bound, CoversTheTrueProductAtThreeStandardDeviations) {
  for (const std::uint32_t dim : {32u, 100u, 768u, 1032u}) {
    const double share = covered_share(dim, test::random_vectors(dim, 400, 1),
                                       test::random_vectors(dim, 10, 2), 3, 5);
    EXPECT_GE(share, 0.997) << dim;
  }
}

TEST(Bound, CoversRowsNearTheQuery) {
  constexpr std::uint32_t kDim = 256;
  const test::VectorSet queries = test::random_vectors(kDim, 10, 2);
  test::VectorSet rows = test::random_vectors(kDim, 400, 1);
  for (std::size_t i = 0; i < rows.values.size(); ++i) {
    rows.values[i] = rows.values[i] * 0.7f + queries.values[i % (10 * kDim)];
  }
  EXPECT_GE(covered_share(kDim, rows, queries, 3, 5), 0.997);
}

TEST(Bound, CoversWithOneDominantCoordinate) {
  constexpr std::uint32_t kDim = 256;
  test::VectorSet queries = test::random_vectors(kDim, 10, 2);
  for (std::size_t q = 0; q < 10; ++q) queries.values[q * kDim + q] = 200;
  EXPECT_GE(covered_share(kDim, test::random_vectors(kDim, 400, 1), queries, 3, 5), 0.997);
}

// The negative control: the bound is not simply too wide to fail.
TEST(Bound, AtNoCertaintyCoversAboutHalf) {
  const double share = covered_share(256, test::random_vectors(256, 400, 1),
                                     test::random_vectors(256, 10, 2), 0, 3);
  EXPECT_NEAR(share, 0.5, 0.05);
}

TEST(Estimate, IsUnbiasedWithTheErrorOfTheQuantiser) {
  // sqrt(d / (1 - d) / D), d the distortion of the normal Lloyd-Max quantiser.
  constexpr double kDistortion[] = {0.3634, 0.1175, 0.03454, 0.009497};
  constexpr std::uint32_t kDim = 256;
  const test::VectorSet rows = test::random_vectors(kDim, 500, 21);
  const test::VectorSet queries = test::random_vectors(kDim, 20, 22);
  for (std::uint32_t bits = 1; bits <= 4; ++bits) {
    const auto quantiser = make(kDim, bits, 5);
    const test::CodeSet codes(*quantiser, rows);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
    double sum = 0;
    double squares = 0;
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      const auto scores = codes.scores(quantiser->prepare(queries.row(q), 3, scratch.data()));
      for (std::size_t i = 0; i < rows.rows(); ++i) {
        const double error = scores[i].code - cosine(rows.row(i), queries.row(q), kDim);
        sum += error;
        squares += error * error;
      }
    }
    const double pairs = static_cast<double>(rows.rows() * queries.rows());
    const double d = kDistortion[bits - 1];
    const double expected = std::sqrt(d / (1 - d) / kDim);
    EXPECT_NEAR(std::sqrt(squares / pairs) / expected, 1, 0.06) << bits;
    EXPECT_LT(std::fabs(sum / pairs), expected * 0.1) << bits;
  }
}

double recall_of_ten(std::uint32_t bits, int seeds) {
  const std::string path = std::string(VICINAL_TEST_DATA) + "/glove100-2k";
  const test::VectorSet rows = test::read_fvecs(path + ".base.fvecs");
  const test::VectorSet queries = test::read_fvecs(path + ".query.fvecs");
  std::size_t width = 0;
  const std::vector<std::int32_t> truth = test::read_ivecs(path + ".gt100.ivecs", &width);
  EXPECT_EQ(rows.rows(), 2000u);
  EXPECT_EQ(queries.rows() * width, truth.size());
  std::size_t found = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto quantiser = make(rows.dim, bits, static_cast<std::uint64_t>(seed));
    const test::CodeSet codes(*quantiser, rows);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      for (const std::size_t row :
           codes.nearest(quantiser->prepare(queries.row(q), 3, scratch.data()), 10)) {
        for (std::size_t g = 0; g < 10; ++g) {
          found += static_cast<std::size_t>(truth[q * width + g]) == row ? 1 : 0;
        }
      }
    }
  }
  return static_cast<double>(found) / (10.0 * seeds * static_cast<double>(queries.rows()));
}

// A hundredth below the mean over rotations, which varies by about half as much between seeds.
TEST(Recall, OfWordVectorsIsWhatTheBitsAllow) {
  EXPECT_GT(recall_of_ten(1, 4), 0.53);
  EXPECT_GT(recall_of_ten(2, 4), 0.76);
  EXPECT_GT(recall_of_ten(3, 4), 0.87);
  EXPECT_GT(recall_of_ten(4, 4), 0.925);
  EXPECT_GT(recall_of_ten(8, 4), 0.99);
}

// D = 1032 factors into 8 * 129: a rotation by blocks of 8 loses a fifth of the recall there.
TEST(Recall, DoesNotDependOnTheFactorsOfTheDimension) {
  const std::string path = std::string(VICINAL_TEST_DATA) + "/glove100-2k";
  const test::VectorSet rows = test::read_fvecs(path + ".base.fvecs");
  double errors[3] = {};
  const std::uint32_t dims[3] = {1016, 1024, 1032};
  for (int d = 0; d < 3; ++d) {
    // Sparse and structured: the word's coordinates first, then zeros.
    test::VectorSet wide{dims[d], std::vector<float>(std::size_t{dims[d]} * 300)};
    for (std::size_t i = 0; i < 300; ++i) {
      for (std::size_t j = 0; j < 100; ++j) {
        wide.values[i * dims[d] + j] = rows.row(i)[j];
      }
    }
    const auto quantiser = make(dims[d], 2, 3);
    const test::CodeSet codes(*quantiser, wide);
    AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
    for (std::size_t q = 0; q < 30; ++q) {
      const auto scores = codes.scores(quantiser->prepare(wide.row(q), 3, scratch.data()));
      for (std::size_t i = 30; i < 300; ++i) {
        const double error = scores[i].code - cosine(wide.row(i), wide.row(q), dims[d]);
        errors[d] += error * error;
      }
    }
  }
  EXPECT_NEAR(errors[0] / errors[1], 1, 0.15);
  EXPECT_NEAR(errors[2] / errors[1], 1, 0.15);
}

}  // namespace
}  // namespace vicinal::quant
