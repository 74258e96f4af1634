// The origin of a sample, and codes that are measured from one.
#include "quant/calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "quant/quantiser.hpp"
#include "support/code_set.hpp"
#include "support/vectors.hpp"

namespace vicinal::quant {
namespace {

using test::VectorSet;

std::unique_ptr<Quantiser> make(std::uint32_t dim, Metric metric, std::uint32_t bits,
                                const simd::Kernels& kernels = simd::best_kernels()) {
  return std::move(Quantiser::create(dim, metric, bits, 3, kernels)).value();
}

// Normal rows around a centre at `distance` times their own length, about.
VectorSet off_centre(std::uint32_t dim, std::size_t rows, float distance, std::uint64_t seed) {
  VectorSet set = test::random_vectors(dim, rows, seed);
  const VectorSet centre = test::random_vectors(dim, 1, 99);
  for (std::size_t i = 0; i < set.values.size(); ++i) {
    set.values[i] += distance * centre.values[i % dim];
  }
  return set;
}

std::vector<float> origin_of(const VectorSet& sample, Metric metric) {
  const std::uint64_t kept = sample_rows_kept(sample.dim, sample.rows());
  std::vector<float> rows(kept * sample.dim);
  for (std::uint64_t i = 0; i < sample.rows(); ++i) {
    const std::uint64_t place = sample_place(i, sample.rows(), kept);
    if (place == kept) continue;
    keep_sample_row(sample.row(i), sample.dim, metric, rows.data() + place * sample.dim);
  }
  std::vector<float> column(kept);
  std::vector<float> origin(sample.dim);
  fit_origin(rows.data(), kept, sample.dim, column.data(), origin.data());
  EXPECT_TRUE(is_origin(origin.data(), sample.dim, metric));
  return origin;
}

double true_score(const float* q, const float* x, std::uint32_t dim, Metric metric) {
  double qx = 0;
  double q2 = 0;
  double x2 = 0;
  double apart2 = 0;
  for (std::uint32_t j = 0; j < dim; ++j) {
    qx += double{q[j]} * double{x[j]};
    q2 += double{q[j]} * double{q[j]};
    x2 += double{x[j]} * double{x[j]};
    apart2 += (double{q[j]} - double{x[j]}) * (double{q[j]} - double{x[j]});
  }
  return metric == Metric::l2 ? -apart2 : qx / std::sqrt(q2 * x2);
}

TEST(Sample, IsThinnedOutEvenlyEachPlaceOnce) {
  for (const std::uint64_t rows : {32u, 33u, 1000u, 1024u, 1025u, 2047u, 5000u, 100'003u}) {
    const std::uint64_t kept = sample_rows_kept(100, rows);
    EXPECT_EQ(kept, std::min<std::uint64_t>(rows, kSampleRowsMax));
    std::uint64_t next = 0;
    std::uint64_t last = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint64_t place = sample_place(row, rows, kept);
      if (place == kept) continue;
      ASSERT_EQ(place, next++) << rows;
      ASSERT_TRUE(place == 0 || row - last <= rows / kept + 1) << rows;
      last = row;
    }
    EXPECT_EQ(next, kept) << rows;
  }
}

TEST(Sample, OfLongVectorsKeepsToItsMemory) {
  EXPECT_EQ(sample_rows_kept(16384, 5000), 256u);
  EXPECT_EQ(sample_rows_kept(16384, 40), 40u);
  EXPECT_EQ(sample_rows_kept(1, 5000), kSampleRowsMax);
}

TEST(Origin, IsTheMean) {
  const VectorSet sample = off_centre(20, 1000, 2, 5);
  const auto origin = origin_of(sample, Metric::l2);
  for (std::uint32_t j = 0; j < 20; ++j) {
    double mean = 0;
    for (std::size_t i = 0; i < 1000; ++i) mean += double{sample.row(i)[j]} / 1000;
    EXPECT_NEAR(origin[j], mean, 0.03) << j;
  }
}

TEST(Origin, StaysWhereItIsWhenAFewRowsAreWild) {
  VectorSet sample = off_centre(20, 1000, 2, 5);
  const auto before = origin_of(sample, Metric::l2);
  for (std::size_t i = 0; i < 1000; i += 25) sample.values[i * 20 + i % 20] = 9e15f;
  for (std::uint32_t j = 0; j < 20; ++j) sample.values[j + 20] = -9e15f;
  const auto after = origin_of(sample, Metric::l2);
  for (std::uint32_t j = 0; j < 20; ++j) EXPECT_NEAR(before[j], after[j], 0.05) << j;
}

TEST(Origin, OfEqualRowsIsThatRowAndOfZerosZero) {
  VectorSet sample{5, {}};
  for (int i = 0; i < 40; ++i) sample.values.insert(sample.values.end(), {3, 0, -4, 0, 0});
  EXPECT_EQ(origin_of(sample, Metric::l2), (std::vector<float>{3, 0, -4, 0, 0}));
  EXPECT_EQ(origin_of(sample, Metric::cosine), (std::vector<float>{0.6f, 0, -0.8f, 0, 0}));
  std::fill(sample.values.begin(), sample.values.end(), 0.0f);
  EXPECT_EQ(origin_of(sample, Metric::cosine), std::vector<float>(5));
}

TEST(Origin, FromElsewhereIsCheckedBeforeUse) {
  std::vector<float> origin(4, 0.4f);
  EXPECT_TRUE(is_origin(origin.data(), 4, Metric::cosine));
  EXPECT_FALSE(is_origin(origin.data(), 4, Metric::ip));
  origin[2] = 0.9f;
  EXPECT_FALSE(is_origin(origin.data(), 4, Metric::cosine));
  EXPECT_TRUE(is_origin(origin.data(), 4, Metric::l2));
  for (const float bad : {1e16f, -1e16f, INFINITY, -INFINITY, NAN}) {
    origin[3] = bad;
    EXPECT_FALSE(is_origin(origin.data(), 4, Metric::l2)) << bad;
  }
}

// Share of pairs whose true score the bound covers, and the error of whole codes.
struct Quality {
  double covered = 0;
  double error = 0;
};

Quality quality(Metric metric, std::uint32_t bits, const VectorSet& rows,
                const VectorSet& queries, const float* origin, float certainty) {
  const auto quantiser = make(rows.dim, metric, bits);
  const test::CodeSet codes(*quantiser, rows, origin);
  AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
  Quality found;
  const double pairs = static_cast<double>(queries.rows() * rows.rows());
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const auto scores =
        codes.scores(quantiser->prepare(queries.row(q), certainty, scratch.data(), origin));
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const double right = true_score(queries.row(q), rows.row(i), rows.dim, metric);
      found.covered += scores[i].upper >= right ? 1 / pairs : 0;
      found.error += (scores[i].code - right) * (scores[i].code - right) / pairs;
    }
  }
  return found;
}

