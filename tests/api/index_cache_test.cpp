// Many index files behind one budget: hits that share nothing, one opening for all who want it, and
// an order of going that spares what is in use.
#include "vicinal/index_cache.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/file_world.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"
#include "sync/atomic_counts.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 16;

// A file whose rows have ids from first on, so that an answer tells which file gave it.
std::string make_file(const Folder& folder, const std::string& name, std::uint64_t first,
                      std::uint64_t count = 200) {
  Index index = Index::create(small_options(kDim)).value();
  const auto ids = ids_from(first, count);
  EXPECT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
  const std::string path = folder.file(name);
  EXPECT_TRUE(index.save(path).ok());
  return path;
}

std::vector<std::string> make_files(const Folder& folder, std::uint64_t count) {
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < count; ++i) {
    paths.push_back(make_file(folder, std::to_string(i), (i + 1) * 1000));
  }
  return paths;
}

// The first id of the file that answers; 0: an error.
std::uint64_t first_of(Reader& reader) {
  SearchOptions options;
  options.k = 1;
  const auto hits = reader.search(vector_of(3, kDim), options);
  return hits.ok() && hits->size() == 1 ? (*hits)[0].id / 1000 * 1000 : 0;
}

std::uint64_t size_of_one(const std::string& path) {
  IndexCache cache(std::uint64_t{1} << 40);
  auto session = cache.session();
  EXPECT_TRUE(session.get(path).ok());
  return cache.stats().bytes;
}

TEST(IndexCache, AHitCountsAllocatesAndLocksNothing) {
  const Folder folder;
  const auto paths = make_files(folder, 3);
  IndexCache cache(std::uint64_t{1} << 30);
  auto session = cache.session();
  auto other = cache.session();
  for (const std::string& path : paths) {
    ASSERT_TRUE(session.get(path).ok());
    ASSERT_TRUE(other.get(path).ok());
  }
#ifdef VICINAL_ATOMICS_COUNTED
  EXPECT_GT(sync::atomic_counts().read_modify_writes, 0u) << "a miss has some";
#endif
  const std::uint64_t allocations = allocations_of_this_thread();
  const sync::AtomicCounts before = sync::atomic_counts();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_TRUE(session.get(paths[i % 3]).ok());
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_TRUE(session.get(paths[0]).ok());
  EXPECT_EQ(allocations_of_this_thread(), allocations);
  EXPECT_EQ(sync::atomic_counts().read_modify_writes, before.read_modify_writes);
  EXPECT_EQ(sync::atomic_counts().foreign_stores, before.foreign_stores);
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 2000u);
  EXPECT_EQ(stats.misses, 6u);
  EXPECT_EQ(stats.opens, 3u);
  EXPECT_EQ(stats.indexes, 3u);
  EXPECT_EQ(stats.sessions, 2u);
  EXPECT_EQ(stats.evictions + stats.failures, 0u);
}

TEST(IndexCache, AFileThatManyWantAtOnceIsOpenedOnce) {
  const Folder folder;
  const std::string path = make_file(folder, "one", 5000, 3000);
  for (std::uint64_t turn = 0; turn < scaled(10); ++turn) {
    IndexCache cache(std::uint64_t{1} << 30);
    sync::Atomic<int> ready;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        auto session = cache.session();
        ready.fetch_add(1, sync::seq_cst);
        while (ready.load(sync::seq_cst) < 8) std::this_thread::yield();
        const auto reader = session.get(path);
        EXPECT_TRUE(reader.ok() && first_of(*reader) >= 5000);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cache.stats().opens, 1u);
    EXPECT_EQ(cache.stats().misses, 8u);
    EXPECT_EQ(cache.stats().sessions, 0u);
  }
}

TEST(IndexCache, WhatWasUsedLastStays) {
  const Folder folder;
  const auto paths = make_files(folder, 4);
  const std::uint64_t one = size_of_one(paths[0]);
  IndexCache cache(3 * one + one / 2);
  auto session = cache.session();
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(session.get(paths[i]).ok());
  EXPECT_EQ(cache.stats().evictions, 0u);
  ASSERT_TRUE(session.get(paths[3]).ok());
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(cache.stats().indexes, 3u);
  EXPECT_LE(cache.stats().bytes, cache.stats().bytes_max);
  for (int turn = 0; turn < 20; ++turn) {  // 3 is used again and again, the others in turn
    const std::uint64_t hits = cache.stats().hits;
    ASSERT_TRUE(session.get(paths[3]).ok());
    EXPECT_EQ(cache.stats().hits, hits + 1) << "what is used most went, turn " << turn;
    const auto index = static_cast<std::size_t>(turn % 3);
    const auto reader = session.get(paths[index]);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(first_of(*reader), (index + 1) * 1000);
  }
  EXPECT_LE(cache.stats().bytes, cache.stats().bytes_max);
  EXPECT_GT(cache.stats().evictions, 6u);
}

