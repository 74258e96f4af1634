#include "quant/codebook.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vicinal::quant {
namespace {

constexpr std::uint32_t kBits[] = {1, 2, 3, 4, 8};
constexpr std::uint32_t kDims[] = {8, 16, 24, 64, 104, 128, 768, 1032, 4096, 16384};

TEST(Codebook, EveryLevelIsTheCentroidOfItsCell) {
  for (const std::uint32_t dim : kDims) {
    for (const std::uint32_t bits : kBits) {
      const std::uint32_t count = 1u << (bits - 1);
      double levels[kMagnitudesMax];
      lloyd_max(dim, count, levels);
      for (std::uint32_t m = 0; m < count; ++m) {
        const double low = m == 0 ? 0 : (levels[m - 1] + levels[m]) / 2;
        const double high = m + 1 == count ? std::fmin(1, 9 / std::sqrt(double{1} * dim))
                                           : (levels[m] + levels[m + 1]) / 2;
        const Moments moments = density_moments(dim, low, high);
        EXPECT_NEAR(moments.first / moments.weight / levels[m], 1, 1e-11)
            << dim << ' ' << bits << ' ' << m;
      }
    }
  }
}

// Max's table for the normal distribution, which the density nears as D grows.
TEST(Codebook, NearsTheNormalQuantiserInHighDimensions) {
  const double root = std::sqrt(16384.0);
  double levels[kMagnitudesMax];
  lloyd_max(16384, 1, levels);
  EXPECT_NEAR(levels[0] * root, 0.7979, 2e-4);
  lloyd_max(16384, 2, levels);
  EXPECT_NEAR(levels[0] * root, 0.4528, 2e-4);
  EXPECT_NEAR(levels[1] * root, 1.510, 1e-3);
  lloyd_max(16384, 8, levels);
  EXPECT_NEAR(levels[0] * root, 0.1284, 2e-4);
  EXPECT_NEAR(levels[7] * root, 2.733, 1e-3);
}

TEST(Codebook, LevelsAndThresholdsAscendInEveryDimension) {
  for (std::uint32_t dim = 8; dim <= 16384; dim += dim < 1024 ? 8 : 1024) {
    for (const std::uint32_t bits : kBits) {
      const Codebook codebook(dim, bits);
      const simd::Levels& levels = codebook.levels();
      const std::uint32_t count = codebook.magnitudes();
      EXPECT_EQ(codebook.level(count - 1), bits == 8 ? 8191 : 127);
      EXPECT_GE(codebook.level(0), 1);
      for (std::uint32_t m = 1; m < count; ++m) {
        ASSERT_GT(codebook.level(m), codebook.level(m - 1)) << dim << ' ' << bits;
        if (m + 1 < count) {
          ASSERT_GT(levels.thresholds[m], levels.thresholds[m - 1]) << dim << ' ' << bits;
        }
      }
    }
  }
}

TEST(Codebook, UnusedEntriesAreNeutral) {
  const Codebook three(96, 3);
  for (std::uint32_t m = 4; m < 16; ++m) EXPECT_EQ(three.levels().biased[m], 0);
  for (std::uint32_t m = 3; m < 128; ++m) {
    EXPECT_EQ(three.levels().thresholds[m], std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(three.levels().wide[0], 0);
  EXPECT_EQ(Codebook(96, 8).levels().thresholds[127], std::numeric_limits<float>::infinity());
}

// Rounding the levels to integers must not cost what the bits bought.
TEST(Codebook, IntegerLevelsKeepTheErrorOfTheIdealOnes) {
  constexpr double kIdeal[] = {0.3634, 0.1175, 0.03454, 0.009497};  // Max, normal distribution
  for (std::uint32_t bits = 1; bits <= 4; ++bits) {
    const std::uint32_t dim = 4096;
    const Codebook codebook(dim, bits);
    double error = 0;
    double weight = 0;
    double second = 0;
    const double step = 8 / std::sqrt(double{1} * dim) / 4000;
    for (int i = 0; i < 4000; ++i) {
      const double t = (i + 0.5) * step;
      std::uint32_t m = 0;
      while (static_cast<float>(t) > codebook.levels().thresholds[m]) ++m;
      const double density = density_moments(dim, i * step, (i + 1) * step).weight;
      const double off = t - codebook.level(m) * codebook.unit();
      error += density * off * off;
      weight += density;
      second += density * t * t;
    }
    EXPECT_NEAR(second / weight * dim, 1, 1e-2);
    EXPECT_LT(error / second / kIdeal[bits - 1], 1.012) << bits;
  }
}

}  // namespace
}  // namespace vicinal::quant
