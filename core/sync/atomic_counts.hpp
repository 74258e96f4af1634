// Counts of shared-line traffic, per thread, when VICINAL_ATOMICS_COUNTED is defined; nothing
// otherwise. There a thread can also be stopped at each of its steps.
//
// Thread safety: each thread sees its own counts.
// I1: a read-modify-write counts always; a store counts when the line was last stored to by another
//     thread (which is what makes it travel between cores).
#pragma once

#include <cstdint>

namespace vicinal::sync {

struct AtomicCounts {
  std::uint64_t read_modify_writes = 0;
  std::uint64_t foreign_stores = 0;
};

#ifdef VICINAL_ATOMICS_COUNTED
void count_store(const void* address) noexcept;
void count_read_modify_write(const void* address) noexcept;
[[nodiscard]] AtomicCounts atomic_counts() noexcept;
// From now on calls `hook(context)` before each of this thread's stores and read-modify-writes; it
// need not return. Null: no more.
void set_step_hook(void (*hook)(void*), void* context) noexcept;
#else
inline void count_store(const void*) noexcept {}
inline void count_read_modify_write(const void*) noexcept {}
[[nodiscard]] inline AtomicCounts atomic_counts() noexcept { return {}; }
inline void set_step_hook(void (*)(void*), void*) noexcept {}
#endif

}  // namespace vicinal::sync
