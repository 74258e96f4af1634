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
using simd::PlaneBlocks;
using simd::PlaneQuery;
using simd::PlaneScan;
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

void drop_last_group(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  for (std::uint32_t q = 0; q < queries; ++q) {
    PlaneQuery shorter = *scans[q].query;
    shorter.groups -= 1;
    PlaneScan scan = scans[q];
    scan.query = &shorter;
    scalar().plane_scan(blocks, &scan, 1);
  }
}

void lose_ties(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  scalar().plane_scan(blocks, scans, queries);
  for (std::uint32_t row = 0; row < blocks.count * simd::kBlockRows; ++row) {
    const PlaneScan& scan = scans[0];
    const std::uint32_t lane = 1u << row % simd::kBlockRows;
    if (scan.upper[row] == scan.threshold) scan.reached[row / simd::kBlockRows] &= ~lane;
  }
}

void ignore_lanes(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  const std::vector<std::uint32_t> every(blocks.count, ~0u);
  PlaneBlocks all = blocks;
  all.lanes = every.data();
  scalar().plane_scan(all, scans, queries);
}

void mix_up_queries(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  scalar().plane_scan(blocks, scans, queries);
  if (queries < 3) return;
  PlaneScan third = scans[2];
  third.query = scans[1].query;
  scalar().plane_scan(blocks, &third, 1);
}

void stay_at_the_first_block(const PlaneBlocks& blocks, const PlaneScan* scans,
                             std::uint32_t queries) {
  PlaneBlocks still = blocks;
  still.plane_bytes = 0;
  scalar().plane_scan(still, scans, queries);
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

void dots_of_the_lower_half(const std::uint8_t* plane, std::uint32_t lanes,
                            const std::uint8_t* rests, std::size_t rest_bytes,
                            const CodeQuery& query, const Levels& levels, std::int64_t* dots) {
  scalar().code_dots[3](plane, lanes & 0xffff, rests, rest_bytes, query, levels, dots);
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
      {"mix_up_queries", "plane_scan", with([](Kernels& k) { k.plane_scan = mix_up_queries; })},
      {"stay_at_the_first_block", "plane_scan",
       with([](Kernels& k) { k.plane_scan = stay_at_the_first_block; })},
      {"dots_of_the_lower_half", "code_dots",
       with([](Kernels& k) { k.code_dots[3] = dots_of_the_lower_half; })},
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
