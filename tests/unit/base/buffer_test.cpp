#include "base/aligned_buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/assert.hpp"

namespace vicinal {
namespace {

TEST(AlignedBuffer, IsAlignedAndZeroed) {
  for (const std::size_t bytes : {1u, 63u, 64u, 65u, 100000u}) {
    Result<AlignedBuffer> made = AlignedBuffer::create(bytes);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made->data()) % kBufferAlignment, 0u);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(made->data()[i], std::byte{0}) << i;
  }
}

TEST(AlignedBuffer, ZeroBytesAreAnEmptyBuffer) {
  Result<AlignedBuffer> made = AlignedBuffer::create(0);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->data(), nullptr);
  EXPECT_EQ(made->size(), 0u);
}

TEST(AlignedBuffer, MovesLeaveTheSourceEmpty) {
  Result<AlignedBuffer> made = AlignedBuffer::create(128);
  ASSERT_TRUE(made.ok());
  AlignedBuffer first = std::move(*made);
  std::byte* const data = first.data();
  AlignedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.size(), 0u);  // NOLINT: the state after a move is the claim
  second.as<std::uint64_t>(8)[0] = 42;
  EXPECT_EQ(std::as_const(second).as<std::uint64_t>()[1], 42u);
}

TEST(AlignedBuffer, ARefusedAllocationIsFullAndNotACrash) {
  const std::size_t bytes = std::numeric_limits<std::ptrdiff_t>::max() - 4096;
  Result<AlignedBuffer> made = AlignedBuffer::create(bytes);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.code(), Code::full);
  EXPECT_EQ(made.status().a(), bytes);
}

void print_failure(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, expression);
}

TEST(AssertDeathTest, AHandlerHearsTheExpression) {
  EXPECT_DEATH(
      {
        set_assert_handler(print_failure);
        VICINAL_ASSERT(1 + 1 == 3);
      },
      "buffer_test.cpp:[0-9]+: 1 \\+ 1 == 3");
}

TEST(AssertDeathTest, WithoutAHandlerTheProgramEndsToo) {
  EXPECT_DEATH(VICINAL_ASSERT(1 + 1 == 3), "");
}

TEST(Assert, ATrueExpressionIsEvaluatedOnce) {
  int count = 0;
  VICINAL_ASSERT(++count == 1);
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace vicinal