TEST(CalibratedBound, CoversTheTrueScoreAtThreeStandardDeviations) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    for (const std::uint32_t dim : {32u, 100u, 768u}) {
      for (const float distance : {0.0f, 0.7f, 3.0f}) {
        const VectorSet rows = off_centre(dim, 500, distance, 1);
        const VectorSet queries = off_centre(dim, 20, distance, 2);
        const auto origin = origin_of(rows, metric);
        const Quality found = quality(metric, 1, rows, queries, origin.data(), 3);
        EXPECT_GE(found.covered, 0.997) << dim << ' ' << distance;
        // The negative control: it is not simply too wide to fail.
        EXPECT_NEAR(quality(metric, 1, rows, queries, origin.data(), 0).covered, 0.5, 0.1);
      }
    }
  }
}

// Rows and queries that the sample knew nothing of lose recall, never the bound.
TEST(CalibratedBound, HoldsForRowsAndQueriesFarFromTheSample) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    const auto origin = origin_of(off_centre(128, 500, 3, 1), metric);
    for (const float distance : {-6.0f, 0.0f, 20.0f}) {
      const VectorSet rows = off_centre(128, 500, distance, 3);
      const VectorSet queries = off_centre(128, 20, distance, 4);
      EXPECT_GE(quality(metric, 1, rows, queries, origin.data(), 3).covered, 0.997) << distance;
    }
  }
}

TEST(CalibratedCodes, EstimateTheScoreWithLessErrorWhereRowsLieOffCentre) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    const VectorSet rows = off_centre(256, 300, 1.5f, 1);
    const VectorSet queries = off_centre(256, 20, 1.5f, 2);
    const auto origin = origin_of(rows, metric);
    for (const std::uint32_t bits : {1u, 2u, 3u, 4u, 8u}) {
      const double plain = quality(metric, bits, rows, queries, nullptr, 3).error;
      const double moved = quality(metric, bits, rows, queries, origin.data(), 3).error;
      EXPECT_LT(moved, plain / 2) << bits;
    }
  }
}

