#include "segment/builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "builder_world.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

const Names kKinds[] = {{IdKind::number, false}, {IdKind::string, false}};

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

std::vector<std::uint64_t> some_ids(BuilderWorld& world, std::uint32_t count_max,
                                    std::uint32_t id_end) {
  std::vector<std::uint64_t> ids(world.random.below(count_max + 1));
  for (std::uint64_t& id : ids) id = world.random.below(id_end);
  return ids;
}

void random_edit(BuilderWorld& world, std::uint32_t id_end) {
  const std::uint32_t kind = world.random.below(40);
  const bool big = world.random.below(4) == 0;
  const auto ids = some_ids(world, big ? 300 : 20, id_end);
  const bool give_up = world.random.below(4) == 0;
  const std::uint64_t after = give_up && !ids.empty() ? world.random.below(ids.size()) : ~0ull;
  if (kind == 0) {
    ASSERT_TRUE(world.clear().ok());
  } else if (kind < 24) {
    ASSERT_EQ(world.upsert(ids, after).code(), after < ids.size() ? Code::aborted : Code::ok);
  } else {
    ASSERT_EQ(world.remove(ids, after).code(), after < ids.size() ? Code::aborted : Code::ok);
  }
  ASSERT_TRUE(world.working_state_is_right());
}

void random_pins(BuilderWorld& world) {
  if (world.random.below(3) == 0) world.pin();
  const bool many = world.pinned() > 6;
  if (world.pinned() > 0 && (many || world.random.below(6) == 0)) {
    world.unpin(world.random.below(world.pinned()));
  }
  if (world.random.below(3) == 0) (void)world.reclaim();
}

void random_history(std::uint64_t seed, std::uint32_t dim, std::uint32_t bits,
                    std::uint32_t id_end, const Names& names = {}) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  BuilderWorld world(dim, bits, 0, names);
  world.random = Random(seed);
  world.universe = range(0, id_end + 10);
  for (int transaction = 0; transaction < 40; ++transaction) {
    SCOPED_TRACE("transaction " + std::to_string(transaction));
    ASSERT_TRUE(world.begin().ok());
    for (std::uint32_t edits = world.random.below(5); edits > 0; --edits) {
      ASSERT_NO_FATAL_FAILURE(random_edit(world, id_end));
    }
    const std::uint64_t before = world.newest().sequence;
    const bool given_up = world.random.below(8) == 0;
    if (given_up) world.abandon();
    const bool published = !given_up && world.commit();
    ASSERT_EQ(world.newest().sequence, before + (published ? 1 : 0));
    ASSERT_TRUE(world.newest_is_right());
    ASSERT_TRUE(world.pinned_are_right());
    if (world.random.below(3) == 0) (void)world.move_strings();
    if (world.random.below(9) == 0) (void)world.move_strings({0, true});
    random_pins(world);
    ASSERT_TRUE(world.newest_is_right());
    ASSERT_TRUE(world.pinned_are_right());
    ASSERT_EQ(world.unreached_bytes(), 0);
  }
}

TEST(BuilderTest, EveryVersionShowsWhatAPlainMapShowsNowAndLater) {
  const std::uint32_t bits[] = {1, 2, 3, 4, 8};
  for (std::uint64_t seed = 1; seed <= scaled(8); ++seed) {
    const std::uint32_t id_end = seed % 3 == 0 ? 60 : 700;
    const std::uint32_t dim = 8 + 8 * static_cast<std::uint32_t>(seed % 3);
    ASSERT_NO_FATAL_FAILURE(random_history(seed, dim, bits[seed % 5], id_end));
  }
}

TEST(BuilderTest, VersionsWithStringsShowTheSame) {
  for (std::uint64_t seed = 1; seed <= scaled(8); ++seed) {
    const std::uint32_t id_end = seed % 3 == 0 ? 60 : 700;
    ASSERT_NO_FATAL_FAILURE(random_history(seed, 8, 2, id_end, {IdKind::string, false}));
  }
}

TEST(BuilderTest, StringsOfOneHashAreToldApart) {
  for (std::uint64_t seed = 1; seed <= scaled(4); ++seed) {
    ASSERT_NO_FATAL_FAILURE(random_history(seed, 8, 2, 150, {IdKind::string, true}));
  }
}

TEST(BuilderTest, TheComparisonNoticesAMissingAStrayAndAChangedRow) {
  BuilderWorld world(16, 4);
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(range(0, 50)).ok());
  ASSERT_TRUE(world.commit());
  const auto nothing = std::span<const std::uint64_t>();
  EXPECT_TRUE(shows(world.newest(), world.model(), nothing, world.layout()));
  Model model = world.model();
  model.erase(7);
  EXPECT_FALSE(shows(world.newest(), model, nothing, world.layout()));
  model = world.model();
  model[1000] = model[7];
  EXPECT_FALSE(shows(world.newest(), model, nothing, world.layout()));
  for (std::size_t bit = 0; bit < world.layout().packed_row_bytes * 8; ++bit) {
    model = world.model();
    model[7].packed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_FALSE(shows(world.newest(), model, nothing, world.layout()));
  }
}

