// Time, for waits and figures; no result depends on it.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

namespace vicinal::platform {

// Nanoseconds since an arbitrary moment; never goes back. Compare readings of one thread only: in
// WebAssembly each realm has its own zero.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

// Processor time that the calling thread has used, or 0 where the target cannot tell.
[[nodiscard]] std::uint64_t thread_cpu_ns() noexcept;

}  // namespace vicinal::platform
