#include "platform/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace vicinal::platform {

// The kernel compares and sleeps in one step with respect to a wake; what the waker stored before
// is ordered by the Atomic operations around these calls, not by them.
void futex_wait(const void* word, std::uint32_t expected, std::uint64_t wait_us_max) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(wait_us_max / 1'000'000);
  limit.tv_nsec = static_cast<long>(wait_us_max % 1'000'000 * 1'000);
  // Woken, interrupted, changed and timed out are all the same to the caller, who looks again.
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &limit, nullptr, 0);
}

bool may_wait() noexcept { return true; }

void futex_wake_all(const void* word) noexcept {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace vicinal::platform