TEST(BuilderTest, ARollbackAcrossBlocksAndSegmentsLeavesNothingBehind) {
  for (std::uint32_t before : {0u, 1u, 31u, 32u, 33u, 127u, 128u, 129u, 200u}) {
    for (std::uint32_t appended : {1u, 31u, 32u, 64u, 127u, 128u, 400u}) {
      SCOPED_TRACE(std::to_string(before) + " rows, then " + std::to_string(appended));
      BuilderWorld world(16, 3, 0, kKinds[before % 2]);
      world.universe = range(0, 1000);
      ASSERT_TRUE(world.begin().ok());
      for (std::uint64_t id = 0; id < before; ++id) ASSERT_TRUE(world.upsert({{id}}).ok());
      world.commit();
      world.pin();
      ASSERT_TRUE(world.begin().ok());
      ASSERT_TRUE(world.upsert(range(400, 5)).ok());
      auto ids = range(500, appended);
      ids.push_back(0);
      ids.push_back(500);  // twice in one batch
      ASSERT_EQ(world.upsert(ids, ids.size() - 1).code(), Code::aborted);
      ASSERT_TRUE(world.working_state_is_right());
      ASSERT_TRUE(world.upsert(range(900, 30)).ok());
      ASSERT_TRUE(world.commit());
      EXPECT_TRUE(world.newest_is_right());
      EXPECT_TRUE(world.pinned_are_right());
      EXPECT_EQ(world.unreached_bytes(), 0);
    }
  }
}

TEST(BuilderTest, RowsOfAnOpenedSegmentThatWereKilledAndRevivedGoWithTheirRollback) {
  BuilderWorld world(16, 4);
  world.universe = range(0, 10);
  ASSERT_TRUE(world.begin().ok());
  const std::uint64_t twice[] = {3, 3, 3, 4};
  ASSERT_EQ(world.upsert(twice, 3).code(), Code::aborted);
  ASSERT_TRUE(world.upsert({{5}}).ok());
  ASSERT_TRUE(world.commit());
  EXPECT_TRUE(world.newest_is_right());
  EXPECT_EQ(world.unreached_bytes(), 0);
}

TEST(BuilderTest, WhatFailsOrIsRolledBackOrFindsNothingIsNoChange) {
  BuilderWorld world(16, 4);
  world.universe = range(0, 500);
  ASSERT_TRUE(world.begin().ok());
  EXPECT_TRUE(world.clear().ok());
  EXPECT_FALSE(world.commit());
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(range(0, 150)).ok());
  ASSERT_TRUE(world.commit());
  ASSERT_TRUE(world.begin().ok());
  EXPECT_EQ(world.upsert(range(100, 200), 199).code(), Code::aborted);
  EXPECT_EQ(world.remove(range(100, 40), 39).code(), Code::aborted);
  EXPECT_TRUE(world.remove(range(300, 40)).ok());
  EXPECT_FALSE(world.commit());
  EXPECT_EQ(world.newest().sequence, 1u);
  EXPECT_TRUE(world.newest_is_right());
  EXPECT_EQ(world.unreached_bytes(), 0);
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.clear().ok());
  ASSERT_TRUE(world.upsert(range(400, 50)).ok());
  world.abandon();
  EXPECT_TRUE(world.newest_is_right());
  EXPECT_EQ(world.unreached_bytes(), 0);
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(range(140, 20)).ok());
  ASSERT_TRUE(world.commit());
  EXPECT_EQ(world.newest().sequence, 2u);
  EXPECT_TRUE(world.newest_is_right());
}

TEST(BuilderTest, AnIdTwiceInOneBatchKeepsTheLastRow) {
  BuilderWorld world(16, 4);
  const std::uint64_t ids[] = {1, 2, 1, 1, 2};
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(ids).ok());
  ASSERT_TRUE(world.commit());
  EXPECT_EQ(world.newest().live_rows, 2u);
  EXPECT_TRUE(world.newest_is_right());
}

TEST(BuilderTest, AFullSegmentOfDeadRowsIsDroppedAndItsNumberUsedAgainUnderOldReaders) {
  BuilderWorld world(8, 2);
  world.universe = range(0, 700);
  for (std::uint64_t id = 0; id < 260; ++id) {
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.upsert({{id}}).ok());
    ASSERT_TRUE(world.commit());
  }
  const std::uint32_t first_rows = world.newest().view(0)->segment->capacity();
  ASSERT_EQ(first_rows, segment::kSegmentRowsMin);
  world.pin();
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.remove(range(0, first_rows)).ok());
  ASSERT_TRUE(world.commit());
  EXPECT_EQ(world.newest().view(0), nullptr);
  world.pin();
  int reused = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.upsert(range(0, 600)).ok());
    ASSERT_TRUE(world.commit());
    world.pin();
    (void)world.reclaim();
    reused += world.newest().view(0) != nullptr ? 1 : 0;
    EXPECT_TRUE(world.newest_is_right());
    EXPECT_TRUE(world.pinned_are_right());
  }
  EXPECT_GT(reused, 0);
}

