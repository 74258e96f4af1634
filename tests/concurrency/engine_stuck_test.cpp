// A reader that never moves on, against a million commits; and searches beside one large write.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "engine/core.hpp"
#include "engine/reader.hpp"
#include "support/index_world.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 16;

// Sanitizers make a commit some tens of times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kCommits = 20'000;
#else
constexpr std::uint64_t kCommits = 1'000'000;
#endif

TEST(EngineStuck, AMillionCommitsAgainstAStuckReaderStayUnderTheCap) {
  constexpr std::uint64_t kCap = 200'000;
  IndexOptions options = small_options(kDim);
  options.retired_bytes_max = kCap;
  Index index = std::move(Index::create(options)).value();
  const auto ids = ids_from(0, 40);
  ASSERT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
  Reader reader = index.reader();
  Snapshot stuck = reader.snapshot();
  const auto query = vector_of(1, kDim);
  const auto before = copy_of(*stuck.search(query));
  const std::uint64_t pinned = stuck.sequence();
  const auto row = rows_of(ids_from(0, 1), kDim, 7);
  for (std::uint64_t i = 0; i < kCommits; ++i) {
    const std::uint64_t id = i % 40;
    ASSERT_TRUE(index.upsert(std::span(&id, 1), row).ok()) << "commit " << i;
    if (i % 5000 == 0) {
      ASSERT_LE(index.stats().retired_bytes, kCap);
      ASSERT_TRUE(reader.search(query).ok());
    }
  }
  EXPECT_LE(index.stats().retired_bytes, kCap);
  EXPECT_EQ(index.stats().oldest_sequence, pinned);
  EXPECT_TRUE(equal_hits(copy_of(*stuck.search(query)), before));
  EXPECT_GE(reader.sequence(), pinned + kCommits);
}

// The worst place to stop: between the announcement and the version. Everything from then on is
// kept, so writes, and only they, come to BUSY at the cap, and the figures name the slot.
TEST(EngineStuck, AReaderStuckInItsAnnouncementStopsWritesAtTheCapAndNothingElse) {
  constexpr std::uint64_t kCap = 100'000;
  IndexOptions options = small_options(kDim);
  options.retired_bytes_max = kCap;
  auto core = engine::Core::create(options).value();
  const auto upsert = [&](std::uint64_t id) {
    auto message = core->make_message(engine::MessageKind::upsert, 1).value();
    message->ids()[0] = id;
    EXPECT_TRUE(message->encode(0, vector_of(id, kDim).data(), 1).ok());
    return core->write_and_wait(*message);
  };
  ASSERT_TRUE(upsert(1).ok());
  auto reader = engine::ReaderCore::open(core).value();
  const std::uint32_t number = core->slots().claim().value();
  core->slots().slot(number).pin.store(sync::Pin::range(core->root().sequence()), sync::seq_cst);
  std::uint64_t done = 0;
  Status refused;
  for (; refused.ok(); ++done) {
    ASSERT_LT(done, kCap);
    refused = upsert(done % 7);
  }
  EXPECT_EQ(refused.code(), Code::busy);
  for (std::uint64_t i = 0; i < kCommits / 100; ++i) ASSERT_EQ(upsert(i).code(), Code::busy);
  const auto stats = core->stats().value();
  EXPECT_LE(stats.retired_bytes, kCap + (std::uint64_t{64} << 10));  // and the last commit's
  EXPECT_EQ(stats.oldest_slot, number);
  search::Found found;
  std::uint64_t sequence = 0;
  EXPECT_TRUE(reader->search(vector_of(1, kDim), {}, nullptr, &found, &sequence).ok());
  EXPECT_GT(found.ids.size(), 0u);

  core->slots().slot(number).pin.store(0, sync::release);
  core->slots().release_slot(number);
  EXPECT_TRUE(upsert(3).ok());
  while (core->pump(0) != 0) continue;
  EXPECT_EQ(core->stats()->retired_bytes, 0u);
}

// What a search of a version finds.
std::vector<Hit> look(Reader& reader) {
  const auto hits = reader.search(vector_of(5, kDim));
  EXPECT_TRUE(hits.ok());
  return copy_of(*hits);
}

TEST(EngineStuck, ASearchDuringAnAddOf50000RowsFindsTheVersionBeforeOrTheOneAfter) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  const auto first = ids_from(0, 3000);
  ASSERT_TRUE(index.add(first, rows_of(first, kDim)).ok());
  const auto second = ids_from(3000, 50'000);
  const auto rows = rows_of(second, kDim);
  Reader reader = index.reader();
  const std::vector<Hit> before = look(reader);
  ASSERT_TRUE(index.set_helpers(1).ok());
  sync::Atomic<std::uint32_t> stop;
  struct Seen {
    std::uint64_t sequence;
    std::uint64_t rows;
    std::vector<Hit> hits;
  };
  std::vector<Seen> seen[2];
  std::vector<std::thread> readers;
  for (std::vector<Seen>& mine : seen) {
    readers.emplace_back([&] {
      Reader own = index.reader();
      while (stop.load(sync::acquire) == 0 || mine.empty()) {
        Snapshot one = own.snapshot();
        Seen now{one.sequence(), one.size(), look(one)};
        if (!mine.empty() && mine.back().sequence == now.sequence) {
          ASSERT_TRUE(equal_hits(mine.back().hits, now.hits));
        } else {
          mine.push_back(std::move(now));
        }
      }
    });
  }
  const auto receipt = index.add(second, rows);
  ASSERT_TRUE(receipt.ok());
  const std::vector<Hit> after = look(reader);
  stop.store(1, sync::release);
  for (std::thread& thread : readers) thread.join();
  EXPECT_FALSE(equal_hits(before, after));
  for (const std::vector<Seen>& mine : seen) {
    for (const Seen& one : mine) {
      const bool shown = one.sequence >= receipt->sequence;
      EXPECT_EQ(one.rows, shown ? 53'000u : 3000u);
      EXPECT_TRUE(equal_hits(one.hits, shown ? after : before));
    }
  }
}

}  // namespace
}  // namespace vicinal::test
