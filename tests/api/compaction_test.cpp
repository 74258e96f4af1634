// Compaction as a caller sees it: fewer dead rows, the same results, bounded memory.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "support/index_world.hpp"
#include "support/test_scale.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 16;

Result<Receipt> upsert(Index& index, const std::vector<std::uint64_t>& ids,
                       std::uint64_t revision) {
  return index.upsert(ids, rows_of(ids, kDim, revision));
}

std::vector<Hit> all_hits(Reader& reader) {
  SearchOptions all;
  all.k = 1'000'000;
  all.exhaustive = true;
  return copy_of(*reader.search(vector_of(99, kDim), all));
}

TEST(CompactedIndex, HasNoDeadRowAndAnswersToTheBitAsBeforeInEverySnapshot) {
  for (const std::uint8_t bits : {std::uint8_t{1}, std::uint8_t{4}, std::uint8_t{8}}) {
    Index index = std::move(Index::create(small_options(kDim, Metric::l2, bits))).value();
    ASSERT_TRUE(upsert(index, ids_from(0, 900), 0).ok());
    ASSERT_TRUE(upsert(index, ids_from(300, 200), 1).ok());
    Reader reader = index.reader();
    Snapshot before = reader.snapshot();
    const auto before_hits = all_hits(before);
    ASSERT_TRUE(index.remove(ids_from(600, 100)).ok());
    const auto hits = all_hits(reader);
    Filter filter = std::move(reader.filter(ids_from(250, 400))).value();
    SearchOptions filtered;
    filtered.k = 500;
    filtered.compiled_filter = &filter;
    const auto filtered_hits = copy_of(*reader.search(vector_of(1, kDim), filtered));

    EXPECT_EQ(index.stats().dead, 300u);
    const auto receipt = index.compact();
    ASSERT_TRUE(receipt.ok());
    EXPECT_EQ(receipt->count, 300u);
    EXPECT_EQ(receipt->sequence, reader.sequence());
    EXPECT_EQ(index.stats().dead, 0u);
    EXPECT_EQ(index.stats().segments, 1u);
    EXPECT_TRUE(equal_hits(all_hits(reader), hits));
    EXPECT_TRUE(equal_hits(all_hits(before), before_hits));
    EXPECT_TRUE(
        equal_hits(copy_of(*reader.search(vector_of(1, kDim), filtered)), filtered_hits));
    for (const std::uint64_t id : ids_from(0, 900)) {
      ASSERT_EQ(reader.has(id), id < 600 || id >= 700);
      ASSERT_TRUE(before.has(id));
    }
    const auto again = index.compact();
    EXPECT_TRUE(again.ok());
    EXPECT_EQ(again->count, 0u);
    EXPECT_EQ(again->sequence, receipt->sequence);
  }
}

TEST(CompactedIndex, SaysWhyItCannotBe) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  EXPECT_TRUE(index.compact().ok());
  OpenOptions options;
  options.read_only = true;
  Index fixed = std::move(Index::from_bytes(*index.to_bytes(), options)).value();
  EXPECT_EQ(fixed.compact().code(), Code::read_only);
  index.close();
  EXPECT_EQ(index.compact().code(), Code::closed);
}

