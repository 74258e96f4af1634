// Sleeping until another thread has something: the writer's doorbell and a message's completion.
//
// Thread safety: any thread.
// I1: a waiter reads `value`, looks for work, and sleeps only while `value` is unchanged; a ringer
//     makes its work visible first, then changes `value` [event]. Every ring changes it and wakes,
//     so release and acquire would do for the event alone: who reads the new value sees the work.
//     seq_cst is for skipping the wake when nobody sleeps, or looking at words that are not behind
//     the value: there the look and the change could pass each other and the wake-up be lost
//     (tests/model/event.pml shows both).
// I2: every wait has a bound in microseconds; waking early is always allowed.
#pragma once

#include <cstdint>

#include "platform/futex.hpp"
#include "sync/atomic.hpp"

namespace vicinal::sync {

class EventCount {
 public:
  // Before looking for work.
  [[nodiscard]] std::uint32_t prepare() const noexcept { return value_.load(seq_cst); }  // [event]
  // After finding none. May return early.
  void wait(std::uint32_t prepared, std::uint64_t wait_us_max) noexcept {
    platform::futex_wait(value_.address(), prepared, wait_us_max);
  }
  void ring() noexcept {
    value_.fetch_add(1, seq_cst);  // [event]
    platform::futex_wake_all(value_.address());
  }
  [[nodiscard]] const void* address() const noexcept { return value_.address(); }

 private:
  Atomic<std::uint32_t> value_;
};

// Set once by the writer; waited for by the producer that owns the message.
class Completion {
 public:
  // acquire [done]: the results that the writer stored before `complete`.
  [[nodiscard]] bool done() const noexcept { return word_.load(acquire) != 0; }
  // After this the message belongs to its producer again, who may free it at once: the waking call
  // uses the address only, never what lies there.
  void complete() noexcept {
    const void* address = word_.address();
    set();
    platform::futex_wake_all(address);
  }
  // The same without the wake, for who does more before it.
  void set() noexcept { word_.store(1, release); }  // [done]
  void wait(std::uint64_t wait_us_max) noexcept {
    if (!done()) platform::futex_wait(word_.address(), 0, wait_us_max);
  }
  [[nodiscard]] const void* address() const noexcept { return word_.address(); }

 private:
  Atomic<std::uint32_t> word_;
};

}  // namespace vicinal::sync
