// Jobs step by step: who may be in one, who ends it, and until when its version is kept.
#include "sync/help_jobs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sync/reader_slots.hpp"
#include "sync/reclaimer.hpp"
#include "sync/version_root.hpp"

namespace vicinal::test {
namespace {

using sync::HelpJobs;
using sync::Pin;

std::vector<std::uint64_t> pinned(const HelpJobs& jobs) {
  std::vector<std::uint64_t> sequences;
  jobs.scan([&](std::uint32_t, Pin pin) { sequences.push_back(pin.number); });
  return sequences;
}

TEST(HelpJobs, KeepAVersionFromTheTakingToTheClosing) {
  HelpJobs jobs;
  const std::uint32_t job = jobs.try_take(4, 7, 0);
  ASSERT_NE(job, HelpJobs::kNone);
  EXPECT_EQ(pinned(jobs), std::vector<std::uint64_t>{7});
  jobs.open(job);
  jobs.close(job);
  EXPECT_TRUE(pinned(jobs).empty());
  EXPECT_EQ(jobs.try_take(4, 8, 0), job);
  jobs.give_back(job);
  EXPECT_TRUE(pinned(jobs).empty());
}

TEST(HelpJobs, AreTakenByOneOwnerEach) {
  HelpJobs jobs;
  EXPECT_EQ(jobs.try_take(0, 1, 0), HelpJobs::kNone);
  EXPECT_EQ(jobs.try_take(2, 1, 0), 0u);
  EXPECT_EQ(jobs.try_take(2, 2, 0), 1u);
  EXPECT_EQ(jobs.try_take(2, 3, 0), HelpJobs::kNone);
  EXPECT_EQ(pinned(jobs), (std::vector<std::uint64_t>{1, 2}));
  jobs.give_back(0);
  EXPECT_EQ(jobs.try_take(2, 3, 0), 0u);
}

TEST(HelpJobs, CanBeJoinedWhileTheyAreOpenOnly) {
  HelpJobs jobs;
  const std::uint32_t helper = *jobs.enlist(0);
  EXPECT_FALSE(jobs.try_join(0, helper));
  const std::uint32_t job = jobs.try_take(1, 3, 0);
  EXPECT_FALSE(jobs.try_join(job, helper));
  jobs.open(job);
  EXPECT_TRUE(jobs.try_join(job, helper));
  jobs.leave(job, helper);
  jobs.close(job);
  EXPECT_FALSE(jobs.try_join(job, helper));
}

TEST(HelpJobs, AreFreeWhenTheLastOneHasLeft) {
  HelpJobs jobs;
  const std::uint32_t first = *jobs.enlist(0);
  const std::uint32_t second = *jobs.enlist(0);
  const std::uint32_t job = jobs.try_take(1, 3, 0);
  jobs.open(job);
  ASSERT_TRUE(jobs.try_join(job, first) && jobs.try_join(job, second));
  jobs.close(job);
  EXPECT_EQ(jobs.try_take(1, 4, 0), HelpJobs::kNone);
  EXPECT_FALSE(jobs.try_join(job, *jobs.enlist(0)));
  jobs.leave(job, first);
  EXPECT_EQ(pinned(jobs), std::vector<std::uint64_t>{3});
  EXPECT_EQ(jobs.try_take(1, 4, 0), HelpJobs::kNone);
  jobs.leave(job, second);
  EXPECT_TRUE(pinned(jobs).empty());
  EXPECT_EQ(jobs.try_take(1, 4, 0), job);
}

TEST(HelpJobs, HaveSoManyHelpersAndNoMore) {
  HelpJobs jobs;
  for (std::uint32_t i = 0; i < sync::kHelpersMax; ++i) EXPECT_EQ(*jobs.enlist(0), i);
  const auto refused = jobs.enlist(0);
  EXPECT_EQ(refused.code(), Code::busy);
  EXPECT_EQ(refused.status().a(), sync::kHelpersMax);
  EXPECT_EQ(jobs.helpers(), sync::kHelpersMax);
  // All at once in one job, the last bit included.
  const std::uint32_t job = jobs.try_take(1, 1, 0);
  jobs.open(job);
  for (std::uint32_t i = 0; i < sync::kHelpersMax; ++i) ASSERT_TRUE(jobs.try_join(job, i));
  jobs.close(job);
  for (std::uint32_t i = 0; i < sync::kHelpersMax; ++i) {
    EXPECT_EQ(pinned(jobs).size(), 1u);
    jobs.leave(job, i);
  }
  EXPECT_TRUE(pinned(jobs).empty());
  jobs.dismiss(5);
  EXPECT_EQ(*jobs.enlist(0), 5u);
}

TEST(HelpJobs, KnowWhoIsIdle) {
  HelpJobs jobs;
  const std::uint32_t helper = *jobs.enlist(0);
  EXPECT_FALSE(jobs.any_idle());
  jobs.set_idle(helper, true);
  EXPECT_TRUE(jobs.any_idle());
  jobs.dismiss(helper);
  EXPECT_FALSE(jobs.any_idle());
}

// An object that version 3 alone reaches, and a reader in version 3.
struct KeptVersion {
  KeptVersion() {
    root.publish(&third, [] {});
    slot = &slots.slot(*slots.claim());
    EXPECT_EQ(root.enter(*slot), &third);
  }
  std::uint64_t publish_and_scan() {
    object.birth = 3;
    object.bytes = 1;
    object.destroy = [](sync::Versioned*) noexcept {};
    fourth.birth = fourth.sequence = 4;
    root.publish(&fourth, [&] { reclaimer.retire(&object, 4); });
    return reclaimer.scan(slots);
  }
  sync::VersionHeader third = [] {
    sync::VersionHeader version;
    version.birth = version.sequence = 3;
    return version;
  }();
  sync::VersionHeader fourth;
  sync::Versioned object;
  sync::VersionRoot root;
  sync::ReaderSlots slots;
  sync::Reclaimer reclaimer;
  sync::ReaderSlot* slot = nullptr;
};

TEST(HelpJobs, KeepWhatTheirVersionReachesWhenTheOwnerHasGoneOn) {
  KeptVersion world;
  HelpJobs& jobs = world.slots.jobs();
  const std::uint32_t helper = *jobs.enlist(0);
  const std::uint32_t job = jobs.try_take(1, 3, 0);
  jobs.open(job);
  ASSERT_TRUE(jobs.try_join(job, helper));
  jobs.close(job);
  sync::VersionRoot::leave(*world.slot);
  EXPECT_EQ(world.publish_and_scan(), 0u);
  jobs.leave(job, helper);
  EXPECT_EQ(world.reclaimer.scan(world.slots), 1u);
}

TEST(HelpJobs, HoldNothingOnceNobodyIsIn) {
  KeptVersion world;
  const std::uint32_t job = world.slots.jobs().try_take(1, 3, 0);
  world.slots.jobs().open(job);
  world.slots.jobs().close(job);
  sync::VersionRoot::leave(*world.slot);
  EXPECT_EQ(world.publish_and_scan(), 1u);
}

TEST(HelpJobs, LoseADeadHelperWhereverItWas) {
  HelpJobs jobs;
  const std::uint32_t dead = *jobs.enlist(7);
  const std::uint32_t alive = *jobs.enlist(8);
  jobs.set_idle(dead, true);
  // Alone in a closed job, beside another in a closed one, in an open one.
  for (std::uint32_t job = 0; job < 3; ++job) {
    ASSERT_EQ(jobs.try_take(3, 10 + job, 0), job);
    jobs.open(job);
    ASSERT_TRUE(jobs.try_join(job, dead));
  }
  ASSERT_TRUE(jobs.try_join(1, alive));
  jobs.close(0);
  jobs.close(1);
  jobs.retire(7);
  EXPECT_FALSE(jobs.any_idle());
  EXPECT_EQ(pinned(jobs), (std::vector<std::uint64_t>{11, 12}));
  jobs.leave(1, alive);
  jobs.close(2);
  EXPECT_TRUE(pinned(jobs).empty());
  EXPECT_EQ(*jobs.enlist(9), dead);
}

TEST(HelpJobs, EndInTheNameOfADeadOwner) {
  HelpJobs jobs;
  const std::uint32_t helper = *jobs.enlist(8);
  // Taken, open, open with a helper, closed with a helper; and one of somebody else.
  for (std::uint32_t job = 0; job < 4; ++job) ASSERT_EQ(jobs.try_take(4, 10 + job, 7), job);
  ASSERT_EQ(jobs.try_take(5, 20, 9), 4u);
  for (std::uint32_t job = 1; job < 4; ++job) jobs.open(job);
  ASSERT_TRUE(jobs.try_join(2, helper) && jobs.try_join(3, helper));
  jobs.close(3);
  jobs.retire(7);
  EXPECT_EQ(pinned(jobs), (std::vector<std::uint64_t>{12, 13, 20}));
  EXPECT_FALSE(jobs.try_join(1, *jobs.enlist(8)));
  jobs.leave(2, helper);
  jobs.leave(3, helper);
  EXPECT_EQ(pinned(jobs), std::vector<std::uint64_t>{20});
  jobs.give_back(4);
}

TEST(HelpJobs, OfADeadRealmEndWithItsReaders) {
  sync::ReaderSlots slots;
  ASSERT_TRUE(slots.claim(7).ok());
  const std::uint32_t job = slots.jobs().try_take(1, 3, 7);
  slots.jobs().open(job);
  EXPECT_EQ(slots.retire_owned(7, sync::Afterwards::keep), 1u);
  EXPECT_TRUE(pinned(slots.jobs()).empty());
}

}  // namespace
}  // namespace vicinal::test
