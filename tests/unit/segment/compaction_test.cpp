#include "segment/compaction.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "builder_world.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"

namespace vicinal::segment {

// Tests take the last transaction's steps one by one, and leave one out.
struct CompactionSteps {
  static bool show_without_looking_for_dead_rows(Compaction& compaction) {
    if (!compaction.prepare_drops()) return false;
    if (compaction.rows_ != 0 && !compaction.builder_.show_incoming()) return false;
    compaction.drop_sources();
    compaction.give_up();
    return true;
  }
};

}  // namespace vicinal::segment

namespace vicinal::test {
namespace {

using segment::Compaction;

constexpr std::uint32_t kAll = ~std::uint32_t{0};
constexpr Compaction::Goal kAnyDead{0, ~std::uint64_t{0}, false};
constexpr Compaction::Goal kMerge{0, ~std::uint64_t{0}, true};

const Names kKinds[] = {{IdKind::number, false}, {IdKind::string, false}};

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

// One transaction.
template <class Edit>
void commit(BuilderWorld& world, Edit edit) {
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(edit().ok());
  world.commit();
}

void upsert(BuilderWorld& world, const std::vector<std::uint64_t>& ids) {
  commit(world, [&] { return world.upsert(ids); });
}

void remove(BuilderWorld& world, const std::vector<std::uint64_t>& ids) {
  commit(world, [&] { return world.remove(ids); });
}

std::uint32_t segments(const segment::Version& version) {
  std::uint32_t count = 0;
  for (std::uint32_t n = 0; n < version.segment_end; ++n) count += version.view(n) != nullptr;
  return count;
}

void expect_right(const BuilderWorld& world) {
  ASSERT_TRUE(world.newest_is_right());
  ASSERT_TRUE(world.pinned_are_right());
  ASSERT_EQ(world.unreached_bytes(), 0);
}

// Rows of several segments, one in three of them dead.
void fill(BuilderWorld& world, std::uint64_t rows) {
  world.universe = range(0, rows + 200);
  for (std::uint64_t from = 0; from < rows; from += 100) upsert(world, range(from, 100));
  std::vector<std::uint64_t> gone;
  for (std::uint64_t id = 0; id < rows; id += 3) gone.push_back(id);
  remove(world, gone);
}

TEST(Compaction, LeavesNoDeadRowAndTheSameRowsUnderOldReaders) {
  for (const std::uint32_t bits : {1u, 3u, 4u, 8u}) {
    BuilderWorld world(24, bits, 0, kKinds[bits % 2]);
    fill(world, 1000);
    world.pin();
    ASSERT_GT(segments(world.newest()), 2u);
    while (world.compact(kAnyDead, kAll)) expect_right(world);
    EXPECT_EQ(world.newest().dead_rows, 0u);
    EXPECT_EQ(segments(world.newest()), 1u);
    expect_right(world);
    // The room that is left is used.
    upsert(world, range(1000, 100));
    EXPECT_EQ(segments(world.newest()), 1u);
    expect_right(world);
    world.unpin(0);
    (void)world.reclaim();
    expect_right(world);
  }
}

// An edit between any two blocks of a whole compaction, of rows that have been moved, are being
// moved and will be.
template <class Edit>
void edit_at_every_boundary(Edit edit) {
  bool ended = false;
  for (std::uint32_t boundary = 1; !ended; ++boundary) {
    SCOPED_TRACE("after block " + std::to_string(boundary));
    BuilderWorld world(8, 2, 0, kKinds[boundary % 2]);
    fill(world, 300);
    world.pin();
    for (std::uint32_t i = 0; i < boundary; ++i) (void)world.compact(kAnyDead, 1);
    ended = !world.compaction().active() && boundary % 2 == 1;
    while (world.move_strings({0, true})) ASSERT_NO_FATAL_FAILURE(expect_right(world));
    world.pin();
    ASSERT_NO_FATAL_FAILURE(edit(world));
    ASSERT_NO_FATAL_FAILURE(expect_right(world));
    world.pin();
    while (world.compact(kAnyDead, 2)) ASSERT_NO_FATAL_FAILURE(expect_right(world));
    ASSERT_NO_FATAL_FAILURE(expect_right(world));
    upsert(world, range(450, 100));
    while (world.pinned() > 0) world.unpin(0);
    (void)world.reclaim();
    ASSERT_NO_FATAL_FAILURE(expect_right(world));
  }
}

TEST(Compaction, RowsThatAreReplacedAtAnyBoundaryShowTheirNewContents) {
  edit_at_every_boundary([](BuilderWorld& world) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 0; id < 300; id += 7) ids.push_back(id);
    upsert(world, ids);
  });
}

