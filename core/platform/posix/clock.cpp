#include "platform/clock.hpp"

#include <time.h>

namespace vicinal::platform {
namespace {

[[nodiscard]] std::uint64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t monotonic_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }
std::uint64_t thread_cpu_ns() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace vicinal::platform
