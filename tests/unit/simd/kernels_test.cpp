// Every kernel table against the scalar reference, bit by bit; and the comparison against kernels
// that are wrong on purpose.
#include "simd/kernels.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/kernel_check.hpp"

namespace vicinal {
namespace {

using simd::CodeQuery;
using simd::Kernels;
using simd::Levels;
using simd::PlaneQuery;
using simd::QuantiseSums;

constexpr std::uint64_t kSeed = 20240917;

const Kernels& scalar() {
  const Kernels* kernels = simd::find_kernels("scalar");
  EXPECT_NE(kernels, nullptr);
  return *kernels;
}

std::vector<std::string> available() {
  std::vector<std::string> names;
  for (const char* const* name = simd::available_kernels(); *name != nullptr; ++name) {
    names.emplace_back(*name);
  }
  return names;
}

class EveryTable : public testing::TestWithParam<std::string> {};

TEST_P(EveryTable, GivesTheSameBitsAsScalarForFixedSeeds) {
  const Kernels* kernels = simd::find_kernels(GetParam().c_str());
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(kernels->name, GetParam());
  for (std::uint64_t seed = kSeed; seed < kSeed + 2; ++seed) {
    const test::KernelDifference difference = test::check_kernels(scalar(), *kernels, seed);
    EXPECT_FALSE(difference.found) << test::describe(difference);
  }
}

TEST_P(EveryTable, GivesTheSameBitsAsScalarForAFreshSeed) {
  const Kernels* kernels = simd::find_kernels(GetParam().c_str());
  ASSERT_NE(kernels, nullptr);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const test::KernelDifference difference = test::check_kernels(scalar(), *kernels, seed);
  EXPECT_FALSE(difference.found) << test::describe(difference);
}

INSTANTIATE_TEST_SUITE_P(Simd, EveryTable, testing::ValuesIn(available()),
                         [](const auto& parameter) { return parameter.param; });

TEST(Dispatch, ListsScalarFirstAndTheBestLast) {
  const std::vector<std::string> names = available();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "scalar");
  EXPECT_EQ(names.back(), simd::best_kernels().name);
  for (const std::string& name : names) EXPECT_NE(simd::find_kernels(name.c_str()), nullptr);
}

TEST(Dispatch, KnowsNoOtherName) {
  EXPECT_EQ(simd::find_kernels("mmx"), nullptr);
  EXPECT_EQ(simd::find_kernels(""), nullptr);
}

// Negative controls: each is the reference with one defect that a vector kernel could have.

std::uint32_t drop_last_group(const std::uint8_t* plane, const PlaneQuery& query,
                              const float* plane_scale, const float* plane_cosine2,
                              std::uint32_t lanes, float threshold, float* upper) {
  PlaneQuery shorter = query;
  shorter.groups -= 1;
  return scalar().plane_scan(plane, shorter, plane_scale, plane_cosine2, lanes, threshold, upper);
}

std::uint32_t lose_ties(const std::uint8_t* plane, const PlaneQuery& query,
                        const float* plane_scale, const float* plane_cosine2, std::uint32_t lanes,
                        float threshold, float* upper) {
  std::uint32_t reached = scalar().plane_scan(plane, query, plane_scale, plane_cosine2, lanes,
                                              threshold, upper);
  for (std::uint32_t row = 0; row < simd::kBlockRows; ++row) {
    if (upper[row] == threshold) reached &= ~(1u << row);
  }
  return reached;
}

std::uint32_t ignore_lanes(const std::uint8_t* plane, const PlaneQuery& query,
                           const float* plane_scale, const float* plane_cosine2, std::uint32_t,
                           float threshold, float* upper) {
  return scalar().plane_scan(plane, query, plane_scale, plane_cosine2, ~0u, threshold, upper);
}

std::int64_t mistake_lane_31(const std::uint8_t* plane, std::uint32_t lane,
                             const std::uint8_t* rest, const CodeQuery& query,
                             const Levels& levels) {
  const std::uint32_t index = simd::bits_index(levels.bits);
  return scalar().code_dot[index](plane, lane == 31 ? 15 : lane, rest, query, levels);
}

std::int64_t wrap_at_32_bits(const std::uint8_t* plane, std::uint32_t lane,
                             const std::uint8_t* rest, const CodeQuery& query,
                             const Levels& levels) {
  return static_cast<std::int32_t>(scalar().code_dot[4](plane, lane, rest, query, levels));
}

// Multiplies before the last butterfly: equal in real numbers, not in floats.
void scale_early(float* x, std::uint32_t n, float scale) {
  for (std::uint32_t i = 0; i < n; ++i) x[i] *= scale;
  scalar().fwht(x, n, 1.0f);
}

// Adds up in one lane instead of sixteen.
QuantiseSums add_in_one_lane(const float* u, std::uint32_t coded_dim, const Levels& levels,
                             std::uint8_t* codes) {
  QuantiseSums sums = scalar().quantise(u, coded_dim, levels, codes);
  sums.absolute = 0;
  for (std::uint32_t j = 0; j < coded_dim; ++j) sums.absolute += u[j] < 0 ? -u[j] : u[j];
  return sums;
}

QuantiseSums call_minus_zero_negative(const float* u, std::uint32_t coded_dim,
                                      const Levels& levels, std::uint8_t* codes) {
  const QuantiseSums sums = scalar().quantise(u, coded_dim, levels, codes);
  for (std::uint32_t j = 0; j < coded_dim; ++j) {
    const float minus_zero = -0.0f;
    if (std::memcmp(&u[j], &minus_zero, sizeof(float)) == 0) {
      codes[j] = static_cast<std::uint8_t>(codes[j] & ~(1u << (levels.bits - 1)));
    }
  }
  return sums;
}

struct Defect {
  const char* name;
  const char* kernel;  // that the difference must name
  Kernels kernels;
};

Kernels with(void (*change)(Kernels&)) {
  Kernels kernels = scalar();
  change(kernels);
  return kernels;
}

TEST(NegativeControl, EveryDefectIsFoundInItsKernel) {
  const Defect defects[] = {
      {"drop_last_group", "plane_scan", with([](Kernels& k) { k.plane_scan = drop_last_group; })},
      {"lose_ties", "plane_scan", with([](Kernels& k) { k.plane_scan = lose_ties; })},
      {"ignore_lanes", "plane_scan", with([](Kernels& k) { k.plane_scan = ignore_lanes; })},
      {"mistake_lane_31", "code_dot", with([](Kernels& k) { k.code_dot[3] = mistake_lane_31; })},
      {"wrap_at_32_bits", "code_dot", with([](Kernels& k) { k.code_dot[4] = wrap_at_32_bits; })},
      {"scale_early", "fwht", with([](Kernels& k) { k.fwht = scale_early; })},
      {"add_in_one_lane", "quantise", with([](Kernels& k) { k.quantise = add_in_one_lane; })},
      {"call_minus_zero_negative", "quantise",
       with([](Kernels& k) { k.quantise = call_minus_zero_negative; })},
  };
  for (const Defect& defect : defects) {
    const test::KernelDifference difference =
        test::check_kernels(scalar(), defect.kernels, kSeed);
    EXPECT_TRUE(difference.found) << defect.name;
    EXPECT_STREQ(difference.kernel, defect.kernel) << defect.name;
  }
}

}  // namespace
}  // namespace vicinal
