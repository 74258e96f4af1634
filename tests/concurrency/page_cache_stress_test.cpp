// Threads that get, hold, put, invalidate and flush pages of one cache, at once and for a while: no
// page is another's, goes back in time, or is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "cache/page_cache.hpp"
#include "support/test_scale.hpp"
#include "unit/cache/test_source.hpp"

namespace vicinal::test {
namespace {

using cache::PageCache;
using cache::PageCacheOptions;
using cache::PageSession;

constexpr std::uint64_t kPages = 40;
constexpr std::uint64_t kThreads = 4;

struct Stress {
  std::uint64_t frames;
  std::uint32_t partitions;
  bool fails;
};

std::unique_ptr<PageCache> cache_of(const Stress& stress) {
  PageCacheOptions options;
  options.bytes_max = stress.frames * kPageBytes;
  options.partitions = stress.partitions;
  options.frame_wait_us_max = 60'000'000;
  return std::move(PageCache::create(options)).value();
}

// A thread puts those pages whose number is its own modulo kThreads, and looks at all. It
// invalidates what the source has already, so that nothing goes back in time.
void play(PageCache& cache, TestSource& source, std::uint64_t thread, std::uint64_t steps,
          bool fails, std::vector<std::uint64_t>& put) {
  auto session = std::move(cache.session()).value();
  Random random(thread + 1);
  std::vector<std::uint64_t> seen(kPages);
  const auto look = [&](std::uint64_t page, const std::byte* bytes) {
    const PageText text = text_of(bytes);
    ASSERT_EQ(text.page, page);
    ASSERT_GE(text.version, seen[page]);
    ASSERT_TRUE(page % kThreads != thread || text.version == put[page]);
    seen[page] = text.version;
  };
  for (std::uint64_t step = 0; step < steps; ++step) {
    // Half of the calls are for a few pages.
    const std::uint64_t page = random.below(2) == 0 ? random.below(4) : random.below(kPages);
    const std::uint64_t own = page / kThreads * kThreads + thread;
    const std::uint32_t what = random.below(32);
    Status status;
    if (what < 4) {
      const auto bytes = page_of({own, put[own] + 1});
      status = session->put({&source, own}, bytes_of(bytes));
      if (status.ok()) ++put[own];
    } else if (what < 8) {
      const auto hold = session->hold({&source, page});
      status = hold.status();
      if (hold.ok()) look(page, hold->bytes().data());
    } else if (what == 8) {
      status = session->flush();
      if (status.ok()) {
        for (std::uint64_t p = thread; p < kPages; p += kThreads) {
          ASSERT_EQ(source.version(p), put[p]);
        }
      }
      if (status.code() == Code::busy) status = Status();  // others put faster
    } else if (what == 9) {
      session->leave();
    } else if (what < 12) {
      if (source.version(own) == put[own]) session->invalidate({&source, own});
    } else {
      const auto bytes = session->get({&source, page});
      status = bytes.status();
      if (bytes.ok()) look(page, *bytes);
    }
    ASSERT_TRUE(status.ok() || (fails && status.code() == Code::io)) << status.message();
  }
}

void run(const Stress& stress) {
  TestSource source(kPages);
  auto cache = cache_of(stress);
  std::vector<std::vector<std::uint64_t>> put(kThreads, std::vector<std::uint64_t>(kPages));
  sync::Atomic<std::uint32_t> over;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { play(*cache, source, t, scaled(1'500), stress.fails, put[t]); });
  }
  std::thread weather([&] {
    for (std::uint32_t turn = 0; over.load(sync::acquire) == 0; ++turn) {
      source.failing_writes.store(stress.fails && turn % 3 == 0, sync::release);
      source.failing_reads.store(stress.fails && turn % 3 == 1, sync::release);
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  over.store(1, sync::release);
  weather.join();
  source.failing_writes.store(0, sync::release);
  source.failing_reads.store(0, sync::release);
  auto session = std::move(cache->session()).value();
  ASSERT_TRUE(session->flush().ok());
  for (std::uint64_t page = 0; page < kPages; ++page) {
    EXPECT_EQ(source.version(page), put[page % kThreads][page]) << page;
  }
  EXPECT_EQ(source.faults(), 0u);
  const auto stats = cache->stats();
  EXPECT_EQ(stats.reads, source.reads());
  EXPECT_EQ(stats.writes, source.writes());
  EXPECT_LE(stats.bytes, stats.bytes_max);
}

TEST(PageCacheStress, WithHardlyAnyFrames) { run({kThreads + 2, 2, false}); }
TEST(PageCacheStress, WithMorePagesThanFrames) { run({24, 8, false}); }
TEST(PageCacheStress, WithAFrameForEachPage) { run({64, 128, false}); }
TEST(PageCacheStress, WithASourceThatFailsNowAndThen) { run({12, 4, true}); }

}  // namespace
}  // namespace vicinal::test
