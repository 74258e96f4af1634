#include "quant/query.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/vectors.hpp"

namespace vicinal::quant {
namespace {

struct Built {
  std::vector<float> query;
  std::vector<std::uint32_t> words;
  PlaneTables tables;
  std::uint32_t groups;

  explicit Built(std::vector<float> values) : query(std::move(values)) {
    groups = static_cast<std::uint32_t>(query.size() / 4);
    query.resize(std::size_t{4} * table_groups(groups));
    words.assign(std::size_t{4} * table_groups(groups), 0xffffffffu);
    tables = build_plane_tables(query.data(), groups, words.data());
  }
  [[nodiscard]] std::uint32_t entry(std::uint32_t group, std::uint32_t n) const {
    return words[group * 4 + n / 4] >> (n % 4 * 8) & 255;
  }
  [[nodiscard]] double sum(std::uint32_t group, std::uint32_t n) const {
    double total = 0;
    for (std::uint32_t t = 0; t < 4; ++t) {
      const double value = query[group * 4 + t];
      total += n >> t & 1 ? value : -value;
    }
    return total;
  }
};

std::vector<float> random_query(std::uint32_t dim, std::uint64_t seed) {
  return test::random_vectors(dim, 1, seed).values;
}

TEST(PlaneTables, EntriesAreTheSumsToWithinHalfAStep) {
  for (const std::uint32_t dim : {8u, 24u, 104u, 768u}) {
    const Built built(random_query(dim, dim));
    const double step = built.tables.step;
    std::uint32_t largest = 0;
    double residual2 = 0;
    double base = 0;
    for (std::uint32_t g = 0; g < built.groups; ++g) {
      const double middle = (built.entry(g, 0) + built.entry(g, 15)) / 2.0;
      double largest_residual = 0;
      for (std::uint32_t n = 0; n < 16; ++n) {
        largest = std::max(largest, built.entry(g, n));
        const double residual = built.sum(g, n) - (built.entry(g, n) - middle) * step;
        largest_residual = std::max(largest_residual, std::fabs(residual));
        EXPECT_EQ(built.entry(g, n) + built.entry(g, 15 - n), 2 * middle) << g << ' ' << n;
      }
      EXPECT_LE(largest_residual, step * 0.5001) << g;
      residual2 += largest_residual * largest_residual;
      base -= middle * step;
    }
    EXPECT_EQ(largest, simd::kTableEntryMax) << dim;
    EXPECT_NEAR(built.tables.residual2 / residual2, 1, 1e-3) << dim;
    EXPECT_NEAR(built.tables.base / base, 1, 1e-5) << dim;
  }
}

TEST(PlaneTables, GroupsBeyondTheQueryAreZero) {
  const Built built(random_query(8, 3));
  ASSERT_EQ(built.words.size(), 16u);
  for (std::size_t i = 8; i < 16; ++i) EXPECT_EQ(built.words[i], 0u);
}

TEST(PlaneTables, ADominantCoordinateLeavesTheOthersUnbiased) {
  std::vector<float> query(64, 0.001f);
  query[0] = 1;
  const Built built(query);
  // All other groups round to one entry: their sums count as their mean, which is 0.
  for (std::uint32_t g = 1; g < 16; ++g) {
    for (std::uint32_t n = 0; n < 16; ++n) EXPECT_EQ(built.entry(g, n), 0u);
  }
  EXPECT_NEAR(built.tables.residual2, 15 * 0.004 * 0.004, 1e-4);
}

TEST(CodeQuery, PlacesEveryCoordinateInItsChunkAndZeroElsewhere) {
  for (const std::uint32_t wanted : {8u, 24u, 104u, 128u, 136u, 768u}) {
    const CodeLayout layout = CodeLayout::of(wanted, 4);
    const std::uint32_t dim = layout.coded_dim;
    const std::uint32_t half = layout.groups / 2;
    const std::uint32_t chunks = (half + 15) / 16;
    std::vector<float> query = random_query(dim, 9);
    query.resize(dim + 16, 1000);  // must not be read as values
    std::vector<std::int8_t> values(2 * chunks * simd::kChunkValues, 99);
    const float factor = 127 / largest_magnitude(query.data(), dim);
    const std::int64_t sum = build_code_query(query.data(), layout, factor, values.data());
    std::int64_t expected_sum = 0;
    std::size_t zeros = 0;
    std::int32_t largest = 0;
    for (const std::int8_t value : values) zeros += value == 0 ? 1 : 0;
    for (std::uint32_t j = 0; j < dim; ++j) {
      const std::uint32_t in_half = j / 4 % half;
      const std::uint32_t at =
          (j / 4 / half * chunks + in_half / 16) * 64 + j % 4 * 16 + in_half % 16;
      const auto expected = static_cast<std::int32_t>(std::lround(query[j] * factor));
      ASSERT_EQ(values[at], expected) << dim << ' ' << j;
      largest = std::max(largest, std::abs(expected));
      expected_sum += expected;
      if (expected == 0) --zeros;
    }
    EXPECT_EQ(sum, expected_sum);
    EXPECT_EQ(largest, 127);
    EXPECT_EQ(zeros, values.size() - dim) << dim;
  }
}

TEST(CodeQuery, HalvesRoundAwayFromZero) {
  const CodeLayout layout = CodeLayout::of(8, 8);
  ASSERT_EQ(layout.coded_dim, 8u);
  std::vector<float> query = {0.5f, -0.5f, 1.5f, -2.5f, 0.49f, -0.49f, 0, 126.5f};
  query.resize(24);
  std::vector<std::int16_t> values(128);
  EXPECT_EQ(build_code_query(query.data(), layout, 1, values.data()), 1 - 1 + 2 - 3 + 127);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[16], -1);
  EXPECT_EQ(values[32], 2);
  EXPECT_EQ(values[48], -3);
  EXPECT_EQ(values[64], 0);
  EXPECT_EQ(values[64 + 48], 127);
}

}  // namespace
}  // namespace vicinal::quant
