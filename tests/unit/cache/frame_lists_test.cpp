#include "cache/frame_lists.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using cache::FrameLists;

std::unique_ptr<FrameLists> lists_of(std::uint32_t partitions, std::uint32_t frames) {
  return std::move(FrameLists::create(partitions, frames)).value();
}

TEST(FrameLists, HandOutEveryFrameOnceWhateverPartitionAsks) {
  for (const std::uint32_t partitions : {1u, 3u, 64u, 65u, 128u, 1024u}) {
    for (const std::uint32_t asking : {0u, partitions / 2, partitions - 1}) {
      auto lists = lists_of(partitions, 300);
      EXPECT_EQ(lists->count(), 300u);
      std::set<std::uint32_t> taken;
      std::uint64_t steals = 0;
      for (int i = 0; i < 300; ++i) taken.insert(lists->take(asking, steals));
      EXPECT_EQ(taken.size(), 300u);
      EXPECT_EQ(*taken.rbegin(), 299u);
      EXPECT_EQ(lists->take(asking, steals), FrameLists::kNone);
      EXPECT_EQ(lists->try_take(asking, steals), FrameLists::kNone);
      EXPECT_EQ(lists->count(), 0u);
      const std::uint32_t own = (300 - asking + partitions - 1) / partitions;
      EXPECT_EQ(steals, 300u - (asking < 300 ? own : 0));
    }
  }
}

TEST(FrameLists, DeleteOneThenInsertOneAlwaysSucceedsOnAFullTable) {
  auto lists = lists_of(128, 4096);
  std::uint64_t steals = 0;
  std::vector<std::uint32_t> used;
  for (int i = 0; i < 4096; ++i) used.push_back(lists->take(0, steals));
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t at = random.below(4096);
    lists->give(random.below(128), used[at]);
    used[at] = lists->take(random.below(128), steals);
    ASSERT_NE(used[at], FrameLists::kNone);
  }
}

TEST(FrameLists, TheSameByManyThreadsAtOnceEachWithOneFrameOfItsOwn) {
  constexpr std::uint32_t kThreads = 4;
  auto lists = lists_of(16, kThreads);
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> steals(kThreads);
  std::barrier together(kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(t + 1);
      std::uint32_t mine = lists->take(t, steals[t]);
      EXPECT_NE(mine, FrameLists::kNone);
      together.arrive_and_wait();
      for (std::uint64_t i = 0; i < scaled(20'000); ++i) {
        lists->give(random.below(16), mine);
        mine = lists->take(random.below(16), steals[t]);
        ASSERT_NE(mine, FrameLists::kNone);
      }
      lists->give(0, mine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lists->count(), kThreads);
}

}  // namespace
}  // namespace vicinal::test
