// The lock of the benchmarks' old way: it excludes, and nobody overtakes. A lock that did less
// would make that way look better than it is, and no result would tell.
#include "bench/fair_lock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace vicinal::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Until so many wait; false when that does not come about.
bool wait_for_waiters(FairLock& lock, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (lock.waiting() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Who got in, in order.
class Log {
 public:
  void add(const char* who) {
    const std::scoped_lock guard(mutex_);
    entries_ += who;
  }
  std::string text() {
    const std::scoped_lock guard(mutex_);
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::string entries_;
};

TEST(BenchFairLock, AReaderBehindAWaitingWriterWaitsAlthoughReadersAreIn) {
  FairLock lock;
  Log log;
  lock.lock_shared();
  std::thread writer([&] {
    const std::unique_lock<FairLock> guard(lock);
    log.add("w");
  });
  EXPECT_TRUE(wait_for_waiters(lock, 1));
  std::thread reader([&] {
    const std::shared_lock<FairLock> guard(lock);
    log.add("r");
  });
  EXPECT_TRUE(wait_for_waiters(lock, 2));
  EXPECT_EQ(log.text(), "");
  lock.unlock_shared();
  writer.join();
  reader.join();
  EXPECT_EQ(log.text(), "wr");
}

TEST(BenchFairLock, ReadersEnterTogetherAndAWriterKeepsAllOut) {
  FairLock lock;
  lock.lock();
  std::vector<std::thread> readers;
  std::mutex meeting;
  std::condition_variable met;
  std::size_t inside = 0;
  constexpr std::size_t kReaders = 3;
  bool together = true;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      const std::shared_lock<FairLock> guard(lock);
      std::unique_lock<std::mutex> room(meeting);
      ++inside;
      met.notify_all();
      together &= met.wait_for(room, kPatience, [&] { return inside == kReaders; });
    });
  }
  EXPECT_TRUE(wait_for_waiters(lock, kReaders));
  {
    const std::scoped_lock room(meeting);
    EXPECT_EQ(inside, 0u);
  }
  lock.unlock();
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(together);
}

TEST(BenchFairLock, WhatWritersDoIsNeverSeenInPart) {
  FairLock lock;
  constexpr std::uint64_t kRounds = 2000;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t torn = 0;
  const auto write = [&] {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      const std::unique_lock<FairLock> guard(lock);
      ++first;
      std::this_thread::yield();
      ++second;
    }
  };
  std::thread one(write);
  std::thread other(write);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const std::shared_lock<FairLock> guard(lock);
    torn += first != second ? 1 : 0;
  }
  one.join();
  other.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(first, 2 * kRounds);
  EXPECT_EQ(second, 2 * kRounds);
}

}  // namespace
}  // namespace vicinal::bench