TEST(CompactedIndex, UnderReplacementsWithoutEndHoldsNoMoreThanTwiceItsRows) {
  // A writer that waits for each write, and one that pumps; small writes and large ones.
  for (const std::uint64_t batch : {1u, 30u, 700u}) {
    for (const bool pumps : {false, true}) {
      SCOPED_TRACE("batches of " + std::to_string(batch) + (pumps ? ", pumped" : ""));
      Index index = std::move(Index::create(small_options(kDim))).value();
      constexpr std::uint64_t kIds = 3000;
      ASSERT_TRUE(upsert(index, ids_from(0, kIds), 0).ok());
      const std::uint64_t segment_bytes = index.stats().segment_bytes;
      WriteQueue queue = index.write_queue();
      Random random(batch);
      std::uint64_t dead_max = 0;
      std::uint64_t falls = 0;
      std::uint64_t dead = 0;
      for (std::uint64_t written = 0; written < 30'000; written += batch) {
        std::vector<std::uint64_t> ids(batch);
        for (std::uint64_t& id : ids) id = random.below(kIds);
        if (pumps) {
          PendingWrite write = std::move(queue.make(WriteKind::upsert, batch)).value();
          std::copy(ids.begin(), ids.end(), write.ids().begin());
          ASSERT_TRUE(write.encode(0, rows_of(ids, kDim, written)).ok());
          ASSERT_TRUE(queue.submit(write).ok());
          while (index.pump(1000) != 0) {
          }
          ASSERT_TRUE(write.result().ok());
        } else {
          ASSERT_TRUE(upsert(index, ids, written).ok());
        }
        const Stats stats = index.stats();
        ASSERT_EQ(stats.rows, kIds);
        falls += stats.dead < dead ? 1 : 0;
        dead = stats.dead;
        dead_max = std::max(dead_max, dead);
        // Twice the rows, each in slabs that may be twice as large as what they hold.
        ASSERT_LE(stats.segment_bytes, segment_bytes * 4);
      }
      EXPECT_GT(falls, 5u);
      // As many as live rows before it is urgent, and those that die while at most three times the
      // live rows are looked at, eight for each of them.
      EXPECT_LE(dead_max, kIds + kIds * 3 / 8 + 2 * batch);
    }
  }
}

TEST(CompactedIndex, WritesBetweenItsSlicesAreAllThere) {
  for (std::uint64_t seed = 1; seed <= scaled(4); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Index index = std::move(Index::create(small_options(kDim))).value();
    std::map<std::uint64_t, std::uint64_t> model;
    WriteQueue queue = index.write_queue();
    std::vector<PendingWrite> compactions;
    std::vector<std::pair<Snapshot, std::vector<Hit>>> held;
    Reader reader = index.reader();
    for (std::uint64_t step = 0; step < 60; ++step) {
      std::vector<std::uint64_t> ids(1 + random.below(300));
      for (std::uint64_t& id : ids) id = random.below(1500);
      const bool removes = random.below(3) == 0;
      const WriteKind kind = removes ? WriteKind::remove : WriteKind::upsert;
      PendingWrite write = std::move(queue.make(kind, ids.size())).value();
      std::copy(ids.begin(), ids.end(), write.ids().begin());
      if (!removes) {
        ASSERT_TRUE(write.encode(0, rows_of(ids, kDim, step)).ok());
      }
      ASSERT_TRUE(queue.submit(write).ok());
      for (const std::uint64_t id : ids) {
        if (removes) model.erase(id);
        if (!removes) model[id] = step;
      }
      if (random.below(6) == 0) {
        compactions.push_back(std::move(queue.make(WriteKind::compact, 0)).value());
        ASSERT_TRUE(queue.submit(compactions.back()).ok());
      }
      // One batch, then a few blocks at most.
      while (!write.done()) index.pump(1);
      for (std::uint32_t slices = random.below(12); slices > 0; --slices) index.pump(1);
      ASSERT_EQ(reader.size(), model.size());
      if (random.below(8) == 0) {
        Snapshot snapshot = reader.snapshot();
        auto hits = all_hits(snapshot);
        held.emplace_back(std::move(snapshot), std::move(hits));
      }
    }
    while (index.pump(1000) != 0) {
    }
    for (const PendingWrite& compaction : compactions) EXPECT_TRUE(compaction.result().ok());
    Index expected = std::move(Index::create(small_options(kDim))).value();
    for (const auto& [id, revision] : model) {
      ASSERT_TRUE(upsert(expected, {id}, revision).ok());
    }
    Reader oracle = expected.reader();
    EXPECT_TRUE(equal_hits(all_hits(reader), all_hits(oracle)));
    for (auto& [snapshot, hits] : held) EXPECT_TRUE(equal_hits(all_hits(snapshot), hits));
  }
}

