// The public index when memory is refused at every single place where it is asked for.
#include <gtest/gtest.h>

#include "support/assert_report.hpp"
#include "support/index_world.hpp"
#include "support/memory_hook.hpp"

namespace vicinal::test {
namespace {

[[maybe_unused]] const bool kAssertsReported = report_asserts();
constexpr std::uint32_t kDim = 8;

struct State {
  std::uint64_t rows;
  std::uint64_t sequence;
  std::vector<Hit> hits;
};

// Never fails: the reader is warm, and k is never larger than before.
State state_of(Reader& reader) {
  const auto count = reader.count();
  SearchOptions all;
  all.k = 300;
  return {count.rows, count.sequence, copy_of(*reader.search(vector_of(1, kDim), all))};
}

// A write that is refused leaves everything as before and goes through when tried again.
template <class Write>
void write_twice_at_most(Reader& reader, Write write) {
  const State before = state_of(reader);
  auto receipt = write();
  if (!receipt.ok()) {
    ASSERT_EQ(receipt.code(), Code::full);
    const State after = state_of(reader);
    ASSERT_EQ(after.rows, before.rows);
    ASSERT_EQ(after.sequence, before.sequence);
    ASSERT_TRUE(equal_hits(after.hits, before.hits));
    receipt = write();
  }
  ASSERT_TRUE(receipt.ok());
  ASSERT_EQ(reader.count().sequence, receipt->sequence);
}

void write_history(Index& index, Reader& reader) {
  const auto upsert = [&](std::uint64_t first, std::uint64_t count, std::uint64_t revision) {
    const auto ids = ids_from(first, count);
    const auto rows = rows_of(ids, kDim, revision);
    write_twice_at_most(reader, [&] { return index.upsert(ids, rows); });
  };
  const auto some = ids_from(40, 60);
  ASSERT_NO_FATAL_FAILURE(upsert(0, 150, 0));
  ASSERT_NO_FATAL_FAILURE(upsert(100, 180, 1));
  ASSERT_NO_FATAL_FAILURE(write_twice_at_most(reader, [&] { return index.remove(some); }));
  const auto rows = rows_of(some, kDim, 2);
  ASSERT_NO_FATAL_FAILURE(write_twice_at_most(reader, [&] { return index.add(some, rows); }));
  ASSERT_NO_FATAL_FAILURE(write_twice_at_most(reader, [&] { return index.clear(); }));
  const auto sample = rows_of(ids_from(0, 50), kDim, 4);
  const auto calibrate = [&] { return index.calibrate(sample); };
  ASSERT_NO_FATAL_FAILURE(write_twice_at_most(reader, calibrate));
  ASSERT_NO_FATAL_FAILURE(upsert(50, 100, 3));
  const auto all = ids_from(0, 400);
  ASSERT_NO_FATAL_FAILURE(write_twice_at_most(reader, [&] { return index.remove(all); }));
  ASSERT_NO_FATAL_FAILURE(write_twice_at_most(reader, calibrate));
  ASSERT_NO_FATAL_FAILURE(upsert(50, 100, 5));
}

TEST(FailingMemory, AWriteThatIsRefusedAnywhereLeavesEverythingAsBefore) {
  std::uint64_t failing = 0;
  for (std::uint64_t nth = 1; nth == failing + 1; ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const std::uint64_t live_before = live_allocations();
    {
      Index index = std::move(Index::create(small_options(kDim))).value();
      const auto many = ids_from(0, 300);
      ASSERT_TRUE(index.add(many, rows_of(many, kDim)).ok());
      Reader reader = index.reader();
      (void)state_of(reader);
      const Snapshot held = reader.snapshot();
      ASSERT_TRUE(index.clear().ok());
      const FailingAllocations failures(nth, nth);
      ASSERT_NO_FATAL_FAILURE(write_history(index, reader));
      failing += failures.failed();
    }
    ASSERT_EQ(live_allocations(), live_before);
  }
  EXPECT_GT(failing, 100u);
}

TEST(FailingMemory, ACompactionThatIsRefusedAnywhereChangesNoResultAndLeaksNothing) {
  std::uint64_t failing = 0;
  for (std::uint64_t nth = 1; nth == failing + 1; ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const std::uint64_t live_before = live_allocations();
    {
      Index index = std::move(Index::create(small_options(kDim))).value();
      const auto ids = ids_from(0, 300);
      for (std::uint64_t revision = 0; revision < 3; ++revision) {
        ASSERT_TRUE(index.upsert(ids, rows_of(ids, kDim, revision)).ok());
      }
      Reader reader = index.reader();
      const State before = state_of(reader);
      std::uint64_t failed = 0;
      {
        const FailingAllocations failures(nth, nth);
        const auto compacted = index.compact();
        ASSERT_TRUE(compacted.ok() || compacted.code() == Code::full);
        failed = failures.failed();
      }
      failing += failed;
      ASSERT_TRUE(equal_hits(state_of(reader).hits, before.hits));
      ASSERT_TRUE(index.upsert(ids_from(100, 5), rows_of(ids_from(100, 5), kDim, 2)).ok());
      ASSERT_TRUE(index.compact().ok());
      ASSERT_EQ(index.try_stats()->dead, 0u);
      ASSERT_TRUE(equal_hits(state_of(reader).hits, before.hits));
    }
    ASSERT_EQ(live_allocations(), live_before);
  }
  EXPECT_GT(failing, 10u);
}

TEST(FailingMemory, AnIndexAReaderAnImageThatCannotBeMadeIsFullAndLeaksNothing) {
  const std::uint64_t live_before = live_allocations();
  std::uint64_t failing = 0;
  std::uint64_t refusals = 0;
  for (std::uint64_t nth = 1; nth == failing + 1; ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const FailingAllocations failures(nth, nth);
    const auto full = [](const Status& status) {
      EXPECT_EQ(status.code(), Code::full) << status.message();
      return true;
    };
    const auto run = [&] {
      auto made = Index::create(small_options(kDim));
      if (!made.ok()) return full(made.status());
      const auto ids = ids_from(0, 70);
      const auto calibrated = made->calibrate(rows_of(ids, kDim, 1));
      if (!calibrated.ok()) return full(calibrated.status());
      const auto added = made->add(ids, rows_of(ids, kDim));
      if (!added.ok()) return full(added.status());
      Reader reader = made->reader();
      if (!reader.status().ok()) return full(reader.status());
      const auto hits = reader.search(vector_of(1, kDim));
      if (!hits.ok()) return full(hits.status());
      const auto vector = reader.get(3);
      if (!vector.ok()) return full(vector.status());
      const Snapshot snapshot = reader.snapshot();
      if (!snapshot.status().ok()) return full(snapshot.status());
      const auto saver = reader.saver();
      if (!saver.ok()) return full(saver.status());
      const auto bytes = made->to_bytes();
      if (!bytes.ok()) return full(bytes.status());
      const auto loaded = Index::from_bytes(*bytes);
      if (!loaded.ok()) return full(loaded.status());
      const auto stats = loaded->try_stats();
      return stats.ok() ? stats->rows != 70 : full(stats.status());
    };
    const bool refused = run();
    // Where less memory will do, a failure goes unnoticed.
    EXPECT_TRUE(!refused || failures.failed() != 0);
    refusals += refused ? 1 : 0;
    failing += failures.failed();
    ASSERT_EQ(live_allocations(), live_before);
  }
  EXPECT_GT(refusals, 50u);
}

}  // namespace
}  // namespace vicinal::test