TEST(IndexCache, WhatIsInUseDoesNotGo) {
  const Folder folder;
  const auto paths = make_files(folder, 3);
  const std::uint64_t one = size_of_one(paths[0]);
  IndexCache cache(2 * one + one / 2);
  auto a = cache.session();
  auto b = cache.session();
  auto c = cache.session();
  const auto first = a.get(paths[0]);
  const auto second = b.get(paths[1]);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto refused = c.get(paths[2]);
  EXPECT_EQ(refused.code(), Code::full);
  EXPECT_EQ(refused.status().b(), 2 * one + one / 2);
  EXPECT_EQ(first_of(*first), 1000u);
  EXPECT_EQ(first_of(*second), 2000u);
  EXPECT_EQ(cache.stats().evictions, 0u);
  EXPECT_EQ(cache.stats().failures, 1u);
  ASSERT_TRUE(a.get(paths[1]).ok());  // nobody uses the first one now
  const auto third = c.get(paths[2]);
  ASSERT_TRUE(third.ok()) << third.status().message();
  EXPECT_EQ(first_of(*third), 3000u);
  EXPECT_EQ(first_of(*second), 2000u);
  EXPECT_EQ(cache.stats().evictions, 1u);
  const auto again = a.get(paths[0]);  // b and c are in use
  EXPECT_EQ(again.code(), Code::full);
}

