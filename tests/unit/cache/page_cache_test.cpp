// One thread's view of the cache: what a hit costs, what goes when, what is never lost.
#include "cache/page_cache.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/random.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic_counts.hpp"
#include "unit/cache/test_source.hpp"

namespace vicinal::test {
namespace {

using cache::PageCache;
using cache::PageCacheOptions;
using cache::PageHold;
using cache::PageId;
using cache::PageSession;

std::unique_ptr<PageCache> cache_of(std::uint64_t pages, std::uint32_t partitions = 4) {
  PageCacheOptions options;
  options.bytes_max = pages * kPageBytes;
  options.partitions = partitions;
  options.frame_wait_us_max = 2'000;
  auto cache = PageCache::create(options);
  EXPECT_TRUE(cache.ok());
  return std::move(cache).value();
}
std::unique_ptr<PageSession> session_of(PageCache& cache) {
  auto session = cache.session();
  EXPECT_TRUE(session.ok());
  return std::move(session).value();
}
PageText got(PageSession& session, TestSource& source, std::uint64_t page) {
  const auto bytes = session.get({&source, page});
  EXPECT_TRUE(bytes.ok()) << page << ": " << bytes.status().message();
  return bytes.ok() ? text_of(*bytes) : PageText{~0ull, ~0ull};
}
Status put(PageSession& session, TestSource& source, PageText text) {
  return session.put({&source, text.page}, bytes_of(page_of(text)));
}

TEST(PageCache, ABudgetOfNothingIsNotWithoutBound) {
  const auto none = PageCache::create({});
  EXPECT_EQ(none.code(), Code::bad_option);
  EXPECT_EQ(none.status().a(), static_cast<std::uint64_t>(OptionName::max_bytes));
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{kPageBytes - 1}}) {
    PageCacheOptions options;
    options.bytes_max = bytes;
    const auto small = PageCache::create(options);
    EXPECT_EQ(small.code(), Code::full);
    EXPECT_EQ(small.status().b(), bytes);
  }
  for (const std::uint32_t partitions : {0u, 3u, 2048u}) {
    PageCacheOptions options;
    options.bytes_max = kPageBytes;
    options.partitions = partitions;
    EXPECT_EQ(PageCache::create(options).code(), Code::bad_option) << partitions;
  }
}

TEST(PageCache, TheLargestTableHasTwiceAsManyBucketsAsFrames) {
  EXPECT_EQ(cache::PageTable::buckets_of(1, (1u << 31) - 1), std::uint64_t{1} << 32);
  EXPECT_EQ(cache::PageTable::buckets_of(1024, (1u << 31) - 1), std::uint64_t{1} << 22);
  EXPECT_EQ(cache::PageTable::buckets_of(128, 1), 8u);
}

TEST(PageCache, HasAPageForEachSessionOrSaysThatItHasNot) {
  auto cache = cache_of(2);
  auto first = session_of(*cache);
  auto second = session_of(*cache);
  const auto third = cache->session();
  EXPECT_EQ(third.code(), Code::full);
  EXPECT_EQ(third.status().a(), 3 * kPageBytes);
  EXPECT_EQ(third.status().b(), 2 * kPageBytes);
  second.reset();
  EXPECT_TRUE(cache->session().ok());
  EXPECT_EQ(cache->stats().sessions, 1u);
}

TEST(PageCache, ReadsAPageOnceAndAnswersFromMemoryThen) {
  TestSource source(8);
  auto cache = cache_of(8);
  auto session = session_of(*cache);
  EXPECT_EQ(session->lookup({&source, 3}).code(), Code::would_block);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t page = 0; page < 8; ++page) {
      EXPECT_EQ(got(*session, source, page), (PageText{page, 0}));
    }
  }
  EXPECT_TRUE(session->lookup({&source, 3}).ok());
  EXPECT_EQ(source.reads(), 8u);
  const auto stats = cache->stats();
  EXPECT_EQ(stats.reads, 8u);
  EXPECT_EQ(stats.misses, 8u);
  EXPECT_EQ(stats.hits, 17u);
  EXPECT_EQ(stats.evictions, 0u);
  EXPECT_EQ(stats.bytes, 8 * kPageBytes);
}

