#include "sync/reader_slots.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace vicinal::sync {
namespace {

std::vector<std::uint32_t> pinned(const ReaderSlots& slots) {
  std::vector<std::uint32_t> numbers;
  slots.scan([&](std::uint32_t number, Pin) { numbers.push_back(number); });
  return numbers;
}

TEST(PinTest, AWordKeepsItsKindAndNumber) {
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 62) - 1;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, kLast}) {
    const Pin range = Pin::of(Pin::range(number));
    EXPECT_EQ(range.kind, Pin::Kind::range);
    EXPECT_EQ(range.number, number);
    const Pin exact = Pin::of(Pin::exact(number));
    EXPECT_EQ(exact.kind, Pin::Kind::exact);
    EXPECT_EQ(exact.number, number);
  }
  EXPECT_EQ(Pin::of(0).kind, Pin::Kind::idle);
}

TEST(ReaderSlotsTest, NoTwoSlotsShareALine) {
  EXPECT_EQ(sizeof(ReaderSlot), 128u);
  EXPECT_EQ(alignof(ReaderSlot), 128u);
}

TEST(ReaderSlotsTest, ChunksGrowAsSlotsAreClaimedUpToTheCapAndStay) {
  ReaderSlots slots;
  const std::uint64_t empty = slots.bytes();
  for (std::uint32_t i = 0; i < kReaderSlotsMax; ++i) {
    const Result<std::uint32_t> claimed = slots.claim();
    ASSERT_TRUE(claimed.ok());
    ASSERT_EQ(claimed.value(), i);
    ASSERT_EQ(slots.bytes(), empty + (i / kChunkSlots + 1) * kChunkSlots * sizeof(ReaderSlot));
  }
  const Status refused = slots.claim().status();
  EXPECT_EQ(refused.code(), Code::busy);
  EXPECT_EQ(refused.a(), kReaderSlotsMax);
  EXPECT_EQ(refused.b(), kReaderSlotsMax);
  const std::uint64_t full = slots.bytes();
  slots.release_slot(1000);
  EXPECT_EQ(slots.in_use(), kReaderSlotsMax - 1);
  EXPECT_EQ(slots.claim().value(), 1000u);
  for (std::uint32_t i = 0; i < kReaderSlotsMax; ++i) slots.release_slot(i);
  EXPECT_EQ(slots.in_use(), 0u);
  EXPECT_EQ(slots.bytes(), full);
}

TEST(ReaderSlotsTest, AScanSeesEveryPinThatIsNotIdleInEveryChunk) {
  ReaderSlots slots;
  for (std::uint32_t i = 0; i < 3 * kChunkSlots; ++i) ASSERT_TRUE(slots.claim().ok());
  EXPECT_TRUE(pinned(slots).empty());
  const std::vector<std::uint32_t> wanted = {0, 63, 64, 130, 191};
  for (const std::uint32_t number : wanted) slots.slot(number).pin.store(Pin::exact(7), release);
  EXPECT_EQ(pinned(slots), wanted);
  slots.slot(64).pin.store(0, release);
  EXPECT_EQ(pinned(slots).size(), 4u);
}

// A slot that a dead reader left: its claim is void, its pin still counts (I2).
TEST(ReaderSlotsTest, AScanDoesNotAskWhetherASlotIsClaimed) {
  ReaderSlots slots;
  ASSERT_EQ(slots.claim().value(), 0u);
  slots.slot(5).pin.store(Pin::range(3), release);
  EXPECT_EQ(pinned(slots), std::vector<std::uint32_t>{5});
}

TEST(ReaderSlotsTest, RetiringAnOwnerUnpinsItsSlotsAndNobodyElses) {
  ReaderSlots slots;
  for (std::uint32_t i = 0; i < 3 * kChunkSlots; ++i) {
    ASSERT_EQ(slots.claim(i % 3).value(), i);
    slots.slot(i).pin.store(Pin::exact(i), release);
  }
  EXPECT_EQ(slots.retire_owned(2, Afterwards::keep), kChunkSlots);
  EXPECT_EQ(slots.retire_owned(2, Afterwards::keep), 0u);
  EXPECT_EQ(slots.retire_owned(3, Afterwards::keep), 0u);
  for (const std::uint32_t number : pinned(slots)) EXPECT_NE(number % 3, 2u);
  EXPECT_EQ(pinned(slots).size(), 2 * kChunkSlots);
  EXPECT_EQ(slots.retired(), kChunkSlots);
  EXPECT_EQ(slots.in_use(), 2 * kChunkSlots);
}

TEST(ReaderSlotsTest, ARetiredSlotIsHandedOutAgainOnlyWhereTheProofAllowsIt) {
  ReaderSlots slots;
  ASSERT_EQ(slots.claim(1).value(), 0u);
  ASSERT_EQ(slots.claim(2).value(), 1u);
  ASSERT_EQ(slots.claim().value(), 2u);
  slots.slot(2).pin.store(Pin::range(1), release);
  slots.retire_owned(1, Afterwards::keep);
  slots.retire_owned(2, Afterwards::reuse);
  slots.retire(2, Afterwards::reuse);
  EXPECT_TRUE(pinned(slots).empty());
  EXPECT_EQ(slots.claim().value(), 1u);
  EXPECT_EQ(slots.claim().value(), 2u);
  EXPECT_EQ(slots.claim().value(), 3u);
  EXPECT_EQ(slots.retired(), 1u);
  EXPECT_EQ(slots.in_use(), 3u);
}

TEST(ReaderSlotsTest, ASlotThatWasReleasedIsNoLongerItsLastOwners) {
  ReaderSlots slots;
  const std::uint32_t number = slots.claim(5).value();
  slots.release_slot(number);
  EXPECT_EQ(slots.retire_owned(5, Afterwards::keep), 0u);
  ASSERT_EQ(slots.claim(6).value(), number);
  slots.slot(number).pin.store(Pin::exact(1), release);
  EXPECT_EQ(slots.retire_owned(5, Afterwards::keep), 0u);
  EXPECT_EQ(pinned(slots).size(), 1u);
}

TEST(ReaderSlotsTest, ThreadsThatClaimAtOnceGetSlotsOfTheirOwnInChunksThatAScanReaches) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kEach = 100;
  ReaderSlots slots;
  std::vector<std::uint32_t> claimed[kThreads];
  std::vector<std::thread> threads;
  for (auto& mine : claimed) {
    threads.emplace_back([&slots, &mine] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        const std::uint32_t number = slots.claim().value();
        slots.slot(number).pin.store(Pin::range(number), seq_cst);
        bool seen = false;
        slots.scan([&](std::uint32_t other, Pin) { seen |= other == number; });
        EXPECT_TRUE(seen);
        mine.push_back(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<bool> taken(kReaderSlotsMax);
  for (const auto& mine : claimed) {
    for (const std::uint32_t number : mine) {
      EXPECT_FALSE(taken[number]);
      taken[number] = true;
    }
  }
  EXPECT_EQ(slots.in_use(), kThreads * kEach);
}

}  // namespace
}  // namespace vicinal::sync
