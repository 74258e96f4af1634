#include "sync/slot_claims.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace vicinal::sync {
namespace {

TEST(SlotClaimsTest, TheLowestFreeSlotIsTakenAndNoneIsTakenTwice) {
  SlotClaims<128> claims;
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(claims.take(), i);
  EXPECT_EQ(claims.take(), SlotClaims<128>::kNone);
  EXPECT_EQ(claims.count(), 128u);
  for (const std::uint32_t slot : {64u, 3u, 127u}) {
    EXPECT_TRUE(claims.taken(slot));
    claims.give_back(slot);
    EXPECT_FALSE(claims.taken(slot));
  }
  EXPECT_EQ(claims.count(), 125u);
  EXPECT_EQ(claims.take(), 3u);
  EXPECT_EQ(claims.take(), 64u);
  EXPECT_EQ(claims.take(), 127u);
  EXPECT_EQ(claims.take(), SlotClaims<128>::kNone);
}

// Every slot guards a plain number: two owners at once are a race, and lose an increment.
TEST(SlotClaimsTest, ASlotHasOneOwnerAtATimeAndOwnersSeeWhatTheOnesBeforeDid) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  SlotClaims<64> claims;
  std::uint64_t used[64] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::uint32_t a = claims.take();
        const std::uint32_t b = claims.take();
        ++used[a];
        ++used[b];
        claims.give_back(a);
        claims.give_back(b);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t total = 0;
  for (const std::uint64_t count : used) total += count;
  EXPECT_EQ(total, std::uint64_t{2} * kThreads * kRounds);
  EXPECT_EQ(claims.count(), 0u);
}

}  // namespace
}  // namespace vicinal::sync
