// What happens at the bounds: readers, memory, retired memory, lanes of producers.
#include <gtest/gtest.h>

#include <vector>

#include "support/index_world.hpp"
#include "support/memory_hook.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 32;

Result<Receipt> add(Index& index, std::uint64_t first, std::uint64_t count) {
  const auto ids = ids_from(first, count);
  return index.add(ids, rows_of(ids, kDim));
}

Result<Receipt> upsert(Index& index, std::uint64_t first, std::uint64_t count) {
  const auto ids = ids_from(first, count);
  return index.upsert(ids, rows_of(ids, kDim));
}

TEST(Limits, TheReaderAfter4096IsRefusedUntilOneIsClosed) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  ASSERT_TRUE(add(index, 0, 40).ok());
  std::vector<Reader> readers;
  for (int i = 0; i < 4096; ++i) {
    readers.push_back(i % 2 == 0 || readers.empty() ? index.reader() : readers[0].snapshot());
    ASSERT_TRUE(readers.back().status().ok());
  }
  for (const Status& status : {index.reader().status(), readers[0].snapshot().status()}) {
    EXPECT_EQ(status.code(), Code::busy);
    EXPECT_EQ(status.a(), 4096u);
    EXPECT_EQ(status.b(), 4096u);
  }
  Reader none = index.reader();
  EXPECT_EQ(none.search(vector_of(0, kDim)).code(), Code::busy);
  EXPECT_EQ(none.get(0).code(), Code::busy);
  EXPECT_EQ(none.snapshot().status().code(), Code::busy);
  EXPECT_FALSE(none.has(0));
  EXPECT_EQ(readers.back().snapshot().status().code(), Code::ok);  // shares its pin
  EXPECT_TRUE(upsert(index, 0, 40).ok());
  EXPECT_EQ(readers[4094].search(vector_of(0, kDim))->sequence(), 2u);
  EXPECT_EQ(readers[4095].search(vector_of(0, kDim))->sequence(), 1u);
  readers.pop_back();
  EXPECT_EQ(index.try_stats()->readers_max, 4096u);
  EXPECT_TRUE(index.reader().status().ok());
}

// Adds batches until one is refused; how many rows went in.
std::uint64_t fill(Index& index, Status* refused) {
  std::uint64_t rows = index.reader().size();
  for (; rows < 1'000'000; rows += 50) {
    const auto receipt = add(index, rows, 50);
    *refused = receipt.status();
    if (!receipt.ok()) break;
  }
  return rows;
}

TEST(Limits, AFullIndexRefusesAddsReadsOnAndTakesRowsAgainAfterAClear) {
  for (const std::uint64_t budget : {1ull, 20'000ull, 100'000ull, 1'000'000ull}) {
    SCOPED_TRACE("budget " + std::to_string(budget));
    IndexOptions options = small_options(kDim);
    options.memory_bytes_max = budget;
    Index index = std::move(Index::create(options)).value();
    Status refused;
    const std::uint64_t rows = fill(index, &refused);
    ASSERT_EQ(refused.code(), Code::full);
    EXPECT_EQ(refused.b(), budget);
    Reader reader = index.reader();
    const auto before = reader.count();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(add(index, 2'000'000, 5000).code(), Code::full);
      EXPECT_EQ(reader.count().rows, rows);
      EXPECT_EQ(reader.count().sequence, before.sequence);
    }
    EXPECT_FALSE(reader.has(2'000'000));
    EXPECT_EQ(reader.search(vector_of(1, kDim))->size(), std::min<std::uint64_t>(rows, 10));
    EXPECT_EQ(index.remove(ids_from(0, 10))->count, std::min<std::uint64_t>(rows, 10));
    ASSERT_TRUE(index.clear().ok());
    EXPECT_EQ(fill(index, &refused), rows);
  }
}

