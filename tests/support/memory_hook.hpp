// Takes the place of the platform's memory and of operator new in every program that names
// something of this header: counts allocations, makes chosen ones fail, and calls back before each.
//
// Thread safety: counts, failures and callbacks are per thread; live_allocations is of the process.
// I1: a failure hits the platform's memory and `new (std::nothrow)`, never a throwing `new`.
// I2: while a callback runs, the thread's own allocations are not counted, failed or reported.
#pragma once

#include <cstdint>

namespace vicinal::test {

// Allocations of every kind that this thread has made so far, failed ones included.
[[nodiscard]] std::uint64_t allocations_of_this_thread() noexcept;
// Of the platform's memory: made and not released yet, by any thread.
[[nodiscard]] std::uint64_t live_allocations() noexcept;

// From now on the thread's allocations number `first` to `last` (counted from 1) that may fail give
// null.
class FailingAllocations {
 public:
  explicit FailingAllocations(std::uint64_t first, std::uint64_t last) noexcept;
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
  ~FailingAllocations();

  // How many have failed.
  [[nodiscard]] std::uint64_t failed() const noexcept;
};

// Calls `call(context)` before each of this thread's allocations and releases of the platform's
// memory. It need not return.
class MemoryCallback {
 public:
  MemoryCallback(void (*call)(void*), void* context) noexcept;
  MemoryCallback(const MemoryCallback&) = delete;
  MemoryCallback& operator=(const MemoryCallback&) = delete;
  ~MemoryCallback();
};

}  // namespace vicinal::test
