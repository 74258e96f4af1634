// Counts of shared-line traffic, per thread, when VICINAL_ATOMICS_COUNTED is defined; nothing
// otherwise.
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
#else
inline void count_store(const void*) noexcept {}
inline void count_read_modify_write(const void*) noexcept {}
[[nodiscard]] inline AtomicCounts atomic_counts() noexcept { return {}; }
#endif

}  // namespace vicinal::sync
