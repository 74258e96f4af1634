// The only file that includes <atomic>. Everything that two threads may touch at once is an Atomic.
//
// Thread safety: as std::atomic.
// I1: every operation names its memory order; there is no default.
// I2: no stand-alone fences exist (ThreadSanitizer does not model them).
// I3: a word is only ever accessed at its own size.
// I4: Plain<T> is a T that several threads touch, one after the other: the orders of Atomics keep
//     them apart. The simulator reports two accesses that they do not order. Of larger things
//     note_read and note_write say the same; their address stands for them.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/atomic_counts.hpp"

namespace vicinal::sync {

using Order = std::memory_order;
inline constexpr Order relaxed = std::memory_order_relaxed;
inline constexpr Order acquire = std::memory_order_acquire;
inline constexpr Order release = std::memory_order_release;
inline constexpr Order acq_rel = std::memory_order_acq_rel;
inline constexpr Order seq_cst = std::memory_order_seq_cst;

}  // namespace vicinal::sync

#ifdef VICINAL_ATOMICS_SIMULATED

#include "sync/atomic_simulated.hpp"

namespace vicinal::sync {
inline constexpr bool kSimulated = true;
}  // namespace vicinal::sync

#else

namespace vicinal::sync {

inline constexpr bool kSimulated = false;

template <class T>
using Plain = T;
inline void note_read(const void*) noexcept {}
inline void note_write(const void*) noexcept {}

template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept : value_{} {}
  constexpr explicit Atomic(T value) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(Order order) const noexcept { return value_.load(order); }
  void store(T value, Order order) noexcept {
    count_store(this);
    value_.store(value, order);
  }
  T exchange(T value, Order order) noexcept {
    count_read_modify_write(this);
    return value_.exchange(value, order);
  }
  // Strong; on failure `expected` holds the value seen, read with `failure`.
  bool compare_exchange(T& expected, T desired, Order success, Order failure) noexcept {
    count_read_modify_write(this);
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T value, Order order) noexcept {
    count_read_modify_write(this);
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, Order order) noexcept {
    count_read_modify_write(this);
    return value_.fetch_sub(value, order);
  }
  T fetch_or(T value, Order order) noexcept {
    count_read_modify_write(this);
    return value_.fetch_or(value, order);
  }
  T fetch_and(T value, Order order) noexcept {
    count_read_modify_write(this);
    return value_.fetch_and(value, order);
  }

  // The word itself, for a futex call on a 32-bit Atomic.
  [[nodiscard]] const void* address() const noexcept { return &value_; }

 private:
  static_assert(std::atomic<T>::is_always_lock_free);
  std::atomic<T> value_;
};

}  // namespace vicinal::sync

#endif  // VICINAL_ATOMICS_SIMULATED

namespace vicinal::sync {

static_assert(sizeof(Atomic<std::uint32_t>) == 4 && sizeof(Atomic<std::uint64_t>) == 8);

}  // namespace vicinal::sync
