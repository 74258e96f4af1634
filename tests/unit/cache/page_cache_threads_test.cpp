// Several threads at one cache: one read for all, no stale fill, no lost write.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "base/random.hpp"
#include "cache/page_cache.hpp"
#include "support/test_scale.hpp"
#include "unit/cache/test_source.hpp"

namespace vicinal::test {
namespace {

using cache::PageCache;
using cache::PageCacheOptions;
using cache::PageSession;

std::unique_ptr<PageCache> cache_of(std::uint64_t pages, std::uint32_t partitions,
                                    std::uint64_t frame_wait_us_max = 20'000'000) {
  PageCacheOptions options;
  options.bytes_max = pages * kPageBytes;
  options.partitions = partitions;
  options.frame_wait_us_max = frame_wait_us_max;
  return std::move(PageCache::create(options)).value();
}

// Threads that get one page while its read is held back; their answers.
std::vector<Code> get_together(PageCache& cache, TestSource& source, std::uint64_t threads) {
  std::vector<Code> codes(threads);
  std::vector<std::thread> running;
  source.close();
  for (std::uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      auto session = std::move(cache.session()).value();
      const auto bytes = session->get({&source, 1});
      codes[i] = bytes.code();
      EXPECT_TRUE(!bytes.ok() || text_of(*bytes) == (PageText{1, 0}));
    });
  }
  // Everybody but the reader waits for it.
  source.await_calls(1);
  while (true) {
    const auto stats = cache.stats();
    if (stats.waits + 1 == stats.misses && stats.misses == threads) break;
    std::this_thread::yield();
  }
  source.open();
  for (std::thread& thread : running) thread.join();
  return codes;
}

TEST(PageCacheThreads, MissesOfOnePageAreOneReadForAll) {
  TestSource source(4);
  auto cache = cache_of(8, 2);
  for (const Code code : get_together(*cache, source, 6)) EXPECT_EQ(code, Code::ok);
  EXPECT_EQ(source.reads(), 1u);
}

TEST(PageCacheThreads, AFailedReadWakesAllWithItsErrorAndIsNotKept) {
  TestSource source(4);
  source.failing_reads.store(1, sync::release);
  auto cache = cache_of(8, 2);
  for (const Code code : get_together(*cache, source, 6)) EXPECT_EQ(code, Code::io);
  EXPECT_EQ(source.reads(), 1u);
  source.failing_reads.store(0, sync::release);
  auto session = std::move(cache->session()).value();
  EXPECT_TRUE(session->get({&source, 1}).ok());
  EXPECT_EQ(source.reads(), 2u);
}

TEST(PageCacheThreads, NoLockIsHeldWhileASourceIsCalled) {
  TestSource slow(4);
  TestSource quick(64);
  auto cache = cache_of(70, 1);  // the same partition for all
  slow.close();
  std::thread reader([&] {
    auto session = std::move(cache->session()).value();
    EXPECT_TRUE(session->get({&slow, 0}).ok());
  });
  slow.await_calls(1);
  auto session = std::move(cache->session()).value();
  EXPECT_EQ(session->lookup({&slow, 0}).code(), Code::would_block);
  for (std::uint64_t page = 0; page < 64; ++page) {
    EXPECT_TRUE(session->get({&quick, page}).ok());
  }
  slow.open();
  reader.join();
}

TEST(PageCacheThreads, AReadThatBeganBeforeAnInvalidationIsNotSeenAfterIt) {
  for (const bool put : {false, true}) {
    TestSource source(4);
    auto cache = cache_of(8, 2);
    source.close();
    std::thread reader([&] {
      auto session = std::move(cache->session()).value();
      const auto bytes = session->get({&source, 1});
      ASSERT_TRUE(bytes.ok());
      EXPECT_EQ(text_of(*bytes).version, 7u);  // it looked again
    });
    source.await_calls(1);
    auto session = std::move(cache->session()).value();
    if (put) {
      EXPECT_TRUE(session->put({&source, 1}, bytes_of(page_of({1, 7}))).ok());
    } else {
      session->invalidate({&source, 1});
    }
    source.set(1, put ? 3 : 7);
    source.open();
    reader.join();
    EXPECT_EQ(text_of(*session->get({&source, 1})).version, 7u);
    EXPECT_EQ(source.reads(), put ? 1u : 2u);
  }
}

TEST(PageCacheThreads, ErrorsOfAReadThatBeganBeforeAnInvalidationAreNotSeenAfterIt) {
  TestSource source(4);
  auto cache = cache_of(8, 2);
  const auto get = [&] {
    auto mine = std::move(cache->session()).value();
    EXPECT_TRUE(mine->get({&source, 1}).ok());
  };
  source.failing_reads.store(1, sync::release);
  source.close();
  std::thread before(get);
  source.await_calls(1);
  source.failing_reads.store(0, sync::release);
  auto session = std::move(cache->session()).value();
  session->invalidate({&source, 1});
  std::thread after(get);
  while (cache->stats().waits == 0) std::this_thread::yield();
  source.open();
  before.join();
  after.join();
  EXPECT_EQ(source.reads(), 2u);
}