TEST(CompactedIndex, IsNeverAnsweredByAPumpThatSaysThereWasNothingToDo) {
  for (const bool closes : {false, true}) {
    Index index = std::move(Index::create(small_options(kDim))).value();
    ASSERT_TRUE(upsert(index, ids_from(0, 500), 0).ok());
    ASSERT_TRUE(upsert(index, ids_from(0, 500), 1).ok());
    WriteQueue queue = index.write_queue();
    for (int i = 0; i < 2; ++i) {  // with dead rows, and without
      PendingWrite compaction = std::move(queue.make(WriteKind::compact, 0)).value();
      ASSERT_TRUE(queue.submit(compaction).ok());
      if (closes) index.close();
      int pumps = 0;
      while (!compaction.done()) {
        ASSERT_NE(index.pump(1), 0u);
        ASSERT_LT(++pumps, 100);
      }
      EXPECT_EQ(compaction.result().status().code(), closes ? Code::closed : Code::ok);
      if (closes) break;
    }
  }
}

TEST(CompactedIndex, TakesNoMemoryThatAWriteNeeds) {
  // As many rows fit beside a compaction under way as without one.
  const auto rows_that_fit = [](bool compacts) {
    IndexOptions options = small_options(256);
    options.memory_bytes_max = 900'000;
    Index index = std::move(Index::create(options)).value();
    const auto ids = ids_from(0, 1024);
    EXPECT_TRUE(index.add(ids, rows_of(ids, 256)).ok());
    std::vector<std::uint64_t> gone;
    for (std::uint64_t id = 0; id < 1024; id += 2) gone.push_back(id);
    EXPECT_TRUE(index.remove(gone).ok());
    WriteQueue queue = index.write_queue();
    PendingWrite compaction = std::move(queue.make(WriteKind::compact, 0)).value();
    if (compacts) {
      EXPECT_TRUE(queue.submit(compaction).ok());
      index.pump(1);
      EXPECT_FALSE(compaction.done());
    }
    const std::uint64_t budget_us = 0;  // no further slice
    std::uint64_t rows = 0;
    for (bool fits = true; fits; rows += 16) {
      PendingWrite write = std::move(queue.make(WriteKind::add, 16)).value();
      const auto fresh = ids_from(10'000 + rows, 16);
      std::copy(fresh.begin(), fresh.end(), write.ids().begin());
      EXPECT_TRUE(write.encode(0, rows_of(fresh, 256)).ok());
      EXPECT_TRUE(queue.submit(write).ok());
      while (!write.done()) index.pump(budget_us);
      fits = write.result().ok();
    }
    while (index.pump(1000) != 0) {
    }
    EXPECT_TRUE(!compacts || compaction.result().ok());
    EXPECT_EQ(index.reader().size(), 512 + rows - 16);
    return rows;
  };
  EXPECT_EQ(rows_that_fit(true), rows_that_fit(false));
}

TEST(CompactedIndex, ASnapshotThatIsHeldPutsItOffRatherThanMakeWritesBusy) {
  IndexOptions options = small_options(kDim);
  options.retired_bytes_max = 100'000;  // less than the rows' segments
  Index index = std::move(Index::create(options)).value();
  ASSERT_TRUE(upsert(index, ids_from(0, 3000), 0).ok());
  Reader reader = index.reader();
  Snapshot held = reader.snapshot();
  const auto hits = all_hits(held);
  for (std::uint64_t round = 0; round < 40; ++round) {
    ASSERT_TRUE(upsert(index, ids_from(round * 70 % 2500, 500), round).ok());
    ASSERT_LE(index.stats().retired_bytes, options.retired_bytes_max);
  }
  ASSERT_GT(index.stats().dead, 6000u);
  EXPECT_TRUE(equal_hits(all_hits(held), hits));
  held = index.reader();  // the snapshot is gone
  for (std::uint64_t round = 0; round < 100; ++round) {
    ASSERT_TRUE(upsert(index, ids_from(round, 10), round).ok());
  }
  EXPECT_LT(index.stats().dead, 3000u);
}

}  // namespace
}  // namespace vicinal::test
