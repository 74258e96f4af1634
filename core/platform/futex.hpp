// Sleeping on a 32-bit word of shared memory.
//
// Thread safety: any thread. The word is an Atomic<std::uint32_t>'s.
#pragma once

#include <cstdint>

namespace vicinal::platform {

// Returns at once if the word differs from `expected`; else sleeps until woken, interrupted or
// `wait_us_max` microseconds have passed. Where the thread may not sleep (a page's main thread, a
// build without threads) it returns at once.
void futex_wait(const void* word, std::uint32_t expected, std::uint64_t wait_us_max) noexcept;

// Whether this thread may sleep at all.
[[nodiscard]] bool may_wait() noexcept;

// Wakes all sleepers on the word; the memory itself is not touched.
void futex_wake_all(const void* word) noexcept;

}  // namespace vicinal::platform