TEST(Limits, RemovingEveryRowMakesRoomLikeAClear) {
  IndexOptions options = small_options(kDim);
  options.memory_bytes_max = 400'000;
  Index index = std::move(Index::create(options)).value();
  Status refused;
  const std::uint64_t rows = fill(index, &refused);
  ASSERT_GT(rows, 1000u);
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(index.remove(ids_from(0, rows))->count, rows);
    EXPECT_EQ(index.reader().size(), 0u);
    EXPECT_EQ(index.try_stats()->segments, 0u);
    ASSERT_GT(fill(index, &refused), rows / 2);  // the id table was made for the rows before
    ASSERT_TRUE(index.clear().ok());
    ASSERT_EQ(fill(index, &refused), rows);
  }
}

TEST(Limits, AClearAndTheAddsBehindItGoThroughHoweverTheyAreBatched) {
  IndexOptions options = small_options(kDim);
  options.memory_bytes_max = 300'000;
  Index index = std::move(Index::create(options)).value();
  Status refused;
  const std::uint64_t rows = fill(index, &refused);
  const std::uint64_t rows_again = rows / 2;  // in one batch, whose segments are larger
  WriteQueue queue = index.write_queue();
  PendingWrite clear = std::move(queue.make(WriteKind::clear, 0)).value();
  PendingWrite again = std::move(queue.make(WriteKind::add, rows_again)).value();
  const auto ids = ids_from(0, rows_again);
  std::copy(ids.begin(), ids.end(), again.ids().begin());
  ASSERT_TRUE(again.encode(0, rows_of(ids, kDim)).ok());
  ASSERT_TRUE(queue.submit(clear).ok());
  ASSERT_TRUE(queue.submit(again).ok());
  while (index.pump(1'000'000) != 0) continue;
  EXPECT_EQ(clear.result()->count, rows);
  EXPECT_EQ(again.result().status().code(), Code::ok);
  EXPECT_EQ(index.reader().size(), rows_again);
}

TEST(Limits, AHeldSnapshotStopsWritesAtTheCapOfRetiredMemoryAndItsReleaseFreesThem) {
  struct Case {
    std::uint64_t cap, rows;
  };
  for (const auto& [cap, rows] : {Case{1, 20}, Case{50'000, 3000}, Case{1'500'000, 40'000}}) {
    SCOPED_TRACE("cap " + std::to_string(cap));
    IndexOptions options = small_options(kDim);
    options.retired_bytes_max = cap;
    Index index = std::move(Index::create(options)).value();
    ASSERT_TRUE(add(index, 0, rows).ok());
    // Nobody holds anything: any number of writes goes through.
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(upsert(index, 0, 20).ok());
    Reader reader = index.reader();
    {
      Snapshot held = reader.snapshot();
      const auto pinned = held.count();
      ASSERT_TRUE(index.clear().ok());
      Status refused = upsert(index, 0, 20).status();
      ASSERT_EQ(refused.code(), Code::busy);
      EXPECT_GT(refused.a(), cap);
      EXPECT_EQ(refused.b(), cap);
      EXPECT_EQ(index.clear().code(), Code::busy);
      const auto stats = index.try_stats();
      EXPECT_EQ(stats->retired_bytes, refused.a());
      EXPECT_EQ(stats->oldest_sequence, pinned.sequence);
      EXPECT_EQ(held.count().rows, rows);
      EXPECT_EQ(held.search(vector_of(0, kDim))->size(), 10u);
      EXPECT_EQ(reader.count().rows, 0u);
    }
    EXPECT_TRUE(upsert(index, 0, 200).ok());
    EXPECT_TRUE(index.clear().ok());
    index.pump(0);
    EXPECT_EQ(index.try_stats()->retired_bytes, 0u);
    EXPECT_EQ(index.try_stats()->oldest_sequence, index.try_stats()->sequence);
  }
}

TEST(Limits, ASnapshotHoldsWhatItsVersionReachesAndNothingNewer) {
  IndexOptions options = small_options(kDim);
  options.retired_bytes_max = 100'000;
  Index index = std::move(Index::create(options)).value();
  ASSERT_TRUE(add(index, 0, 20).ok());
  Reader reader = index.reader();
  const Snapshot held = reader.snapshot();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(upsert(index, 0, 200).ok());
}