TEST(Compaction, RowsThatAreRemovedOrComeBackAtAnyBoundaryAreGoneOrBack) {
  edit_at_every_boundary([](BuilderWorld& world) {
    remove(world, range(0, 40));
    upsert(world, range(30, 20));
    remove(world, range(150, 100));
  });
}

TEST(Compaction, ASegmentThatDiesAtAnyBoundaryAndItsNumbersNextOwnerAreToldApart) {
  edit_at_every_boundary([](BuilderWorld& world) {
    remove(world, range(0, 256));
    (void)world.reclaim();
    for (std::uint64_t i = 0; i < 5; ++i) upsert(world, range(i * 60, 150));
  });
}

TEST(Compaction, AClearAtAnyBoundaryLeavesNothing) {
  edit_at_every_boundary([](BuilderWorld& world) {
    commit(world, [&] { return world.clear(); });
    upsert(world, range(0, 90));
  });
}

TEST(Compaction, WhatIsGivenUpAtAnyBoundaryIsNoChange) {
  edit_at_every_boundary([](BuilderWorld& world) {
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.upsert(range(0, 400)).ok());
    ASSERT_TRUE(world.remove(range(400, 50)).ok());
    world.abandon();
    world.compaction().give_up();
  });
}

TEST(Compaction, TablesThatAreRebuiltMeanwhileKeepTheHintsOfMovedRows) {
  edit_at_every_boundary([](BuilderWorld& world) {
    // The same few ids again and again: their tables fill with dead entries.
    for (int i = 0; i < 12; ++i) upsert(world, range(600, 100));
    remove(world, range(600, 100));
  });
}

TEST(Compaction, WithoutTheLookForRowsThatDiedMeanwhileTheyComeBack) {
  BuilderWorld world(8, 2);
  fill(world, 400);
  (void)world.compact(kAnyDead, 3);
  remove(world, range(0, 20));
  ASSERT_TRUE(world.begin().ok());
  Compaction::Step step = Compaction::Step::more;
  while (step == Compaction::Step::more) step = world.compaction().move_block();
  ASSERT_EQ(step, Compaction::Step::moved);
  ASSERT_TRUE(
      segment::CompactionSteps::show_without_looking_for_dead_rows(world.compaction()));
  world.commit();
  EXPECT_FALSE(world.newest_is_right());
}

void random_edit(BuilderWorld& world, std::uint32_t id_end) {
  std::vector<std::uint64_t> ids(world.random.below(world.random.below(4) == 0 ? 300 : 30));
  for (std::uint64_t& id : ids) id = world.random.below(id_end);
  const std::uint32_t kind = world.random.below(60);
  ASSERT_TRUE(world.begin().ok());
  if (kind == 0) {
    ASSERT_TRUE(world.clear().ok());
  } else if (kind < 40) {
    ASSERT_TRUE(world.upsert(ids).ok());
  } else {
    ASSERT_TRUE(world.remove(ids).ok());
  }
  ASSERT_TRUE(world.working_state_is_right());
  if (world.random.below(8) == 0) {
    world.abandon();
  } else {
    world.commit();
  }
}

