#include "segment/strings.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "builder_world.hpp"

namespace vicinal::test {
namespace {

using segment::Handle;
using segment::StringKey;
using segment::VersionBuilder;

constexpr Names kStrings{IdKind::string, false};
constexpr VersionBuilder::StringGoal kEverything{0, true};

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

void upsert(BuilderWorld& world, const std::vector<std::uint64_t>& ids) {
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(ids).ok());
  ASSERT_TRUE(world.commit());
}

void remove(BuilderWorld& world, const std::vector<std::uint64_t>& ids) {
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.remove(ids).ok());
  (void)world.commit();
}

std::uint64_t string_bytes(const segment::Version& version) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < version.strings.directory->count; ++i) {
    bytes += version.strings.directory->entries()[i].chunk->bytes;
  }
  return bytes;
}

std::uint64_t handle_of(const segment::Version& version, std::string_view text) {
  const segment::Slot slot = version.find(StringKey::of(text));
  return version.view(slot.segment())->segment->ids()[slot.row()];
}

TEST(Strings, OfEveryLengthReadBackAndAreFound) {
  BuilderWorld world(8, 2, 0, kStrings);
  std::vector<std::string> texts;
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8},
                                   std::size_t{4083}, std::size_t{4084}, std::size_t{4085},
                                   std::size_t{40000}, std::size_t{65534}, std::size_t{65535}}) {
    texts.emplace_back(length, static_cast<char>('a' + texts.size()));
  }
  texts.emplace_back("\0\xff\xfe", 3);  // any bytes
  const std::vector<std::uint8_t> row(world.layout().packed_row_bytes + simd::kOverread);
  ASSERT_TRUE(world.begin().ok());
  for (const std::string& text : texts) {
    ASSERT_TRUE(world.builder().append(StringKey::of(text), row.data(), {}, 1).ok());
  }
  ASSERT_TRUE(world.commit());
  const segment::Version& version = world.newest();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Handle handle{handle_of(version, texts[i])};
    EXPECT_EQ(version.strings.text(handle), texts[i]);
    EXPECT_EQ(handle.ordinal(), i + 1);
  }
  EXPECT_FALSE(version.find(StringKey::of("no such one")).valid());
  EXPECT_FALSE(version.find(StringKey::of(std::string("\0\xff", 2))).valid());
}

TEST(Strings, ThatAreDeadGiveTheirBytesBack) {
  BuilderWorld world(8, 2, 0, kStrings);
  world.universe = range(0, 3000);
  upsert(world, range(0, 3000));
  const std::uint64_t before = string_bytes(world.newest());
  world.pin();
  std::vector<std::uint64_t> gone;
  for (std::uint64_t id = 0; id < 3000; ++id) {
    if (id % 10 != 0) gone.push_back(id);
  }
  remove(world, gone);
  while (world.move_strings(kEverything)) {
    ASSERT_TRUE(world.newest_is_right());
    ASSERT_TRUE(world.pinned_are_right());
  }
  EXPECT_LT(string_bytes(world.newest()), before / 5);
  EXPECT_EQ(world.newest().strings.entries, 300u);
  EXPECT_EQ(world.unreached_bytes(), 0);
  world.unpin(0);
  (void)world.reclaim();
  EXPECT_EQ(world.unreached_bytes(), 0);
  remove(world, range(0, 3000));
  while (world.move_strings(kEverything)) {
  }
  EXPECT_EQ(world.newest().strings.directory->count, 0u);
  upsert(world, range(0, 10));
  EXPECT_TRUE(world.newest_is_right());
}

TEST(Strings, KeepTheirHandlesWhenRowsOrStringsAreMoved) {
  BuilderWorld world(8, 2, 0, kStrings);
  world.universe = range(0, 600);
  upsert(world, range(0, 600));
  remove(world, range(100, 300));
  std::map<std::uint64_t, std::uint64_t> handles;
  for (const auto& [id, row] : world.model()) {
    handles[id] = handle_of(world.newest(), Names::text_of(id));
  }
  int moves = 0;
  while (world.move_strings(kEverything)) ++moves;
  while (world.compact({0, ~std::uint64_t{0}, true}, 3)) ++moves;
  EXPECT_GT(moves, 3);
  for (const auto& [id, handle] : handles) {
    EXPECT_EQ(handle_of(world.newest(), Names::text_of(id)), handle);
  }
  // A row that takes another's place is younger than all.
  upsert(world, {5});
  for (const auto& [id, handle] : handles) {
    EXPECT_GT(handle_of(world.newest(), Names::text_of(5)), handle);
  }
}

TEST(Strings, AreMovedToAnEnd) {
  BuilderWorld world(8, 2, 0, kStrings);
  world.universe = range(0, 900);
  for (int round = 0; round < 30; ++round) {
    upsert(world, range(world.random.below(500), 300));
    int moves = 0;
    while (world.move_strings(kEverything)) ASSERT_LT(++moves, 100);
    ASSERT_EQ(world.newest().strings.entries, world.newest().live_rows);
  }
  // One that began later is not waited for.
  const VersionBuilder::StringGoal goal{0, true, world.newest().sequence};
  int moves = 0;
  do {
    upsert(world, range(world.random.below(500), 40));
    ASSERT_LT(++moves, 100);
  } while (world.move_strings(goal));
  EXPECT_TRUE(world.newest_is_right());
}

TEST(Strings, OfOneRowThatIsReplacedForEverStayFew) {
  BuilderWorld world(8, 2, 0, kStrings);
  world.universe = range(0, 50);
  upsert(world, range(0, 50));
  const std::uint64_t at_first = string_bytes(world.newest());
  for (int round = 0; round < 5000; ++round) {
    upsert(world, {7});
    (void)world.move_strings();
    (void)world.reclaim();
  }
  EXPECT_LT(string_bytes(world.newest()), at_first + 2 * segment::kStringChunkBytesMax);
  EXPECT_LT(world.newest().strings.directory->count, 20u);
  EXPECT_TRUE(world.newest_is_right());
}

TEST(Strings, AWrongCountCostsALookAndNothingElse) {
  BuilderWorld world(8, 2, 0, kStrings);
  world.universe = range(0, 700);
  upsert(world, range(0, 700));
  for (std::uint32_t i = 0; i < world.newest().strings.directory->count; ++i) {
    world.newest().strings.directory->entries()[i].chunk->dead = 1u << 20;
  }
  int moves = 0;
  while (world.move_strings(kEverything)) ASSERT_LT(++moves, 100);
  EXPECT_TRUE(world.newest_is_right());
}

TEST(Strings, AreCountedAgainByTheSuccessorOfADeadWriter) {
  BuilderWorld world(8, 2, 0, kStrings);
  world.universe = range(0, 700);
  upsert(world, range(0, 700));
  remove(world, range(100, 300));
  upsert(world, range(350, 9));  // the builder keeps nothing in reserve then
  for (std::uint32_t i = 0; i < world.newest().strings.directory->count; ++i) {
    world.newest().strings.directory->entries()[i].chunk->dead += i + 1;
  }
  EXPECT_FALSE(world.newest_is_right());
  (void)world.builder().recover(world.newest(), 0);
  EXPECT_TRUE(world.newest_is_right());
}

}  // namespace
}  // namespace vicinal::test
