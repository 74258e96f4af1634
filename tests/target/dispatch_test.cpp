// Which kernel table a processor gets. Only whoever starts the program knows the processor: that is
// the emulator's command line, so VICINAL_TEST_BEST_KERNELS says what to expect.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "simd/kernels.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {
namespace {

std::string expected() {
  const char* name = std::getenv("VICINAL_TEST_BEST_KERNELS");
  EXPECT_NE(name, nullptr) << "set VICINAL_TEST_BEST_KERNELS to this processor's best table";
  return name == nullptr ? "" : name;
}

// What an index says when VICINAL_SIMD is `name`.
Status forced(const char* name) {
  EXPECT_EQ(setenv("VICINAL_SIMD", name, 1), 0);
  IndexOptions options;
  options.dim = 8;
  const auto index = Index::create(options);
  EXPECT_EQ(unsetenv("VICINAL_SIMD"), 0);
  return index.ok() ? Status() : index.status();
}

TEST(Target, TheProcessorGetsItsBestTable) {
  EXPECT_EQ(simd::best_kernels().name, expected());
}

TEST(Target, AForcedTableIsUsedWhereTheProcessorHasItAndRefusedWhereItDoesNot) {
  for (const char* name : {"scalar", "neon", "avx2", "avx512", "wasm", "none"}) {
    const bool has = std::strcmp(name, "scalar") == 0 || name == expected();
    EXPECT_EQ(forced(name).code(), has ? Code::ok : Code::unsupported) << name;
  }
  EXPECT_EQ(forced("none").message(), "this build or platform cannot do it");
}

}  // namespace
}  // namespace vicinal