TEST(Compaction, RandomWritesBetweenRandomSlicesShowWhatAPlainMapShowsNowAndLater) {
  std::uint64_t shown = 0;
  for (std::uint64_t seed = 1; seed <= scaled(10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint32_t bits[] = {1, 2, 3, 4, 8};
    BuilderWorld world(8 + 8 * static_cast<std::uint32_t>(seed % 3), bits[seed % 5], 0,
                       {seed % 4 < 2 ? IdKind::number : IdKind::string, seed % 8 == 3});
    world.random = Random(seed);
    const std::uint32_t id_end = seed % 2 == 0 ? 200 : 900;
    world.universe = range(0, id_end + 10);
    for (int i = 0; i < 80; ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      ASSERT_NO_FATAL_FAILURE(random_edit(world, id_end));
      const Compaction::Goal goal{world.random.below(50), ~std::uint64_t{0},
                                  world.random.below(4) == 0};
      for (std::uint32_t slices = world.random.below(3); slices > 0; --slices) {
        const bool before = world.compaction().active();
        (void)world.compact(goal, 1 + world.random.below(8));
        shown += before && !world.compaction().active() ? 1 : 0;
        if (world.random.below(3) == 0) (void)world.move_strings({world.random.below(60), true});
        ASSERT_TRUE(world.newest_is_right());
      }
      if (world.random.below(4) == 0) world.pin();
      if (world.pinned() > 5) world.unpin(world.random.below(world.pinned()));
      if (world.random.below(3) == 0) (void)world.reclaim();
      ASSERT_NO_FATAL_FAILURE(expect_right(world));
    }
  }
  EXPECT_GT(shown, 20u);
}

TEST(Compaction, MergesSmallSegmentsAndMovesNoLoneOneForNothing) {
  BuilderWorld world(8, 4);
  world.universe = range(0, 1000);
  for (std::uint64_t id = 0; id < 900; id += 30) upsert(world, range(id, 30));
  ASSERT_GT(segments(world.newest()), 2u);
  EXPECT_FALSE(world.compact(kAnyDead, kAll));
  while (world.compact(kMerge, kAll)) expect_right(world);
  EXPECT_EQ(segments(world.newest()), 1u);
  expect_right(world);
}

TEST(Compaction, OnlyOldSegmentsOfTheGoalAreMovedSoThatItEnds) {
  BuilderWorld world(8, 4);
  fill(world, 600);
  const Compaction::Goal goal{0, world.newest().sequence, true};
  int slices = 0;
  while (world.compact(goal, 2)) {
    upsert(world, range(world.random.below(500), 40));  // as many dead rows as one likes
    ASSERT_LT(++slices, 1000);
  }
  expect_right(world);
}

TEST(Compaction, ASegmentWithoutALiveRowIsDroppedWithoutATarget) {
  BuilderWorld world(8, 4);
  world.universe = range(0, 300);
  upsert(world, range(0, 128));  // a whole segment
  upsert(world, range(200, 20));
  remove(world, range(200, 20));
  ASSERT_TRUE(world.compact(kAnyDead, 1));
  while (world.compact(kAnyDead, 1)) expect_right(world);
  EXPECT_EQ(world.newest().dead_rows, 0u);
  EXPECT_EQ(segments(world.newest()), 1u);
  expect_right(world);
}

TEST(Compaction, AnIndexOfDeadRowsAloneIsDroppedWithoutATarget) {
  BuilderWorld world(8, 4);
  world.universe = range(0, 300);
  upsert(world, range(0, 200));
  remove(world, range(0, 150));
  (void)world.compact(kAnyDead, 1);
  remove(world, range(150, 50));
  while (world.compact(kAnyDead, 1)) expect_right(world);
  EXPECT_EQ(world.newest().live_rows + world.newest().dead_rows, 0u);
  expect_right(world);
}

TEST(Compaction, AnAllocationThatFailsAnywhereLosesNothing) {
  std::uint64_t failing = 0;
  for (std::uint64_t nth = 1; nth == failing + 1; ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const std::uint64_t live_before = live_allocations();
    {
      BuilderWorld world(8, 2, 0, kKinds[nth % 2]);
      fill(world, 500);
      world.pin();
      const FailingAllocations failures(nth, nth);
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 60; ++i) {
          const bool more = world.compact(kMerge, 2);
          ASSERT_NO_FATAL_FAILURE(expect_right(world));
          if (!more) break;
          if (i == 2 && (world.begin().ok() || world.begin().ok())) {
            (void)world.remove(range(static_cast<std::uint64_t>(round) * 50, 70));
            (void)world.upsert(range(300, 20));
            world.commit();
          }
        }
      }
      failing += failures.failed();
    }
    ASSERT_EQ(live_allocations(), live_before);
  }
  EXPECT_GT(failing, 60u);
}

TEST(Compaction, WhatDoesNotFitTheBudgetIsLeftAloneAndTheBudgetIsKept) {
  int skipped = 0;
  int done = 0;
  for (std::uint64_t budget = 60'000; budget < 400'000; budget += 20'000) {
    BuilderWorld world(64, 4, budget);
    world.universe = range(0, 4000);
    std::uint64_t next = 0;
    for (Status status; status.ok(); next += 40) {
      ASSERT_TRUE(world.begin().ok());
      status = world.upsert(range(next, 40));
      world.commit();
      (void)world.reclaim();
    }
    ASSERT_TRUE(world.begin().ok());
    for (std::uint64_t id = 0; id < next; id += 2) (void)world.remove({{id}});
    world.commit();
    (void)world.reclaim();
    const std::uint64_t dead = world.newest().dead_rows;
    while (world.compact(kAnyDead, 4)) {
      ASSERT_NO_FATAL_FAILURE(expect_right(world));
      (void)world.reclaim();
    }
    (world.newest().dead_rows < dead ? done : skipped) += 1;
    ASSERT_NO_FATAL_FAILURE(expect_right(world));
  }
  EXPECT_GT(skipped + done, 10);
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace vicinal::test
