#include "base/aligned_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/growing_buffer.hpp"
#include "base/random.hpp"

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

TEST(GrowingBuffer, KeepsItsBytesWhileItGrows) {
  GrowingBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_TRUE(buffer.append(nullptr, 0).ok());
  std::vector<std::byte> expected;
  Random random(5);
  for (std::uint32_t round = 0; round < 300; ++round) {
    std::byte piece[40];
    for (std::byte& byte : piece) byte = static_cast<std::byte>(random.next());
    const std::size_t bytes = random.below(sizeof piece + 1);
    ASSERT_TRUE(buffer.append(piece, bytes).ok());
    expected.insert(expected.end(), piece, piece + bytes);
    const std::size_t step = 1 + random.below(9);
    ASSERT_TRUE(buffer.pad_to(step).ok());
    while (expected.size() % step != 0) expected.push_back(std::byte{0});
    ASSERT_EQ(buffer.size(), expected.size());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), buffer.data()));
  }
  EXPECT_LT(buffer.capacity(), 3 * expected.size());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
  const std::size_t kept = buffer.capacity();
  buffer.clear();
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.capacity(), kept);
  EXPECT_TRUE(buffer.append_zeros(kept).ok());  // over what was there before
  for (std::size_t i = 0; i < kept; ++i) ASSERT_EQ(buffer.data()[i], std::byte{0}) << i;
  buffer.release();
  EXPECT_EQ(buffer.capacity(), 0u);
}

TEST(GrowingBuffer, ARefusedAllocationIsFullAndLeavesTheBytes) {
  GrowingBuffer buffer;
  EXPECT_TRUE(buffer.append_value(std::uint64_t{42}).ok());
  for (const std::size_t more :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 2,
        std::numeric_limits<std::size_t>::max() / 4}) {
    EXPECT_EQ(buffer.append_zeros(more).code(), Code::full);
    EXPECT_EQ(buffer.reserve(more).code(), Code::full);
    EXPECT_EQ(buffer.size(), 8u);
  }
  EXPECT_EQ(buffer.data()[0], std::byte{42});
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
