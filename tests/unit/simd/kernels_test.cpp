// Every kernel table against the scalar reference, bit by bit; and the comparison against kernels
// that are wrong on purpose.
#include "simd/kernels.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "support/kernel_check.hpp"
#include "support/kernel_defects.hpp"
#include "support/kernel_input.hpp"

namespace vicinal {
namespace {

using simd::Kernels;

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

std::vector<std::string> vectorised() {
  const std::vector<std::string> names = available();
  return {names.begin() + 1, names.end()};
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

// All but the reference itself; a machine may have no other.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryTable);
INSTANTIATE_TEST_SUITE_P(Simd, EveryTable, testing::ValuesIn(vectorised()),
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

TEST(NegativeControl, EveryDefectIsFoundInItsKernel) {
  for (const test::KernelDefect& defect : test::kernel_defects()) {
    const test::KernelDifference difference =
        test::check_kernels(scalar(), defect.kernels, kSeed);
    EXPECT_TRUE(difference.found) << defect.name;
    EXPECT_STREQ(difference.kernel, defect.kernel) << defect.name;
  }
}

TEST(NegativeControlDeathTest, AReadBeyondTheContractStopsTheProgram) {
  test::SteeredRandom random(kSeed);
  for (const std::size_t bytes : {1, 32, 96, 4096, 5000}) {
    const test::GuardedArray<std::uint8_t> array(bytes, random);
    const volatile std::uint8_t* const end = array.data() + bytes + simd::kOverread;
    EXPECT_EQ(end[-1], array.data()[bytes + simd::kOverread - 1]);
    EXPECT_DEATH(static_cast<void>(*end), "") << bytes;
  }
}

}  // namespace
}  // namespace vicinal
