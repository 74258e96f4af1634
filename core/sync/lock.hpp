// A lock for what is done seldom, whose waiters sleep.
//
// Thread safety: any thread; given back by the one that took it.
// I1: what a holder did happens before what the next one does (writer_token.hpp).
// I2: a waiter looks again every kLockWaitUs at the latest, and no holder waits for anything that
//     has no bound of its own.
#pragma once

#include <cstdint>

#include "sync/event.hpp"
#include "sync/writer_token.hpp"

namespace vicinal::sync {

inline constexpr std::uint64_t kLockWaitUs = 100'000;

class Lock {
 public:
  // A holder until its end.
  class Held {
   public:
    explicit Held(Lock& lock) noexcept : lock_(&lock) { lock.take(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { lock_->give_back(); }

   private:
    Lock* lock_;
  };

  [[nodiscard]] bool try_take() noexcept { return token_.try_acquire(); }
  void take() noexcept {
    while (!token_.try_acquire()) {
      const std::uint32_t prepared = free_.prepare();
      if (token_.try_acquire()) return;
      free_.wait(prepared, kLockWaitUs);
    }
  }
  void give_back() noexcept {
    token_.give_back();
    free_.ring();
  }

 private:
  WriterToken token_;
  EventCount free_;
};

}  // namespace vicinal::sync