TEST(CalibratedCodes, OfAZeroRowScoreZeroAndTheirBoundNeverHidesThem) {
  for (const char* const* name = simd::available_kernels(); *name != nullptr; ++name) {
    for (const std::uint32_t dim : {1u, 8u, 100u, 1032u}) {
      const auto quantiser = make(dim, Metric::cosine, 4, *simd::find_kernels(*name));
      VectorSet rows{dim, std::vector<float>(dim)};
      const VectorSet queries = off_centre(dim, 20, 1, 7);
      std::vector<float> origin(dim, 0.5f / std::sqrt(static_cast<float>(dim)));
      const test::CodeSet codes(*quantiser, rows, origin.data());
      EXPECT_TRUE(is_zero_row(codes.factors(0).plane_cosine2));
      AlignedBuffer scratch = test::scratch_buffer(quantiser->prepare_scratch_bytes());
      for (std::size_t q = 0; q < queries.rows(); ++q) {
        for (const float certainty : {0.0f, 3.0f, 64.0f}) {
          const auto scores = codes.scores(
              quantiser->prepare(queries.row(q), certainty, scratch.data(), origin.data()));
          EXPECT_GT(scores[0].upper, 0);
          EXPECT_EQ(scores[0].ranking(), 0);
        }
      }
    }
  }
}

TEST(CalibratedCodes, DecodeToAVectorNearTheRow) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    VectorSet rows = off_centre(100, 50, 1, 1);
    const auto origin = origin_of(rows, metric);
    std::copy(origin.begin(), origin.end(), rows.values.begin());          // no direction
    std::fill(rows.values.begin() + 100, rows.values.begin() + 200, 0.0f);  // nor a place
    const auto quantiser = make(100, metric, 8);
    const test::CodeSet codes(*quantiser, rows, origin.data());
    AlignedBuffer scratch = test::scratch_buffer(quantiser->encode_scratch_bytes());
    std::vector<float> decoded(100);
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      quantiser->decode(codes.packed(i), codes.factors(i), scratch.data(), decoded.data(),
                        origin.data());
      std::vector<float> expected(100);
      keep_sample_row(rows.row(i), 100, metric, expected.data());
      double apart2 = 0;
      double distance2 = 0;  // from the origin
      for (std::uint32_t j = 0; j < 100; ++j) {
        apart2 += std::pow(double{decoded[j]} - double{expected[j]}, 2);
        distance2 += std::pow(double{expected[j]} - double{origin[j]}, 2);
      }
      EXPECT_LE(apart2, 1e-3 * distance2) << i;
      if (metric == Metric::cosine && i == 1) {
        EXPECT_EQ(decoded, std::vector<float>(100));
      }
    }
  }
}

TEST(CalibratedCodes, AreTheSameBitsWithEveryKernelTable) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    const VectorSet rows = off_centre(72, 70, 1, 1);
    const auto origin = origin_of(rows, metric);
    for (const std::uint32_t bits : {1u, 2u, 3u, 4u, 8u}) {
      const auto scalar = make(72, metric, bits, *simd::find_kernels("scalar"));
      const test::CodeSet expected(*scalar, rows, origin.data());
      AlignedBuffer scratch = test::scratch_buffer(scalar->prepare_scratch_bytes());
      const auto scores =
          expected.scores(scalar->prepare(rows.row(9), 3, scratch.data(), origin.data()));
      for (const char* const* name = simd::available_kernels(); *name != nullptr; ++name) {
        const auto other = make(72, metric, bits, *simd::find_kernels(*name));
        const test::CodeSet codes(*other, rows, origin.data());
        const auto again =
            codes.scores(other->prepare(rows.row(9), 3, scratch.data(), origin.data()));
        for (std::size_t i = 0; i < rows.rows(); ++i) {
          EXPECT_EQ(std::memcmp(codes.packed(i), expected.packed(i),
                                scalar->layout().packed_row_bytes), 0);
          EXPECT_EQ(std::memcmp(&codes.factors(i), &expected.factors(i), sizeof(RowFactors)), 0);
          EXPECT_EQ(std::memcmp(&again[i], &scores[i], sizeof again[i]), 0) << *name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::quant
