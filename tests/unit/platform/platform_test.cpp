#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "platform/clock.hpp"
#include "platform/environment.hpp"
#include "platform/futex.hpp"
#include "platform/memory.hpp"

namespace vicinal::platform {
namespace {

TEST(MemoryTest, MappedMemoryIsZeroAndOnAPage) {
  for (const std::size_t bytes : {0u, 1u, 4096u, 70001u}) {
    auto* memory = static_cast<unsigned char*>(map_zeroed(bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory[i], 0);
    std::memset(memory, 0xee, bytes);
    unmap(memory, bytes);
  }
}

TEST(MemoryTest, AllocatedMemoryIsOnALine) {
  for (std::size_t bytes = 0; bytes < 300; bytes += 7) {
    void* memory = allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 0xee, bytes);
    release(memory);
  }
}

TEST(MemoryTest, ImpossibleSizesGiveNullAndNullMayBeReturned) {
  EXPECT_EQ(map_zeroed(~std::size_t{0}), nullptr);
  EXPECT_EQ(allocate(~std::size_t{0}), nullptr);
  unmap(nullptr, 0);
  release(nullptr);
}

TEST(FutexTest, AWordThatDiffersIsNotWaitedFor) {
  std::uint32_t word = 1;
  futex_wait(&word, 0, ~std::uint64_t{0});  // would last for ever
}

TEST(FutexTest, AWaitEndsAtItsBound) {
  std::uint32_t word = 0;
  const std::uint64_t before = monotonic_ns();
  futex_wait(&word, 0, 0);
  futex_wait(&word, 0, 100);
  EXPECT_GE(monotonic_ns(), before);
}

// That a sleeper is woken: tests/unit/sync/messages_test.cpp.

TEST(ClockTest, TimeNeverGoesBackAndWorkCostsProcessorTime) {
  std::uint64_t last = monotonic_ns();
  const std::uint64_t used = thread_cpu_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t now = monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(thread_cpu_ns(), used);
}

TEST(EnvironmentTest, TheForcedInstructionSetIsTheVariableOrNull) {
  ASSERT_EQ(unsetenv("VICINAL_SIMD"), 0);
  EXPECT_EQ(forced_simd(), nullptr);
  ASSERT_EQ(setenv("VICINAL_SIMD", "scalar", 1), 0);
  EXPECT_EQ(std::string_view(forced_simd()), "scalar");
  ASSERT_EQ(unsetenv("VICINAL_SIMD"), 0);
}

}  // namespace
}  // namespace vicinal::platform
