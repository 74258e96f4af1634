#include "platform/clock.hpp"

// performance.now() of the thread, in milliseconds; the loader provides it.
extern "C" double emscripten_get_now();

namespace vicinal::platform {

std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(emscripten_get_now() * 1e6);
}
std::uint64_t thread_cpu_ns() noexcept { return 0; }

}  // namespace vicinal::platform
