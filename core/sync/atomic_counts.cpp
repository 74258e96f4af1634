#include "sync/atomic_counts.hpp"

#ifdef VICINAL_ATOMICS_COUNTED

#include <cstddef>

#include "base/assert.hpp"
#include "base/random.hpp"

namespace vicinal::sync {
namespace {

// Who stored last to each cache line that any Atomic lies in: an open-addressed table of words that
// hold the line's number above and the thread's below. It is built from the compiler's own atomic
// operations, because an Atomic here would count itself.
constexpr std::uint32_t kThreadBits = 20;
constexpr std::uint32_t kLineShift = 6;
constexpr std::size_t kTableSize = std::size_t{1} << 18;
constexpr std::uint32_t kProbesMax = 64;

std::uint64_t last_storer[kTableSize];
std::uint64_t threads_seen;

thread_local AtomicCounts counts;
thread_local void (*step_hook)(void*) = nullptr;
thread_local void* step_context = nullptr;
thread_local std::uint64_t own_number = 0;  // 1, 2, ...; 0 before the thread's first store

[[nodiscard]] std::uint64_t thread_number() noexcept {
  if (own_number == 0) own_number = __atomic_add_fetch(&threads_seen, 1, __ATOMIC_RELAXED);
  VICINAL_ASSERT(own_number < std::uint64_t{1} << kThreadBits);
  return own_number;
}

// Records a store by this thread. Whether another thread stored to the line last; a line that finds
// no place counts as another's, so that a full table can only report too much.
[[nodiscard]] bool take_line(const void* address) noexcept {
  const std::uint64_t line = reinterpret_cast<std::uintptr_t>(address) >> kLineShift;
  VICINAL_ASSERT(line < std::uint64_t{1} << (64 - kThreadBits));
  const std::uint64_t ours = line << kThreadBits | thread_number();
  const std::uint64_t hash = mix64(line);
  for (std::uint32_t probe = 0; probe < kProbesMax; ++probe) {
    std::uint64_t* entry = &last_storer[(hash + probe) % kTableSize];
    std::uint64_t seen = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (seen == 0 && __atomic_compare_exchange_n(entry, &seen, ours, false, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED)) {
      return false;
    }
    if (seen >> kThreadBits != line) continue;
    return __atomic_exchange_n(entry, ours, __ATOMIC_RELAXED) != ours;
  }
  return true;
}

}  // namespace

void count_store(const void* address) noexcept {
  if (step_hook != nullptr) step_hook(step_context);
  if (take_line(address)) ++counts.foreign_stores;
}

void count_read_modify_write(const void* address) noexcept {
  if (step_hook != nullptr) step_hook(step_context);
  ++counts.read_modify_writes;
  (void)take_line(address);
}

AtomicCounts atomic_counts() noexcept { return counts; }

void set_step_hook(void (*hook)(void*), void* context) noexcept {
  step_hook = hook;
  step_context = context;
}

}  // namespace vicinal::sync

#endif  // VICINAL_ATOMICS_COUNTED