TEST(PageCache, AWarmHitDoesNoReadModifyWriteNoForeignStoreAndNoAllocation) {
  TestSource source(64);
  auto cache = cache_of(64, 16);
  // Another thread's, so that each store to what belongs to a page would be a foreign one.
  std::thread warming([&] {
    auto other = session_of(*cache);
    for (std::uint64_t page = 0; page < 64; ++page) (void)got(*other, source, page);
  });
  warming.join();
  auto session = session_of(*cache);
  (void)got(*session, source, 0);  // the session's own lines
  const std::uint64_t allocations = allocations_of_this_thread();
  const sync::AtomicCounts counts = sync::atomic_counts();
  std::uint64_t sum = 0;
  for (int round = 0; round < 50; ++round) {
    for (std::uint64_t page = 0; page < 64; ++page) {
      sum += static_cast<std::uint64_t>((*session->get({&source, page}))[0]);
    }
  }
  EXPECT_EQ(sum, 50u * (63 * 64 / 2));
  EXPECT_EQ(allocations_of_this_thread(), allocations);
  EXPECT_EQ(sync::atomic_counts().read_modify_writes, counts.read_modify_writes);
  EXPECT_EQ(sync::atomic_counts().foreign_stores, counts.foreign_stores);
  EXPECT_EQ(source.reads(), 64u);
}

TEST(PageCache, TheCountersWouldNoticeAHold) {
  TestSource source(1);
  auto cache = cache_of(2);
  auto session = session_of(*cache);
  (void)got(*session, source, 0);
  const sync::AtomicCounts counts = sync::atomic_counts();
  { const auto hold = session->hold({&source, 0}); }
#ifdef VICINAL_ATOMICS_COUNTED
  EXPECT_GE(sync::atomic_counts().read_modify_writes, counts.read_modify_writes + 2);
#else
  EXPECT_EQ(sync::atomic_counts().read_modify_writes, counts.read_modify_writes);
#endif
}

TEST(PageCache, TellsSourcesWithEqualNumbersApart) {
  TestSource one(4, 7), two(4, 7);
  two.set(2, 5);
  auto cache = cache_of(8, 1);
  auto session = session_of(*cache);
  EXPECT_EQ(got(*session, one, 2), (PageText{2, 0}));
  EXPECT_EQ(got(*session, two, 2), (PageText{2, 5}));
  EXPECT_EQ(got(*session, one, 2), (PageText{2, 0}));
}

TEST(PageCache, KeepsWhatIsUsedAndEvictsWhatIsNot) {
  TestSource source(100);
  auto cache = cache_of(4, 2);
  auto session = session_of(*cache);
  for (std::uint64_t page = 1; page < 100; ++page) {
    (void)got(*session, source, 0);
    (void)got(*session, source, page);
  }
  // Page 0 went at most when nobody had used it since the hand was there.
  const auto stats = cache->stats();
  EXPECT_EQ(stats.reads, source.reads());
  EXPECT_LT(stats.reads, 99u + 40u);
  EXPECT_EQ(stats.evictions, stats.reads - 4);
  EXPECT_LE(stats.bytes, 4 * kPageBytes);
}

TEST(PageCache, AFailedReadIsToldAndNotKept) {
  TestSource source(4);
  auto cache = cache_of(4);
  auto session = session_of(*cache);
  source.failing_reads.store(1, sync::release);
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_EQ(session->get({&source, 1}).code(), Code::io);
  }
  EXPECT_EQ(source.reads(), 10u);
  EXPECT_EQ(cache->stats().bytes, 0u);
  source.failing_reads.store(0, sync::release);
  EXPECT_EQ(got(*session, source, 1), (PageText{1, 0}));
  EXPECT_EQ(session->get({&source, 4}).code(), Code::io);  // beyond the end
}

TEST(PageCache, WritesDirtyPagesBeforeTheyGo) {
  TestSource source(50);
  auto cache = cache_of(4, 2);
  auto session = session_of(*cache);
  for (std::uint64_t page = 0; page < 50; ++page) {
    ASSERT_TRUE(put(*session, source, {page, page + 100}).ok());
    EXPECT_EQ(got(*session, source, page), (PageText{page, page + 100}));
  }
  EXPECT_EQ(source.reads(), 0u);
  ASSERT_TRUE(session->flush().ok());
  for (std::uint64_t page = 0; page < 50; ++page) {
    EXPECT_EQ(source.version(page), page + 100);
    EXPECT_EQ(got(*session, source, page), (PageText{page, page + 100}));
  }
  EXPECT_EQ(source.writes(), 50u);
  EXPECT_EQ(source.faults(), 0u);
  const std::uint64_t writes = source.writes();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_EQ(source.writes(), writes) << "clean pages are not written";
}

