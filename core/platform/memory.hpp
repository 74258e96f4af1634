// Large zeroed memory for segments, and what remains of it untouched costs no resident memory.
//
// Thread safety: any thread. In shared WebAssembly memory no lock is taken, so that a worker that
// is terminated in here leaks at most what it was asking for.
#pragma once

#include <cstddef>

namespace vicinal::platform {

// `bytes` of zeroed memory, aligned to at least 4,096, or null. Followed by readable bytes only as
// far as `bytes` reaches: add the overread yourself.
[[nodiscard]] void* map_zeroed(std::size_t bytes) noexcept;
void unmap(void* memory, std::size_t bytes) noexcept;

// `bytes` aligned to 64, not zeroed, or null.
[[nodiscard]] void* allocate(std::size_t bytes) noexcept;
void release(void* memory) noexcept;

}  // namespace vicinal::platform