TEST(BuilderTest, WhatNoReaderHoldsIsFreedAndWhatOneHoldsIsNot) {
  BuilderWorld world(8, 4);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.upsert(range(0, 100)).ok());
    ASSERT_TRUE(world.commit());
    if (i == 10) world.pin();
  }
  (void)world.reclaim();
  EXPECT_TRUE(world.pinned_are_right());
  world.unpin(0);
  (void)world.reclaim();
  EXPECT_EQ(world.reclaim(), 0u);
  EXPECT_EQ(world.unreached_bytes(), 0);
}

// Transactions of every kind; each edit may fail, and is then tried once more.
void eventful_history(BuilderWorld& world) {
  const auto edit = [&](auto change) {
    if (!change().ok()) {
      ASSERT_TRUE(world.working_state_is_right());
      ASSERT_TRUE(change().ok());
    }
    ASSERT_TRUE(world.working_state_is_right());
  };
  const auto transaction = [&](auto edits) {
    const bool begun = world.begin().ok() || world.begin().ok();
    ASSERT_TRUE(begun);
    edits();
    world.commit();
    ASSERT_TRUE(world.newest_is_right());
    ASSERT_TRUE(world.pinned_are_right());
    ASSERT_EQ(world.unreached_bytes(), 0);
  };
  const std::uint64_t twice[] = {3, 300, 3, 301, 300, 302};
  transaction([&] { edit([&] { return world.upsert(range(0, 20)); }); });
  world.pin();
  transaction([&] {
    edit([&] { return world.upsert(range(10, 125)); });
    edit([&] { return world.remove(range(0, 40)); });
    edit([&] { return world.upsert(twice); });
  });
  world.pin();
  transaction([&] { edit([&] { return world.upsert(range(0, 1200)); }); });
  transaction([&] {
    edit([&] { return world.remove(range(5, 160)); });
    edit([&] { return world.clear(); });
    edit([&] { return world.upsert(range(50, 140)); });
    edit([&] { return world.upsert(twice); });
  });
  while (world.move_strings({0, true})) {
  }
  ASSERT_TRUE(world.newest_is_right());
  ASSERT_TRUE(world.pinned_are_right());
  ASSERT_EQ(world.unreached_bytes(), 0);
}

TEST(BuilderTest, AnAllocationThatFailsAnywhereLosesNothing) {
  std::uint64_t failing = 0;
  for (const Names& names : kKinds) {
    failing = 0;
    for (std::uint64_t nth = 1; nth == failing + 1; ++nth) {
      SCOPED_TRACE("allocation " + std::to_string(nth));
      const std::uint64_t live_before = live_allocations();
      {
        BuilderWorld world(8, 2, 0, names);
        world.universe = range(0, 1300);
        const FailingAllocations failures(nth, nth);
        ASSERT_NO_FATAL_FAILURE(eventful_history(world));
        failing += failures.failed();
      }
      ASSERT_EQ(live_allocations(), live_before);
    }
    EXPECT_GT(failing, 60u);
  }
}

TEST(BuilderTest, MemoryThatStaysExhaustedStopsWritesAndNothingElse) {
  for (std::uint64_t from = 1; from < 40; ++from) {
    BuilderWorld world(8, 2, 0, kKinds[from % 2]);
    world.universe = range(0, 300);
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.upsert(range(0, 100)).ok());
    ASSERT_TRUE(world.commit());
    world.pin();
    {
      const FailingAllocations failures(from, ~std::uint64_t{0});
      for (std::uint64_t id = 50; id < 300; ++id) {
        if (!world.begin().ok()) continue;
        (void)world.upsert({{id, id + 1}});
        (void)world.remove({{id - 10}});
        ASSERT_TRUE(world.working_state_is_right());
        world.commit();
      }
      ASSERT_GT(failures.failed(), 0u);
    }
    ASSERT_TRUE(world.newest_is_right());
    ASSERT_TRUE(world.pinned_are_right());
    ASSERT_EQ(world.unreached_bytes(), 0);
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.upsert(range(0, 300)).ok());
    ASSERT_TRUE(world.commit());
    ASSERT_TRUE(world.newest_is_right());
  }
}

TEST(BuilderTest, AnyBudgetIsKeptAndRefusesWithItsNumbers) {
  for (std::uint64_t budget = 1024; budget < 400'000; budget += budget / 7) {
    BuilderWorld world(8, 4, budget, kKinds[budget % 2]);
    world.universe = range(0, 2000);
    std::uint64_t next = 0;
    Status refused;
    while (refused.ok() && next < 20'000) {
      ASSERT_TRUE(world.begin().ok());
      refused = world.upsert(range(next, 40));
      ASSERT_TRUE(world.working_state_is_right());
      world.commit();
      (void)world.reclaim();
      if (refused.ok()) next += 40;
    }
    ASSERT_EQ(refused.code(), Code::full);
    EXPECT_EQ(refused.b(), budget);
    ASSERT_TRUE(world.newest_is_right());
    ASSERT_EQ(world.unreached_bytes(), 0);
  }
}

}  // namespace
}  // namespace vicinal::test
