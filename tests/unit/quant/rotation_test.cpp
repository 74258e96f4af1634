#include "quant/rotation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "simd/kernels.hpp"
#include "support/vectors.hpp"

namespace vicinal::quant {
namespace {

const simd::Kernels& kernels() { return simd::best_kernels(); }

std::vector<float> rotated(const Rotation& rotation, const std::vector<float>& vector) {
  std::vector<float> x(rotation.array_floats());
  std::vector<float> spare(rotation.array_floats());
  std::copy(vector.begin(), vector.end(), x.begin());
  rotation.apply(kernels(), x.data(), spare.data());
  x.resize(rotation.coded_dim());
  return x;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += double{a[j]} * double{b[j]};
  return sum;
}

std::vector<float> unit(std::uint32_t dim, std::uint32_t at) {
  std::vector<float> vector(dim);
  vector[at] = 1;
  return vector;
}

// Mean fourth power of sqrt(D) * coordinate, 3 D / (D + 2) for a uniformly random direction.
double kurtosis(const std::vector<float>& vector) {
  double fourth = 0;
  for (const float value : vector) {
    const double square = double{value} * double{value} * static_cast<double>(vector.size());
    fourth += square * square;
  }
  return fourth / static_cast<double>(vector.size());
}

constexpr std::uint32_t kDims[] = {8,   16,  24,  32,  40,  56,   64,   96,   104,  120,  128, 136,
                                   504, 512, 520, 768, 776, 1016, 1024, 1032, 1536, 2040, 16384};

TEST(Rotation, KeepsLengthsAndAngles) {
  for (const std::uint32_t dim : kDims) {
    const auto rotation = Rotation::create(dim, dim);
    ASSERT_TRUE(rotation.ok());
    const test::VectorSet set = test::random_vectors(dim, 2, 5);
    const std::vector<float> a(set.row(0), set.row(0) + dim);
    const std::vector<float> b(set.row(1), set.row(1) + dim);
    const std::vector<float> ra = rotated(*rotation, a);
    const std::vector<float> rb = rotated(*rotation, b);
    EXPECT_NEAR(dot(ra, ra) / dot(a, a), 1, 2e-6) << dim;
    EXPECT_NEAR(dot(ra, rb) - dot(a, b), 0, 2e-6 * dot(a, a)) << dim;
  }
}

TEST(Rotation, MapsAxesToOrthonormalVectors) {
  for (const std::uint32_t dim : {8u, 24u, 56u, 104u}) {
    const auto rotation = Rotation::create(dim, 3);
    std::vector<std::vector<float>> columns;
    for (std::uint32_t j = 0; j < dim; ++j) columns.push_back(rotated(*rotation, unit(dim, j)));
    for (std::uint32_t i = 0; i < dim; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j) {
        ASSERT_NEAR(dot(columns[i], columns[j]), i == j ? 1 : 0, 1e-6)
            << dim << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST(Rotation, InvertsItself) {
  for (const std::uint32_t dim : kDims) {
    const auto rotation = Rotation::create(dim, 17);
    const test::VectorSet set = test::random_vectors(dim, 1, dim);
    std::vector<float> x(rotation->array_floats());
    std::vector<float> spare(rotation->array_floats());
    std::copy(set.values.begin(), set.values.end(), x.begin());
    rotation->apply(kernels(), x.data(), spare.data());
    rotation->invert(kernels(), x.data(), spare.data());
    for (std::uint32_t j = 0; j < dim; ++j) ASSERT_NEAR(x[j], set.values[j], 2e-5) << dim;
  }
}

// An axis is the hardest input: whatever one pair of rounds leaves alone stays a spike.
TEST(Rotation, SpreadsEveryAxisWhateverTheFactorsOfTheDimension) {
  for (const std::uint32_t dim : kDims) {
    if (dim > 2048) continue;
    const auto rotation = Rotation::create(dim, 23);
    double largest = 0;
    double kurtosis_sum = 0;
    for (std::uint32_t j = 0; j < dim; ++j) {
      const std::vector<float> column = rotated(*rotation, unit(dim, j));
      for (const float value : column) largest = std::max(largest, std::fabs(double{value}));
      kurtosis_sum += kurtosis(column);
    }
    const double expected = 3.0 * dim / (dim + 2);
    // No entry of the matrix beyond 7.5 standard deviations, nor in small dimensions near 1.
    EXPECT_LT(largest, std::min(0.97, 7.5 / std::sqrt(double{1} * dim))) << dim;
    EXPECT_NEAR(kurtosis_sum / dim / expected, 1, dim < 64 ? 0.25 : 0.05) << dim;
  }
}

// Also what structured data gives: constant, alternating, and a block of ones.
TEST(Rotation, MakesStructuredVectorsLookNormal) {
  for (const std::uint32_t dim : {512u, 768u, 1016u, 1024u, 1032u, 1536u}) {
    double sum = 0;
    constexpr int kSeeds = 12;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto rotation = Rotation::create(dim, static_cast<std::uint64_t>(seed));
      for (int pattern = 0; pattern < 3; ++pattern) {
        std::vector<float> vector(dim);
        std::uint32_t ones = 0;
        for (std::uint32_t j = 0; j < dim; ++j) {
          const bool one = pattern == 0 || (pattern == 1 && j % 2 == 0) || (pattern == 2 && j < 16);
          vector[j] = one ? 1.0f : 0.0f;
          ones += one ? 1 : 0;
        }
        for (float& value : vector) value /= std::sqrt(static_cast<float>(ones));
        const double found = kurtosis(rotated(*rotation, vector));
        EXPECT_NEAR(found, 3, 1) << dim << " seed " << seed << " pattern " << pattern;
        sum += found;
      }
    }
    EXPECT_NEAR(sum / (3 * kSeeds), 3, 0.15) << dim;
  }
}

TEST(Rotation, DependsOnTheSeed) {
  const auto a = Rotation::create(128, 1);
  const auto b = Rotation::create(128, 2);
  const std::vector<float> axis = unit(128, 0);
  EXPECT_LT(std::fabs(dot(rotated(*a, axis), rotated(*b, axis))), 0.5);
  EXPECT_EQ(rotated(*a, axis), rotated(*Rotation::create(128, 1), axis));
}

}  // namespace
}  // namespace vicinal::quant