TEST(PageCacheThreads, WhoFoundNoFrameKeepsItsErrorToItself) {
  TestSource source(4), refusing(4, 1);
  auto cache = cache_of(3, 1);
  auto session = std::move(cache->session()).value();
  // Frame 1 alone can go, and is met once with its use forgotten.
  const auto one = session->hold({&source, 1});
  EXPECT_TRUE(session->put({&refusing, 0}, bytes_of(page_of({0, 1}))).ok());
  const auto two = session->hold({&source, 2});
  ASSERT_TRUE(one.ok() && two.ok());
  refusing.failing_writes.store(1, sync::release);
  refusing.close();
  Code codes[2] = {};
  const auto get = [&](Code& code) {
    auto mine = std::move(cache->session()).value();
    code = mine->get({&source, 3}).code();
  };
  std::thread owner(get, std::ref(codes[0]));
  refusing.await_calls(1);
  refusing.failing_writes.store(0, sync::release);
  std::thread waiter(get, std::ref(codes[1]));
  while (cache->stats().waits == 0) std::this_thread::yield();
  refusing.open();
  owner.join();
  waiter.join();
  EXPECT_EQ(codes[0], Code::io);
  EXPECT_EQ(codes[1], Code::ok);
}

TEST(PageCacheThreads, AFlushFindsAPageThatIsPutBehindIt) {
  TestSource source(4);
  auto cache = cache_of(4, 1);
  auto session = std::move(cache->session()).value();
  const auto put = [&](std::uint64_t page, std::uint64_t version) {
    EXPECT_TRUE(session->put({&source, page}, bytes_of(page_of({page, version}))).ok());
  };
  // Frames 0 to 3; frame 0 retires.
  put(0, 1), put(2, 1), put(1, 1), put(0, 2);
  source.close();
  std::thread flusher([&] {
    auto mine = std::move(cache->session()).value();
    EXPECT_TRUE(mine->flush().ok());
  });
  source.await_calls(1);  // of frame 1
  put(1, 2);              // from frame 2 to 0, where the flush has been
  source.open();
  flusher.join();
  EXPECT_EQ(source.version(0), 2u);
  EXPECT_EQ(source.version(1), 2u);
  EXPECT_EQ(source.version(2), 1u);
}

TEST(PageCacheThreads, AWaitWithoutBoundIsOne) {
  for (const std::uint64_t bound : {~std::uint64_t{0}, ~std::uint64_t{0} / 1000 + 1}) {
    TestSource source(4);
    auto cache = cache_of(2, 1, bound);
    auto session = std::move(cache->session()).value();
    auto one = session->hold({&source, 0});
    const auto two = session->hold({&source, 1});
    ASSERT_TRUE(one.ok() && two.ok());
    sync::Atomic<std::uint32_t> over;
    std::thread waiter([&] {
      auto mine = std::move(cache->session()).value();
      EXPECT_TRUE(mine->get({&source, 2}).ok());
      over.store(1, sync::release);
    });
    while (cache->stats().waits < 2 && over.load(sync::acquire) == 0) std::this_thread::yield();
    { const cache::PageHold ended = std::move(one).value(); }
    waiter.join();
  }
}

TEST(PageCacheThreads, APageIsNotWrittenByTwoAtOnceNorOverANewerContent) {
  TestSource source(4);
  auto cache = cache_of(8, 2);
  auto session = std::move(cache->session()).value();
  EXPECT_TRUE(session->put({&source, 1}, bytes_of(page_of({1, 1}))).ok());
  source.close();
  std::thread first([&] {
    auto mine = std::move(cache->session()).value();
    EXPECT_TRUE(mine->flush().ok());
  });
  source.await_calls(1);
  EXPECT_TRUE(session->put({&source, 1}, bytes_of(page_of({1, 2}))).ok());
  std::thread second([&] {
    auto mine = std::move(cache->session()).value();
    EXPECT_TRUE(mine->flush().ok());
    EXPECT_EQ(source.version(1), 2u);
  });
  while (cache->stats().waits == 0) std::this_thread::yield();
  EXPECT_EQ(source.writes(), 1u);
  source.open();
  first.join();
  second.join();
  EXPECT_EQ(source.version(1), 2u);
  EXPECT_EQ(source.faults(), 0u);
}

TEST(PageCacheThreads, WhoWaitsForAFrameHasTheOneThatAReadingHeld) {
  TestSource source(8);
  auto cache = cache_of(2, 1);
  auto idle = std::move(cache->session()).value();
  EXPECT_TRUE(idle->get({&source, 0}).ok());
  std::thread other([&] {
    auto session = std::move(cache->session()).value();
    EXPECT_TRUE(session->get({&source, 1}).ok());
    EXPECT_TRUE(session->get({&source, 2}).ok());  // waits for `idle`
  });
  while (cache->stats().waits == 0) std::this_thread::yield();
  idle->leave();
  other.join();
}

}  // namespace
}  // namespace vicinal::test
