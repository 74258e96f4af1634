// A lock for a few dozen instructions: two read-modify-writes, a call of the system only where
// somebody waits.
//
// Thread safety: any thread; given back by the one that took it. Not for threads that may be ended
// from outside while they hold it.
//
// The word is FREE, HELD, or HELD and perhaps waited for (kWaitedFor). All of it happens on this
// one word, whose operations have one order, so acquire and release are enough: who waits has made
// it kWaitedFor, or seen it so, and whoever frees it from that wakes all.
//
// I1: what a holder did happens before what the next one does [short-lock].
// I2: a holder waits for nothing and calls nothing that might: a wait ends when the holders before
//     have executed what lies between. A waiter looks again every kLockWaitUs at the latest.
#pragma once

#include <cstdint>

#include "platform/futex.hpp"
#include "sync/atomic.hpp"
#include "sync/lock.hpp"

namespace vicinal::sync {

// So many looks before a thread sleeps: about as long as a holder takes.
inline constexpr std::uint32_t kLooksMax = kSimulated ? 1 : 64;

class ShortLock {
 public:
  // A holder until its end.
  class Held {
   public:
    explicit Held(ShortLock& lock) noexcept : lock_(&lock) { lock.take(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { lock_->give_back(); }

   private:
    ShortLock* lock_;
  };

  [[nodiscard]] bool try_take() noexcept {
    std::uint32_t seen = kFree;
    return word_.compare_exchange(seen, kHeld, acquire, relaxed);  // [short-lock]
  }
  void take() noexcept {
    for (std::uint32_t look = 0; look < kLooksMax; ++look) {
      if (word_.load(relaxed) == kFree && try_take()) return;
    }
    while (word_.exchange(kWaitedFor, acquire) != kFree) {  // [short-lock]
      platform::futex_wait(word_.address(), kWaitedFor, kLockWaitUs);
    }
  }
  // The waking call uses the address only: the lock's memory may be gone by then.
  void give_back() noexcept {
    const void* address = word_.address();
    if (word_.exchange(kFree, release) == kWaitedFor) {  // [short-lock]
      platform::futex_wake_all(address);
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kWaitedFor = 2;

  Atomic<std::uint32_t> word_;
};

}  // namespace vicinal::sync
