#include "cache/buffer_header.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using cache::BufferHeader;
using cache::Pinned;

TEST(BufferHeader, IsEvictedOnlyWhenNobodyHoldsIt) {
  BufferHeader header;
  EXPECT_EQ(header.pin(), Pinned::yes);
  EXPECT_FALSE(header.evict());
  EXPECT_EQ(header.pins(), 1u);
  EXPECT_FALSE(header.unpin());
  EXPECT_TRUE(header.evict());
  EXPECT_FALSE(header.evict());
  EXPECT_EQ(header.pin(), Pinned::lost);
  EXPECT_EQ(header.pins(), 0u);
  header.reset();
  EXPECT_EQ(header.pin(), Pinned::yes);
}

TEST(BufferHeader, WhoGivesTheLastPinOfADetachedOneBackRetiresIt) {
  BufferHeader header;
  header.pin_certainly(2);
  EXPECT_FALSE(header.detach());
  EXPECT_EQ(header.pin(), Pinned::lost);
  EXPECT_FALSE(header.unpin());
  EXPECT_TRUE(header.unpin());
  EXPECT_EQ(header.pin(), Pinned::lost);
  header.reset();
  EXPECT_TRUE(header.detach());
}

TEST(BufferHeader, ItsLockIsSharedByManyOrHeldByOne) {
  BufferHeader header;
  EXPECT_TRUE(header.try_share());
  EXPECT_TRUE(header.try_share());
  EXPECT_FALSE(header.try_exclude());
  header.unshare();
  header.unshare();
  EXPECT_TRUE(header.try_exclude());
  EXPECT_FALSE(header.try_share());
  EXPECT_FALSE(header.try_exclude());
  EXPECT_EQ(header.pin(), Pinned::yes) << "the two words know nothing of each other";
  header.unexclude();
  EXPECT_TRUE(header.try_exclude());
}

TEST(BufferHeader, WhatOneHolderOfTheLockDidTheNextOneSees) {
  BufferHeader header;
  std::uint64_t first = 0, second = 0;
  const std::uint64_t turns = scaled(5'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < turns;) {
        if (!header.try_exclude()) {
          std::this_thread::yield();
          continue;
        }
        ++first;
        ++second;
        header.unexclude();
        ++i;
      }
    });
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < turns; ++i) {
        if (!header.try_share()) {
          std::this_thread::yield();
          continue;
        }
        ASSERT_EQ(first, second);
        header.unshare();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first, 2 * turns);
  EXPECT_TRUE(header.try_exclude()) << "no addition was lost";
}

}  // namespace
}  // namespace vicinal::test
