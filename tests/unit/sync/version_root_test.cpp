#include "sync/version_root.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "sync/atomic_counts.hpp"

namespace vicinal::sync {
namespace {

VersionHeader version(std::uint64_t sequence) {
  VersionHeader made;
  made.sequence = sequence;
  made.birth = sequence;
  return made;
}

Pin pin_of(const ReaderSlot& slot) { return Pin::of(slot.pin.load(relaxed)); }

TEST(VersionRootTest, AReaderGetsTheNewestVersionAndPinsItUntilItLeaves) {
  const VersionHeader first = version(1);
  const VersionHeader second = version(2);
  VersionRoot root;
  ReaderSlots slots;
  ReaderSlot& slot = slots.slot(slots.claim().value());
  root.publish(&first, [] {});
  EXPECT_EQ(root.enter(slot), &first);
  EXPECT_EQ(pin_of(slot).kind, Pin::Kind::exact);
  EXPECT_EQ(pin_of(slot).number, 1u);
  root.publish(&second, [] {});
  EXPECT_EQ(pin_of(slot).number, 1u);
  VersionRoot::leave(slot);
  EXPECT_EQ(pin_of(slot).kind, Pin::Kind::idle);
  EXPECT_EQ(root.enter(slot), &second);
  EXPECT_EQ(root.newest(), &second);
  VersionRoot::leave(slot);
}

TEST(VersionRootTest, WhatAVersionReplacesRetiresBeforeItsStoreAndTheNewGeneration) {
  const VersionHeader first = version(1);
  const VersionHeader second = version(2);
  VersionRoot root;
  root.publish(&first, [] {});
  bool called = false;
  root.publish(&second, [&] {
    called = true;
    EXPECT_EQ(root.newest(), &first);
    EXPECT_EQ(root.sequence(), 1u);
  });
  EXPECT_TRUE(called);
  EXPECT_EQ(root.sequence(), 2u);
}

TEST(VersionRootTest, ReadersNeverSeeAnOlderVersionThanTheGenerationTheyRead) {
  constexpr std::uint64_t kVersions = 5'000;
  static VersionHeader versions[kVersions + 1];
  for (std::uint64_t s = 0; s <= kVersions; ++s) versions[s].birth = versions[s].sequence = s;
  VersionRoot root;
  ReaderSlots slots;
  root.publish(&versions[0], [] {});
  std::thread writer([&] {
    for (std::uint64_t s = 1; s <= kVersions; ++s) root.publish(&versions[s], [] {});
  });
  ReaderSlot& slot = slots.slot(slots.claim().value());
  std::uint64_t last = 0;
  while (last < kVersions) {
    const std::uint64_t before = root.sequence();
    const VersionHeader* seen = root.enter(slot);
    ASSERT_GE(seen->sequence, before);
    ASSERT_GE(seen->sequence, last);
    last = seen->sequence;
    VersionRoot::leave(slot);
  }
  writer.join();
}

#ifdef VICINAL_ATOMICS_COUNTED

// What one thread does, in counts of its own.
template <class Do>
AtomicCounts counted(Do something) {
  const AtomicCounts before = atomic_counts();
  something();
  const AtomicCounts after = atomic_counts();
  return {after.read_modify_writes - before.read_modify_writes,
          after.foreign_stores - before.foreign_stores};
}

TEST(AtomicCountsTest, ReadModifyWritesAndStoresToLinesOfOtherThreadsAreCounted) {
  alignas(128) Atomic<std::uint32_t> word;
  word.store(0, relaxed);  // another test's thread may have stored to this line of the stack
  EXPECT_EQ(counted([&] { word.store(1, relaxed); }).foreign_stores, 0u);
  EXPECT_EQ(counted([&] { word.fetch_add(1, relaxed); }).read_modify_writes, 1u);
  std::thread other([&] {
    EXPECT_EQ(counted([&] { word.store(2, relaxed); }).foreign_stores, 1u);
    EXPECT_EQ(counted([&] { word.store(3, relaxed); }).foreign_stores, 0u);
  });
  other.join();
  EXPECT_EQ(counted([&] { word.store(4, relaxed); }).foreign_stores, 1u);
  EXPECT_EQ(counted([&] { word.store(5, relaxed); }).foreign_stores, 0u);
}

// Control: a reference count is what the slots are there to avoid.
TEST(AtomicCountsTest, AReferenceCountSharedByTwoReadersIsReported) {
  alignas(128) Atomic<std::uint32_t> references;
  std::thread other([&] { references.fetch_add(1, acq_rel); });
  other.join();
  EXPECT_EQ(counted([&] { references.fetch_add(1, acq_rel); }).read_modify_writes, 1u);
}

TEST(AtomicCountsTest, AWarmSearchWritesToNoSharedLineAlsoBesideAWriterAndAnotherReader) {
  static VersionHeader versions[64];
  VersionRoot root;
  ReaderSlots slots;
  root.publish(&versions[0], [] {});
  Atomic<std::uint32_t> ended;
  Atomic<std::uint32_t> started;
  std::thread writer([&] {
    for (std::uint64_t n = 1; ended.load(acquire) == 0; ++n) {
      versions[n % 64].sequence = n;
      root.publish(&versions[n % 64], [] {});
      slots.scan([](std::uint32_t, Pin) {});
      started.store(1, release);
    }
  });
  const auto read = [&] {
    ReaderSlot& slot = slots.slot(slots.claim().value());
    const auto search = [&] {
      (void)root.enter(slot);
      VersionRoot::leave(slot);
    };
    search();
    while (started.load(acquire) == 0) std::this_thread::yield();
    const AtomicCounts counts = counted([&] {
      for (int i = 0; i < 2'000; ++i) search();
    });
    EXPECT_EQ(counts.read_modify_writes, 0u);
    EXPECT_EQ(counts.foreign_stores, 0u);
  };
  std::thread other(read);
  read();
  other.join();
  ended.store(1, release);
  writer.join();
}

#endif  // VICINAL_ATOMICS_COUNTED

}  // namespace
}  // namespace vicinal::sync
