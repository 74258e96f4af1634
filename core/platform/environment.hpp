// What the process tells the core; the one read of the environment.
//
// Thread safety: any thread, as long as nobody changes the environment meanwhile.
#pragma once

namespace vicinal::platform {

// The instruction set forced by VICINAL_SIMD, or null. Null on WebAssembly.
[[nodiscard]] const char* forced_simd() noexcept;

}  // namespace vicinal::platform