TEST(PageCache, ADirtyPageWhoseWriteFailsStaysAndIsNotLost) {
  TestSource source(20);
  auto cache = cache_of(3, 1);
  auto session = session_of(*cache);
  for (std::uint64_t page = 0; page < 3; ++page) {
    ASSERT_TRUE(put(*session, source, {page, 9}).ok());
  }
  source.failing_writes.store(1, sync::release);
  const auto refused = session->get({&source, 10});
  EXPECT_EQ(refused.code(), Code::io);
  EXPECT_EQ(refused.status().a(), 28u) << "the error of the write, not another";
  EXPECT_EQ(session->flush().code(), Code::io);
  for (std::uint64_t page = 0; page < 3; ++page) {
    EXPECT_EQ(got(*session, source, page), (PageText{page, 9}));
  }
  source.failing_writes.store(0, sync::release);
  for (std::uint64_t page = 10; page < 20; ++page) {
    EXPECT_EQ(got(*session, source, page), (PageText{page, 0}));
  }
  for (std::uint64_t page = 0; page < 3; ++page) EXPECT_EQ(source.version(page), 9u);
}

TEST(PageCache, ASourceThatRefusesWritesIsNotAskedForEveryPage) {
  TestSource source(100);
  auto cache = cache_of(64, 4);
  auto session = session_of(*cache);
  for (std::uint64_t page = 0; page < 64; ++page) {
    ASSERT_TRUE(put(*session, source, {page, 1}).ok());
  }
  source.failing_writes.store(1, sync::release);
  EXPECT_EQ(session->get({&source, 70}).code(), Code::io);
  EXPECT_GE(source.writes(), 1u);
  EXPECT_LE(source.writes(), 8u);
  // Pages of others go, though they are not the first that the clock meets.
  source.failing_writes.store(0, sync::release);
  EXPECT_EQ(got(*session, source, 70), (PageText{70, 0}));
  TestSource other(4, 1);
  ASSERT_TRUE(put(*session, other, {1, 1}).ok());
  source.failing_writes.store(1, sync::release);
  for (int turn = 0; turn < 200 && other.writes() == 0; ++turn) {
    (void)put(*session, source, {static_cast<std::uint64_t>(turn % 100), 2});
  }
  EXPECT_EQ(other.version(1), 1u);
}

#ifdef GTEST_HAS_DEATH_TEST
TEST(PageCache, APutOfWhatTheCacheMayTakeBackEndsTheProgram) {
  TestSource source(4);
  auto cache = cache_of(4);
  auto session = session_of(*cache);
  const auto bytes = session->get({&source, 1});
  ASSERT_TRUE(bytes.ok());
  EXPECT_DEATH((void)session->put({&source, 2}, PageBytes(*bytes, kPageBytes)), "");
}
#endif

TEST(PageCache, APutIsAnotherFrameAndHoldsKeepTheOld) {
  TestSource source(4);
  auto cache = cache_of(4, 1);
  auto session = session_of(*cache);
  auto hold = session->hold({&source, 1});
  ASSERT_TRUE(hold.ok());
  ASSERT_TRUE(put(*session, source, {1, 1}).ok());
  EXPECT_EQ(got(*session, source, 1), (PageText{1, 1}));
  EXPECT_EQ(text_of(hold->bytes().data()), (PageText{1, 0}));
  session->invalidate({&source, 1});
  EXPECT_EQ(got(*session, source, 1), (PageText{1, 0})) << "what was put is forgotten";
  EXPECT_EQ(source.writes(), 0u);
  // The frame of the hold comes back with its end.
  EXPECT_EQ(cache->stats().bytes / kPageBytes, 3u);
  PageHold other = std::move(hold).value();
  { const PageHold last = std::move(other); }
  for (std::uint64_t page = 0; page < 4; ++page) (void)got(*session, source, page);
  EXPECT_EQ(cache->stats().bytes / kPageBytes, 4u);
}

TEST(PageCache, AnInvalidationIsSeenByTheNextGet) {
  TestSource source(4);
  auto cache = cache_of(4);
  auto session = session_of(*cache);
  for (std::uint64_t version = 0; version < 20; ++version) {
    source.set(2, version);
    session->invalidate({&source, 2});
    EXPECT_EQ(got(*session, source, 2), (PageText{2, version}));
  }
}