TEST(Limits, WritesThatWaitGoThroughWhenQueuesHoldEveryLane) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  std::vector<WriteQueue> queues;
  std::vector<PendingWrite> writes;
  for (int i = 0; i < 64; ++i) {
    queues.push_back(index.write_queue());
    writes.push_back(std::move(queues.back().make(WriteKind::clear, 0)).value());
    ASSERT_TRUE(queues.back().submit(writes.back()).ok());
  }
  WriteQueue one_more = index.write_queue();
  PendingWrite refused = std::move(one_more.make(WriteKind::clear, 0)).value();
  EXPECT_EQ(one_more.submit(refused).code(), Code::busy);
  ASSERT_TRUE(add(index, 0, 10).ok());
  EXPECT_EQ(add(index, 0, 10).code(), Code::duplicate_id);
  EXPECT_EQ(index.reader().size(), 10u);
  while (index.pump(1000) != 0) continue;
  for (const PendingWrite& write : writes) EXPECT_TRUE(write.result().ok());
  queues.clear();
  EXPECT_TRUE(one_more.submit(refused).ok());
  EXPECT_EQ(index.pump(1000), 1u);
}

TEST(Limits, AQueueTakes64WritesAndAppliesThemInOrder) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  WriteQueue queue = index.write_queue();
  std::vector<PendingWrite> writes;
  Status submitted;
  for (std::uint64_t i = 0; submitted.ok() && i < 100; ++i) {
    const std::uint64_t ids[] = {i % 3};
    const bool remove = i % 4 == 3;
    PendingWrite write =
        std::move(queue.make(remove ? WriteKind::remove : WriteKind::upsert, 1)).value();
    write.ids()[0] = ids[0];
    const auto rows = rows_of(ids, kDim, i);
    ASSERT_TRUE(remove || write.encode(0, rows).ok());
    submitted = queue.submit(write);
    if (submitted.ok()) writes.push_back(std::move(write));
  }
  EXPECT_EQ(submitted.code(), Code::busy);
  EXPECT_EQ(submitted.a(), 64u);
  EXPECT_EQ(writes.size(), 64u);
  EXPECT_EQ(index.try_stats()->ring_depth, 64u);
  EXPECT_EQ(index.pump(~std::uint64_t{0}), 64u);
  for (const PendingWrite& write : writes) EXPECT_TRUE(write.done());
  // 63 removed id 0, 61 and 62 were the last upserts of ids 1 and 2.
  Reader reader = index.reader();
  EXPECT_FALSE(reader.has(0));
  Index other = std::move(Index::create(small_options(kDim))).value();
  for (const std::uint64_t id : {1u, 2u}) {
    const std::vector<std::uint64_t> ids = {id};
    ASSERT_TRUE(other.add(ids, rows_of(ids, kDim, 60 + id)).ok());
    EXPECT_EQ(*reader.get(id), *other.reader().get(id));
  }
}

TEST(Limits, AWriteMadeInPartsIsCheckedAtItsEdges) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  WriteQueue queue = index.write_queue();
  PendingWrite write = std::move(queue.make(WriteKind::add, 3)).value();
  const std::vector<float> rows(4 * kDim, 0.5f);
  EXPECT_EQ(write.encode(0, rows).code(), Code::bad_option);
  EXPECT_EQ(write.encode(4, std::span(rows).first(0)).code(), Code::bad_option);
  EXPECT_EQ(write.encode(~std::uint64_t{0}, std::span(rows).first(kDim)).code(), Code::bad_option);
  EXPECT_EQ(write.encode(2, std::span(rows).first(2 * kDim)).code(), Code::bad_option);
  EXPECT_EQ(write.encode(0, std::span(rows).first(kDim + 1)).code(), Code::dimension);
  EXPECT_GE(write.staging().size(), kDim);
  EXPECT_EQ(queue.make(WriteKind::add, ~std::uint64_t{0}).code(), Code::full);
  EXPECT_EQ(queue.make(WriteKind::remove, (std::uint64_t{1} << 40) + 1).code(), Code::full);
  for (std::uint64_t row = 0; row < 3; ++row) {
    write.ids()[row] = 5;
    ASSERT_TRUE(write.encode(row, std::span(rows).first(kDim)).ok());
  }
  EXPECT_TRUE(queue.submit(write).ok());
  EXPECT_EQ(queue.submit(write).code(), Code::bad_option);
  EXPECT_EQ(write.result().code(), Code::would_block);
  index.pump(0);
  EXPECT_EQ(write.result().code(), Code::duplicate_id);
  EXPECT_EQ(write.result().status().a(), 5u);
  EXPECT_EQ(index.reader().size(), 0u);
  EXPECT_EQ(index.reader().sequence(), 0u);
  PendingWrite partly = std::move(queue.make(WriteKind::add, 2)).value();
  ASSERT_TRUE(partly.encode(1, std::span(rows).first(kDim)).ok());
  EXPECT_EQ(queue.submit(partly).code(), Code::bad_option);
}

