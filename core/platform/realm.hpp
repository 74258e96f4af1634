// Which realm the calling thread is: a number by which what it holds is found after its death.
//
// Thread safety: any thread; each sets its own.
// I1: 0 stands for every thread that cannot be ended from outside, as native ones of which nobody
//     says otherwise.
#pragma once

#include <cstdint>

namespace vicinal::platform {

[[nodiscard]] std::uint32_t realm() noexcept;

}  // namespace vicinal::platform

// WebAssembly: JavaScript says so through the bindings, when it has attached the thread. Native:
// whoever ends threads from outside.
extern "C" void vicinal_set_realm(std::uint32_t realm);