TEST(PageCache, IsBusyWhenEveryPageIsHeldAndGoesOnThen) {
  TestSource source(8);
  auto cache = cache_of(2, 2);
  auto session = session_of(*cache);
  auto one = session->hold({&source, 0});
  auto two = session->hold({&source, 1});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(session->get({&source, 2}).code(), Code::busy);
  EXPECT_EQ(put(*session, source, {3, 1}).code(), Code::busy);
  EXPECT_EQ(text_of(one->bytes().data()), (PageText{0, 0}));
  { const PageHold ended = std::move(two).value(); }
  EXPECT_EQ(got(*session, source, 2), (PageText{2, 0}));
}

TEST(PageCache, AReadingThatIsNotLeftHoldsWhatRetiredSinceAndNoMore) {
  TestSource source(8);
  auto cache = cache_of(2, 1);
  auto idle = session_of(*cache);
  auto session = session_of(*cache);
  const auto old = idle->get({&source, 0});
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(got(*session, source, 1), (PageText{1, 0}));
  EXPECT_EQ(session->get({&source, 2}).code(), Code::busy);
  EXPECT_EQ(text_of(*old), (PageText{0, 0}));
  idle->leave();
  EXPECT_EQ(got(*session, source, 2), (PageText{2, 0}));
  EXPECT_GT(cache->stats().waits, 0u);
}

TEST(PageCache, GetsThatAreRefusedForAnothersReadingEvictOnePageAtMost) {
  TestSource source(32);
  auto cache = cache_of(8, 1);
  auto idle = session_of(*cache);
  auto session = session_of(*cache);
  for (std::uint64_t page = 1; page < 8; ++page) (void)got(*session, source, page);
  const auto old = idle->get({&source, 0});
  ASSERT_TRUE(old.ok());
  for (std::uint64_t page = 10; page < 16; ++page) {
    EXPECT_EQ(session->get({&source, page}).code(), Code::busy);
  }
  EXPECT_EQ(text_of(*old), (PageText{0, 0}));
  EXPECT_EQ(cache->stats().evictions, 1u);
  idle->leave();
  EXPECT_EQ(got(*session, source, 10), (PageText{10, 0}));
}

TEST(PageCache, AgainstAMapOfWhatItOughtToHaveAnythingIsRight) {
  for (std::uint64_t seed = 1; seed <= scaled(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    constexpr std::uint64_t kPages = 24;
    TestSource source(kPages);
    auto cache = cache_of(2 + random.below(12), 1u << random.below(4));
    auto session = session_of(*cache);
    std::vector<std::uint64_t> expected(kPages);
    std::uint64_t version = 0;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t page = random.below(kPages);
      switch (random.below(8)) {
        case 0:
        case 1: {
          source.failing_writes.store(random.below(8) == 0, sync::release);
          const Status status = put(*session, source, {page, ++version});
          if (status.ok()) expected[page] = version;
          break;
        }
        case 2:
          source.failing_writes.store(0, sync::release);
          ASSERT_TRUE(session->flush().ok());
          for (std::uint64_t p = 0; p < kPages; ++p) ASSERT_EQ(source.version(p), expected[p]);
          break;
        case 3:
          session->invalidate({&source, page});
          expected[page] = source.version(page);
          break;
        case 4: session->leave(); break;
        default: {
          source.failing_reads.store(random.below(8) == 0, sync::release);
          const auto bytes = session->get({&source, page});
          ASSERT_TRUE(!bytes.ok() || text_of(*bytes) == (PageText{page, expected[page]}));
          source.failing_reads.store(0, sync::release);
        }
      }
    }
    EXPECT_EQ(source.faults(), 0u);
  }
}

TEST(PageCache, WithoutMemoryItIsFullAndWhole) {
  for (std::uint64_t nth = 1;; ++nth) {
    const FailingAllocations failing(nth, nth);
    PageCacheOptions options;
    options.bytes_max = 4 * kPageBytes;
    auto cache = PageCache::create(options);
    if (!cache.ok()) {
      EXPECT_EQ(cache.code(), Code::full);
      continue;
    }
    auto session = (*cache)->session();
    if (failing.failed() == 0) {
      EXPECT_TRUE(session.ok());
      EXPECT_GT(nth, 3u);
      break;
    }
    EXPECT_EQ(session.code(), Code::full);
    EXPECT_TRUE((*cache)->session().ok());
  }
}

}  // namespace
}  // namespace vicinal::test