TEST(Limits, AWriteOfAnotherIndexIsRefusedAndStaysItsOwners) {
  Index left = std::move(Index::create(small_options(kDim))).value();
  Index right = std::move(Index::create(small_options(kDim))).value();
  WriteQueue mine = left.write_queue();
  WriteQueue other = right.write_queue();
  PendingWrite write = std::move(mine.make(WriteKind::upsert, 1)).value();
  write.ids()[0] = 3;
  ASSERT_TRUE(write.encode(0, vector_of(3, kDim)).ok());
  const Status refused = other.submit(write);
  EXPECT_EQ(refused.code(), Code::bad_option);
  EXPECT_EQ(refused.a(), static_cast<std::uint64_t>(OptionName::handle));
  ASSERT_TRUE(mine.submit(write).ok());
  left.pump(1000);
  right.pump(1000);
  EXPECT_EQ(left.reader().size(), 1u);
  EXPECT_EQ(right.reader().size(), 0u);
}

TEST(Limits, AKindOfWriteThatThereIsNotIsRefused) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  WriteQueue queue = index.write_queue();
  for (int kind = 0; kind < 256; ++kind) {
    const Code made = queue.make(static_cast<WriteKind>(kind), 32).code();
    const bool known = kind <= static_cast<int>(WriteKind::compact);
    EXPECT_EQ(made, known ? Code::ok : Code::bad_option) << kind;
  }
}

TEST(Limits, PendingWritesKeepTheirIndexAndSayClosedWhenSomebodyPumps) {
  std::vector<PendingWrite> writes;
  WeakIndex weak;
  {
    Index index = std::move(Index::create(small_options(kDim))).value();
    weak = index.weak();
    for (int i = 0; i < 3; ++i) {
      WriteQueue queue = index.write_queue();
      writes.push_back(std::move(queue.make(WriteKind::clear, 0)).value());
      ASSERT_TRUE(queue.submit(writes.back()).ok());
    }
    index.close();
  }
  for (const PendingWrite& write : writes) EXPECT_EQ(write.result().code(), Code::would_block);
  while (weak.lock()->pump(1000) != 0) continue;
  for (const PendingWrite& write : writes) EXPECT_EQ(write.result().code(), Code::closed);
  writes.clear();
  EXPECT_EQ(weak.lock().code(), Code::closed);
}

TEST(Limits, WritesThatWereGivenUpGoWithTheirIndex) {
  const std::uint64_t live_before = live_allocations();
  {
    Index index = std::move(Index::create(small_options(kDim))).value();
    WriteQueue queue = index.write_queue();
    for (int i = 0; i < 3; ++i) {
      PendingWrite write = std::move(queue.make(WriteKind::clear, 0)).value();
      ASSERT_TRUE(queue.submit(write).ok());
    }
    EXPECT_EQ(index.try_stats()->ring_depth, 3u);
  }
  EXPECT_EQ(live_allocations(), live_before);
}

}  // namespace
}  // namespace vicinal::test
