#include "support/golden.hpp"

#include <gtest/gtest.h>

namespace vicinal::test {
namespace {

TEST(Golden, CodebooksAreEqualToTheBit) {
  for (const GoldenCodebook& golden : golden_codebooks()) {
    EXPECT_EQ(codebook_digest(golden.coded_dim, golden.bits), golden.digest)
        << "D " << golden.coded_dim << " bits " << golden.bits;
  }
}

TEST(Golden, CodesQueriesAndScoresAreEqualToTheBitWithEveryKernelTable) {
  for (const char* const* name = simd::available_kernels(); *name != nullptr; ++name) {
    const simd::Kernels* kernels = simd::find_kernels(*name);
    ASSERT_NE(kernels, nullptr) << *name;
    for (const GoldenCase& golden : golden_cases()) {
      EXPECT_EQ(golden_digest(golden.dim, golden.bits, golden.metric, *kernels), golden.digest)
          << *name << " dim " << golden.dim << " bits " << golden.bits;
    }
  }
}

TEST(Golden, TheDigestSeesTheMetricAndTheBits) {
  const simd::Kernels& kernels = simd::best_kernels();
  const std::uint64_t digest = golden_digest(24, 4, Metric::ip, kernels);
  EXPECT_NE(digest, golden_digest(24, 4, Metric::l2, kernels));
  EXPECT_NE(digest, golden_digest(24, 3, Metric::ip, kernels));
}

}  // namespace
}  // namespace vicinal::test
