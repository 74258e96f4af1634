// Long searches with helpers beside a writer: the same version searched alone gives the same bits.
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/assert_report.hpp"
#include "support/index_world.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

[[maybe_unused]] const bool kAssertsReported = report_asserts();
// Sixteen queries at once over these rows read 4 MiB of signs, enough to ask for help; one query
// alone does not.
constexpr std::uint32_t kDim = 256;
constexpr std::uint64_t kRows = 8192;
constexpr std::uint32_t kQueries = 16;

std::vector<float> batch_of(std::uint64_t seed) {
  std::vector<float> batch;
  for (std::uint64_t i = 0; i < kQueries; ++i) {
    const auto query = vector_of(seed * 100 + i, kDim);
    batch.insert(batch.end(), query.begin(), query.end());
  }
  return batch;
}

Index filled() {
  Index index = std::move(Index::create(small_options(kDim))).value();
  const auto ids = ids_from(0, kRows);
  EXPECT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
  return index;
}

void expect_same_as_alone(Reader& reader, std::uint64_t seed, const SearchOptions& options) {
  const auto batch = batch_of(seed);
  const auto together = reader.search_batch(batch, options);
  ASSERT_TRUE(together.ok());
  for (std::uint32_t i = 0; i < kQueries; ++i) {
    const std::span<const float> query(batch.data() + i * kDim, kDim);
    const auto alone = reader.search(query, options);
    ASSERT_TRUE(alone.ok());
    ASSERT_TRUE(equal_hits(copy_of((*together)[i]), copy_of(*alone))) << "query " << i;
  }
}

TEST(EngineHelp, ChangesNoResultOfAnyVersionWhileAWriterReplacesRemovesAndCompacts) {
  Index index = filled();
  ASSERT_TRUE(index.set_helpers(3).ok());
  sync::Atomic<std::uint32_t> stop;
  std::thread writer([&] {
    for (std::uint64_t i = 0; stop.load(sync::acquire) == 0; ++i) {
      const auto some = ids_from(i * 97 % kRows, 64);
      EXPECT_TRUE(index.upsert(some, rows_of(some, kDim, i)).ok());
      EXPECT_TRUE(index.remove(ids_from(i * 31 % kRows, 8)).ok());
      if (i % 20 == 0) {
        EXPECT_TRUE(index.compact().ok());
      }
    }
  });
  Reader reader = index.reader();
  const auto allowed = ids_from(0, kRows / 2);
  for (std::uint64_t round = 0; round < scaled(20) || index.stats().chunks_helped == 0; ++round) {
    ASSERT_LT(round, scaled(2000));
    SearchOptions options;
    if (round % 3 == 1) options.filter = allowed;
    if (round % 5 == 4) options.exhaustive = true;
    Snapshot snapshot = reader.snapshot();
    expect_same_as_alone(snapshot, round, options);
    // The newest version: its job may be the only one that keeps it.
    ASSERT_TRUE(reader.search_batch(batch_of(round), options).ok());
  }
  stop.store(1, sync::release);
  writer.join();
  EXPECT_GT(index.stats().searches_shared, 0u);
  ASSERT_TRUE(index.set_helpers(0).ok());
  while (index.pump(1000) != 0) {
  }
  EXPECT_EQ(index.stats().retired_bytes, 0u);
}

TEST(EngineHelp, OfManyCallersIsRightAndEndsWithTheIndex) {
  for (std::uint64_t round = 0; round < scaled(3); ++round) {
    Index index = filled();
    ASSERT_TRUE(index.set_helpers(2).ok());
    std::vector<std::thread> callers;
    for (std::uint64_t i = 0; i < 4; ++i) {
      callers.emplace_back([&, i, round] {
        Reader reader = index.reader();
        for (std::uint64_t turn = 0; turn < 4; ++turn) {
          expect_same_as_alone(reader, round * 1000 + i * 10 + turn, {});
        }
      });
    }
    std::thread changing([&] {
      for (std::uint32_t count = 0; count < 12; ++count) {
        const Status set = index.set_helpers(count % 4);
        EXPECT_TRUE(set.ok() || set.code() == Code::busy);
      }
    });
    for (std::thread& caller : callers) caller.join();
    changing.join();
  }
}

TEST(EngineHelp, OptionsAreChecked) {
  Index index = filled();
  EXPECT_EQ(index.set_helpers(33).code(), Code::bad_option);
  EXPECT_TRUE(index.set_helpers(31).ok());
  EXPECT_EQ(index.stats().helpers, 31u);
  {
    auto outside = index.helper();
    ASSERT_TRUE(outside.ok());
    EXPECT_EQ(index.helper().code(), Code::busy);
    EXPECT_FALSE(outside->help(0));
  }
  EXPECT_TRUE(index.set_helpers(0).ok());
  EXPECT_EQ(index.stats().helpers, 0u);
  auto helper = std::move(index.helper()).value();
  index.close();
  EXPECT_EQ(index.helper().code(), Code::closed);
  EXPECT_EQ(index.set_helpers(1).code(), Code::closed);
  EXPECT_TRUE(index.set_helpers(0).ok());
  EXPECT_FALSE(helper.help(1000));
}

// The index's own threads and the caller's, which have it to themselves at last, in a loop.
TEST(EngineHelp, OutlivesTheIndexAndEndsInTheMiddleOfAnything) {
  for (std::uint64_t round = 0; round < scaled(6); ++round) {
    std::optional<Index> index = filled();
    ASSERT_TRUE(index->set_helpers(1 + static_cast<std::uint32_t>(round % 3)).ok());
    std::optional<Snapshot> snapshot = index->reader().snapshot();
    sync::Atomic<std::uint32_t> stop;
    std::thread outside([&stop, helper = std::move(index->helper()).value()]() mutable {
      while (stop.load(sync::acquire) == 0) helper.help(1000);
    });
    std::thread caller([reader = index->reader(), round]() mutable {
      for (std::uint64_t turn = 0; turn < 8; ++turn) {
        const auto found = reader.search_batch(batch_of(round + turn), {});
        EXPECT_TRUE(found.ok() || found.code() == Code::closed);
      }
    });
    const auto gone = ids_from(0, kRows);
    ASSERT_TRUE(index->remove(gone).ok());
    for (std::uint64_t turn = 0; turn < 4; ++turn) expect_same_as_alone(*snapshot, round, {});
    if (round % 2 == 0) index->close();
    index.reset();
    caller.join();
    if (round % 3 == 0) snapshot.reset();
    stop.store(1, sync::release);
    outside.join();
  }
}

}  // namespace
}  // namespace vicinal::test