TEST(IndexCache, AnIndexThatIsLargerThanTheBudgetIsFull) {
  const Folder folder;
  const std::string path = make_file(folder, "one", 1000);
  IndexCache cache(size_of_one(path) - 1);
  auto session = cache.session();
  EXPECT_EQ(session.get(path).code(), Code::full);
  EXPECT_EQ(cache.stats().indexes, 0u);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(IndexCache, NothingGoesForWhatHasNoRoomEvenSo) {
  const Folder folder;
  auto paths = make_files(folder, 2);
  const std::uint64_t one = size_of_one(paths[0]);
  paths.push_back(make_file(folder, "large", 9000, 20'000));
  IndexCache cache(3 * one);
  auto session = cache.session();
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(session.get(paths[0]).ok());
    ASSERT_TRUE(session.get(paths[1]).ok());
    EXPECT_EQ(session.get(paths[2]).code(), Code::full);
  }
  EXPECT_EQ(cache.stats().evictions, 0u);
  EXPECT_EQ(cache.stats().hits, 4u);
}

TEST(IndexCache, WhatWasDroppedIsClosedAlsoWhereThereAreOnlyHits) {
  const Folder folder;
  const auto paths = make_files(folder, 2);
  IndexCache cache(std::uint64_t{1} << 30);
  auto session = cache.session();
  auto other = cache.session();
  ASSERT_TRUE(session.get(paths[0]).ok());
  ASSERT_TRUE(session.get(paths[1]).ok());
  const std::uint64_t both = cache.stats().bytes;
  const auto reader = other.get(paths[0]);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(cache.drop(paths[0]));
  EXPECT_EQ(cache.stats().bytes, both);  // it is in use, and counts
  EXPECT_EQ(first_of(*reader), 1000u);
  ASSERT_TRUE(other.get(paths[1]).ok());  // a miss, which has closed it
  EXPECT_LT(cache.stats().bytes, both);
  ASSERT_TRUE(other.get(paths[0]).ok());
  ASSERT_TRUE(session.get(paths[0]).ok());
  ASSERT_TRUE(session.get(paths[1]).ok());
  ASSERT_TRUE(other.get(paths[0]).ok());
  ASSERT_TRUE(cache.drop(paths[0]));
  ASSERT_TRUE(other.get(paths[1]).ok());  // a hit
  const std::uint64_t misses = cache.stats().misses;
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(session.get(paths[1]).ok());
  EXPECT_EQ(cache.stats().misses, misses);
  EXPECT_LT(cache.stats().bytes, both);
}

TEST(IndexCache, AnErrorIsToldToEachWhoWaitsAndNotRemembered) {
  const Folder folder;
  const std::string path = folder.file("later");
  IndexCache cache(std::uint64_t{1} << 30);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      auto session = cache.session();
      EXPECT_EQ(session.get(path).code(), Code::io);
      EXPECT_EQ(session.get(path).code(), Code::io);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.stats().indexes, 0u);
  EXPECT_GE(cache.stats().failures, 1u);
  make_file(folder, "later", 1000);
  auto session = cache.session();
  EXPECT_TRUE(session.get(path).ok());
}

TEST(IndexCache, DamageIsOfTheFileThatHasIt) {
  const Folder folder;
  const std::string sound = make_file(folder, "sound", 1000);
  const std::string damaged = make_file(folder, "damaged", 2000);
  auto bytes = bytes_of_file(damaged);
  bytes[100] ^= std::byte{1};
  put_file(damaged, bytes);
  put_file(folder.file("text"), std::as_bytes(std::span("this is no index at all")));
  IndexCache cache(std::uint64_t{1} << 30);
  auto session = cache.session();
  EXPECT_EQ(session.get(damaged).code(), Code::corrupt);
  EXPECT_EQ(session.get(folder.file("text")).code(), Code::corrupt);
  EXPECT_EQ(session.get(folder.file("")).code(), Code::io);  // a folder
  EXPECT_TRUE(session.get(sound).ok());
}

TEST(IndexCache, WhatIsNoPathOrNoBudgetIsABadOption) {
  IndexCache cache(1000);
  auto session = cache.session();
  EXPECT_EQ(session.get("").code(), Code::bad_option);
  EXPECT_EQ(session.get(std::string_view("a\0b", 3)).code(), Code::bad_option);
  IndexCache nothing(0);
  auto of_nothing = nothing.session();
  EXPECT_EQ(of_nothing.status().code(), Code::bad_option);
  EXPECT_EQ(of_nothing.get("x").status().a(), static_cast<std::uint64_t>(OptionName::max_bytes));
}

TEST(IndexCache, AHitSeesWhatWasWrittenAlsoWhereTheCountOfRowsIsTheSame) {
  const Folder folder;
  const std::string path = make_file(folder, "one", 1000);
  Index writer = opened(path);
  IndexCache cache(std::uint64_t{1} << 30);
  auto session = cache.session();
  auto reader = session.get(path);
  ASSERT_TRUE(reader.ok());
  ASSERT_FALSE(reader->has(77'000));
  const std::uint64_t rows = reader->size();
  ASSERT_TRUE(writer.remove(ids_from(1000, 1)).ok());
  const auto ids = ids_from(77'000, 1);
  ASSERT_TRUE(writer.add(ids, rows_of(ids, kDim)).ok());
  reader = session.get(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->size(), rows);
  EXPECT_TRUE(reader->has(77'000));
  EXPECT_FALSE(reader->has(1000));
  EXPECT_EQ(cache.stats().opens, 1u);
}

TEST(IndexCache, AnIndexThatGrowsPushesOthersOut) {
  const Folder folder;
  const auto paths = make_files(folder, 2);
  const std::uint64_t one = size_of_one(paths[0]);
  IndexCache cache(3 * one);
  auto session = cache.session();
  for (const std::string& path : paths) ASSERT_TRUE(session.get(path).ok());
  Index writer = opened(paths[1]);
  const auto ids = ids_from(90'000, 6000);
  ASSERT_TRUE(writer.add(ids, rows_of(ids, kDim)).ok());
  for (std::uint32_t i = 0; i < 200; ++i) ASSERT_TRUE(session.get(paths[1]).ok());
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(cache.stats().indexes, 1u);
  EXPECT_GT(cache.stats().bytes, cache.stats().bytes_max);  // it is in use
  EXPECT_TRUE(session.get(paths[0]).ok());  // and now it is not
  EXPECT_EQ(cache.stats().evictions, 2u);
  EXPECT_LE(cache.stats().bytes, cache.stats().bytes_max);
}

TEST(IndexCache, GrowthFromBeforeASessionIsSeenAtItsFirstGet) {
  const Folder folder;
  const auto paths = make_files(folder, 2);
  IndexCache cache(std::uint64_t{1} << 30);
  {
    auto session = cache.session();
    for (const std::string& path : paths) ASSERT_TRUE(session.get(path).ok());
  }
  const std::uint64_t before = cache.stats().bytes;
  Index writer = opened(paths[1]);
  const auto ids = ids_from(90'000, 6000);
  ASSERT_TRUE(writer.add(ids, rows_of(ids, kDim)).ok());
  EXPECT_EQ(cache.stats().bytes, before);
  auto session = cache.session();
  ASSERT_TRUE(session.get(paths[1]).ok());
  const std::uint64_t grown = cache.stats().bytes;
  EXPECT_GT(grown, before + 6000 * 20);
  ASSERT_TRUE(writer.remove(ids).ok());
  ASSERT_TRUE(writer.compact().ok());
  cache.trim();
  EXPECT_LT(cache.stats().bytes, grown);
}

TEST(IndexCache, AFileThatWasReplacedIsOpenedAnewWhenItIsDropped) {
  const Folder folder;
  const std::string path = make_file(folder, "one", 1000);
  IndexCache cache(std::uint64_t{1} << 30);
  auto session = cache.session();
  auto other = cache.session();
  auto before = session.get(path);
  ASSERT_TRUE(other.get(path).ok());
  const std::string replacement = make_file(folder, "two", 8000);
  std::filesystem::rename(replacement, path);
  EXPECT_TRUE(cache.drop(path));
  EXPECT_FALSE(cache.drop(path));
  EXPECT_EQ(first_of(*before), 1000u);  // until the next get
  for (auto* each : {&other, &session}) {
    const auto after = each->get(path);
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(first_of(*after), 8000u);
  }
  EXPECT_EQ(cache.stats().indexes, 1u);
  EXPECT_EQ(cache.stats().evictions, 0u);
}

TEST(IndexCache, SessionsMoveAndOutliveTheCacheAndEachOther) {
  const Folder folder;
  const auto paths = make_files(folder, 2);
  auto cache = std::make_unique<IndexCache>(std::uint64_t{1} << 30);
  IndexCache::Session session = cache->session();
  {
    auto gone = cache->session();
    ASSERT_TRUE(gone.get(paths[0]).ok());
    ASSERT_TRUE(gone.get(paths[1]).ok());
  }
  IndexCache::Session moved = std::move(session);
  EXPECT_EQ(session.get(paths[0]).code(), Code::closed);  // NOLINT: that is what it says
  ASSERT_TRUE(moved.get(paths[0]).ok());
  EXPECT_EQ(cache->stats().opens, 2u);
  cache.reset();
  const auto reader = moved.get(paths[1]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(first_of(*reader), 2000u);
}

TEST(IndexCache, ManyPathsInASessionAreFoundAgainAndThoseThatWentAreForgotten) {
  const Folder folder;
  const std::string one = make_file(folder, "0", 1000, 40);
  std::vector<std::string> paths;
  for (int i = 0; i < 60; ++i) {
    paths.push_back(folder.file("file " + std::to_string(i)));
    std::filesystem::copy_file(one, paths.back());
  }
  IndexCache cache(size_of_one(one) * 20);
  auto session = cache.session();
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::string& path : paths) {
      const auto reader = session.get(path);
      ASSERT_TRUE(reader.ok());
      EXPECT_EQ(first_of(*reader), 1000u);
    }
  }
  EXPECT_EQ(cache.stats().indexes, 20u);
  EXPECT_EQ(cache.stats().opens, 180u);  // in turn: the clock keeps none of them long enough
  EXPECT_EQ(cache.stats().evictions, 160u);
}

TEST(IndexCache, AnAllocationThatFailsIsFullAndNothingElse) {
  const Folder folder;
  const auto paths = make_files(folder, 2);
  bool failed = true;
  for (std::uint64_t nth = 1; failed; ++nth) {
    ASSERT_LT(nth, 1000u);
    IndexCache cache(std::uint64_t{1} << 30);
    auto session = cache.session();
    ASSERT_TRUE(session.get(paths[0]).ok());
    {
      const FailingAllocations failing(nth, nth);
      const auto reader = session.get(paths[1]);
      failed = failing.failed() > 0;
      if (!reader.ok()) {
        EXPECT_EQ(reader.code(), Code::full) << nth;
      }
    }
    const auto reader = session.get(paths[1]);
    ASSERT_TRUE(reader.ok()) << nth;
    EXPECT_EQ(first_of(*reader), 2000u);
    const auto before = session.get(paths[0]);
    ASSERT_TRUE(before.ok());
    EXPECT_EQ(first_of(*before), 1000u);
  }
}

// Everything at once: few fit, some are dropped, and sessions come and go.
TEST(IndexCache, ManyThreadsGetWhatTheyAskForWhileOthersGo) {
  const Folder folder;
  const auto paths = make_files(folder, 6);
  // A session uses one at a time: so many are always in use at most, and one is being opened.
  constexpr int kThreads = 4;
  const std::uint64_t one = size_of_one(paths[0]);
  IndexCache cache(one * (kThreads + 1));
  std::vector<std::thread> threads;
  sync::Atomic<std::uint64_t> answered;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(static_cast<std::uint64_t>(thread) + 1);
      auto session = cache.session();
      for (std::uint64_t i = 0; i < scaled(1500); ++i) {
        const std::uint64_t which = random.below(random.below(3) == 0 ? 6 : 3);
        const auto reader = session.get(paths[which]);
        if (!reader.ok()) {  // others were opened at the same time
          EXPECT_EQ(reader.code(), Code::full);
          continue;
        }
        EXPECT_EQ(first_of(*reader), (which + 1) * 1000);
        answered.fetch_add(1, sync::relaxed);
        if (random.below(100) == 0) (void)cache.drop(paths[random.below(6)]);
        if (random.below(200) == 0) session = cache.session();
        if (random.below(300) == 0) cache.trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(answered.load(sync::relaxed), 0u);
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.sessions, 0u);
  EXPECT_LE(stats.bytes, stats.bytes_max);
  EXPECT_GT(stats.evictions, 0u);
}

}  // namespace
}  // namespace vicinal::test
