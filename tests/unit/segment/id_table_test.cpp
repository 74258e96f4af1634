#include "segment/id_table.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "builder_world.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using segment::IdRoot;
using segment::Slot;
using segment::SubTable;

// The inverse of x ^= x >> shift.
std::uint64_t unshift(std::uint64_t y, int shift) {
  std::uint64_t x = y;
  for (int done = shift; done < 64; done += shift) x = y ^ (x >> shift);
  return x;
}

// The inverse of an odd number modulo 2^64, by Newton's method.
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

// The id with this hash: the finaliser of SplitMix64 taken back step by step.
std::uint64_t id_of_hash(std::uint64_t hash) {
  std::uint64_t x = unshift(hash, 31) * inverse(0x94d049bb133111ebu);
  x = unshift(x, 27) * inverse(0xbf58476d1ce4e5b9u);
  return unshift(x, 30) - 0x9e3779b97f4a7c15u;
}

// Ids of one sub-table whose chains all start at the same entry, whatever its size.
std::vector<std::uint64_t> colliding_ids(std::uint64_t table, std::uint32_t start,
                                         std::uint64_t count) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    ids.push_back(id_of_hash(table << 58 | i << 32 | start));
  }
  return ids;
}

TEST(IdTableTest, IdsAreMadeForAnyHash) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t hash = mix64(i) * 3;
    ASSERT_EQ(IdRoot::hash(id_of_hash(hash)), hash);
  }
}

TEST(IdTableTest, AChainWrapsAroundAndASearchOfAFullTableEnds) {
  IdRoot root;
  SubTable* table = SubTable::create(16);
  root.tables[5] = table;
  const auto ids = colliding_ids(5, ~0u, 17);
  for (std::uint32_t i = 0; i < 16; ++i) table->insert(IdRoot::hash(ids[i]), Slot{i});
  for (std::uint32_t i = 0; i < 16; ++i) {
    const auto is_ith = [i](Slot slot, std::uint64_t) { return slot.value == i; };
    EXPECT_EQ(root.find(ids[i], is_ith).value, i);
  }
  std::uint32_t steps = 0;
  const auto refuse = [&](Slot, std::uint64_t) { return ++steps == 0; };
  EXPECT_FALSE(root.find(ids[16], refuse).valid());
  EXPECT_EQ(steps, 16u);
  table->destroy(table);
}

void commit_upsert(BuilderWorld& world, std::span<const std::uint64_t> ids) {
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(ids).ok());
  ASSERT_TRUE(world.commit());
}

TEST(IdTableTest, EntriesAreCountedAgainAfterAWritersDeath) {
  SubTable* table = SubTable::create(16);
  for (std::uint32_t i = 0; i < 11; ++i) table->insert(mix64(i), Slot::of(0, i));
  table->used = 9;
  table->recount();
  EXPECT_EQ(table->used, 11u);
  table->destroy(table);
}

TEST(IdTableTest, IdsOfOneChainAreExactInEverySnapshotThroughRebuilds) {
  BuilderWorld world(8, 1);
  world.universe = colliding_ids(63, 12, 400);
  Random& random = world.random;
  for (std::uint64_t round = 0; round < scaled(60); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<std::uint64_t> some;
    for (std::uint32_t i = random.below(30); i > 0; --i) {
      some.push_back(world.universe[random.below(world.universe.size())]);
    }
    ASSERT_TRUE(world.begin().ok());
    if (random.below(3) != 0) {
      ASSERT_TRUE(world.upsert(some).ok());
    } else {
      ASSERT_TRUE(world.remove(some).ok());
    }
    // A batch that is given up leaves hints of other ids at the same slots.
    ASSERT_EQ(world.upsert(std::span(world.universe).first(20), 19).code(), Code::aborted);
    world.commit();
    ASSERT_TRUE(world.newest_is_right());
    if (round % 4 == 0) world.pin();
    if (world.pinned() > 8) world.unpin(0);
    (void)world.reclaim();
    ASSERT_TRUE(world.pinned_are_right());
    ASSERT_EQ(world.unreached_bytes(), 0);
  }
}

TEST(IdTableTest, AnIdReplacedOverAndOverKeepsItsTableSmall) {
  BuilderWorld world(8, 1);
  world.universe = {1, 2, 3};
  std::uint64_t bytes_max = 0;
  for (std::uint64_t round = 0; round < scaled(800); ++round) {
    ASSERT_NO_FATAL_FAILURE(commit_upsert(world, std::span(world.universe).first(1)));
    (void)world.reclaim();
    std::uint64_t bytes = 0;
    for (const SubTable* table : world.newest().ids->tables) {
      if (table != nullptr) bytes += table->bytes;
    }
    bytes_max = std::max(bytes_max, bytes);
  }
  EXPECT_TRUE(world.newest_is_right());
  EXPECT_LE(bytes_max, sizeof(SubTable) + 64 * sizeof(SubTable::Entry));
}

TEST(IdTableTest, BatchesGivenUpOverAndOverKeepTheTablesSmall) {
  BuilderWorld world(8, 1);
  world.universe.resize(64);
  std::iota(world.universe.begin(), world.universe.end(), 0u);
  ASSERT_NO_FATAL_FAILURE(commit_upsert(world, world.universe));
  for (std::uint64_t round = 0; round < scaled(100); ++round) {
    ASSERT_TRUE(world.begin().ok());
    ASSERT_EQ(world.upsert(world.universe, 63).code(), Code::aborted);
    ASSERT_EQ(world.upsert(std::vector<std::uint64_t>{1000 + round, 0}, 1).code(), Code::aborted);
    ASSERT_FALSE(world.commit());
  }
  ASSERT_NO_FATAL_FAILURE(commit_upsert(world, world.universe));
  EXPECT_TRUE(world.newest_is_right());
  std::uint64_t bytes = 0;
  for (const SubTable* table : world.newest().ids->tables) {
    if (table != nullptr) bytes += table->bytes;
  }
  EXPECT_LE(bytes, segment::kSubTables * (sizeof(SubTable) + 64 * sizeof(SubTable::Entry)));
}

TEST(IdTableTest, HintsToSegmentsThatAreGoneAreNotFollowed) {
  BuilderWorld world(8, 1);
  world.universe = colliding_ids(0, 3, 600);
  const std::span all(world.universe);
  ASSERT_NO_FATAL_FAILURE(commit_upsert(world, all.first(128)));
  world.pin();  // its table gets hints to newer segments
  for (int round = 0; round < 4; ++round) {
    ASSERT_NO_FATAL_FAILURE(commit_upsert(world, all.subspan(100, 140)));
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.remove(all.subspan(0, 240)).ok());
    ASSERT_TRUE(world.commit());
    (void)world.reclaim();  // ASan: the segments are freed while hints to them stay
    ASSERT_TRUE(world.pinned_are_right());
    ASSERT_TRUE(world.newest_is_right());
  }
}

}  // namespace
}  // namespace vicinal::test
