// Asking for memory some time before it is read.
//
// Thread safety: pure functions.
// I1: no result depends on it.
#pragma once

#include <cstdint>

namespace vicinal::simd {

// Whether __builtin_prefetch does anything. WebAssembly has no instruction for it: only a read asks
// for memory. One read by itself gains nothing, what follows waits for it all the same; several
// places read one after the other arrive together.
#if defined(__wasm__)
inline constexpr bool kHasPrefetch = false;
#else
inline constexpr bool kHasPrefetch = true;
#endif

// Reads the byte at `place`, which no other thread may be writing.
inline void touch(const void* place) noexcept {
  static_cast<void>(*static_cast<const volatile std::uint8_t*>(place));
}

}  // namespace vicinal::simd
