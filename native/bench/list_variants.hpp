// Ways to keep free frames, each behind the same two calls: `take(partition)` is a frame, or
// kNoFrame, `give(partition, frame)` its return. `steals` counts frames of other partitions.
//
// Thread safety: any thread.
// I1: each begins with all frames free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/page_variants.hpp"
#include "cache/frame_lists.hpp"
#include "cli/failure.hpp"
#include "sync/atomic.hpp"

namespace vicinal::bench {

inline constexpr std::uint32_t kNoFrame = cache::FrameLists::kNone;

// Spins, and after a while leaves the core to who may have the lock.
class SpinLock {
 public:
  void lock() noexcept {
    for (std::uint32_t spins = 0; word_.exchange(1, sync::acquire) != 0;) {
      while (word_.load(sync::relaxed) != 0) {
        if (++spins % 1'000 == 0) std::this_thread::yield();
      }
    }
  }
  void unlock() noexcept { word_.store(0, sync::release); }

 private:
  sync::Atomic<std::uint32_t> word_;
};

// One list for all.
template <class Lock>
class OneList {
 public:
  static constexpr const char* kName =
      std::is_same_v<Lock, std::mutex> ? "one-mutex" : "one-spinlock";

  OneList(std::uint32_t, std::uint32_t frames) {
    for (std::uint32_t frame = frames; frame-- > 0;) free_.push_back(frame);
  }
  std::uint32_t take(std::uint32_t, std::uint64_t&) {
    const std::scoped_lock held(lock_);
    if (free_.empty()) return kNoFrame;
    const std::uint32_t frame = free_.back();
    free_.pop_back();
    return frame;
  }
  void give(std::uint32_t, std::uint32_t frame) {
    const std::scoped_lock held(lock_);
    free_.push_back(frame);
  }

 private:
  Lock lock_;
  std::vector<std::uint32_t> free_;
};

// A list a partition; where that is empty, one look at each of the others, or none.
template <bool kSteals>
class ListArray {
 public:
  static constexpr const char* kName =
      kSteals ? "spinlock-array-with-stealing" : "per-partition-without-stealing";

  ListArray(std::uint32_t partitions, std::uint32_t frames) : lists_(partitions) {
    for (std::uint32_t frame = frames; frame-- > 0;) give(frame % partitions, frame);
  }
  std::uint32_t take(std::uint32_t partition, std::uint64_t& steals) {
    const auto count = static_cast<std::uint32_t>(lists_.size());
    for (std::uint32_t i = 0; i < (kSteals ? count : 1); ++i) {
      List& list = lists_[(partition + i) % count];
      const std::scoped_lock held(list.lock);
      if (list.free.empty()) continue;
      const std::uint32_t frame = list.free.back();
      list.free.pop_back();
      steals += i != 0 ? 1 : 0;
      return frame;
    }
    return kNoFrame;
  }
  void give(std::uint32_t partition, std::uint32_t frame) {
    List& list = lists_[partition];
    const std::scoped_lock held(list.lock);
    list.free.push_back(frame);
  }

 private:
  struct alignas(128) List {
    SpinLock lock;
    std::vector<std::uint32_t> free;
  };
  std::vector<List> lists_;
};

class OurLists {
 public:
  static constexpr const char* kName = "ours";

  OurLists(std::uint32_t partitions, std::uint32_t frames)
      : lists_(cli::require(kPagesSubject, cache::FrameLists::create(partitions, frames))) {}
  std::uint32_t take(std::uint32_t partition, std::uint64_t& steals) {
    return lists_->take(partition, steals);
  }
  void give(std::uint32_t partition, std::uint32_t frame) { lists_->give(partition, frame); }

 private:
  std::unique_ptr<cache::FrameLists> lists_;
};

}  // namespace vicinal::bench
