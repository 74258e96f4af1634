// The kernel tables that the target folders define, for dispatch.cpp alone.
//
// Thread safety: the tables are constants, usable before any constructor has run.
// I1: a table declared here is compiled in exactly where its condition holds.
// I2: no source of a target folder other than scalar/ defines or calls a shared inline function:
//     the linker keeps one copy of such a function, and it could be one that needs the target's
//     instructions, run on a machine that lacks them. The WebAssembly folders may: an engine
//     takes or refuses a module as a whole.
// I3: VICINAL_WASM_RELAXED is defined for the kernels of wasm_relaxed/ and the dispatch of their
//     module; its other objects are those of the module without relaxed SIMD.
#pragma once

#include "simd/kernels.hpp"

namespace vicinal::simd {

namespace scalar {
extern const Kernels kKernels;
}

#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

#if defined(__aarch64__)
namespace neon {
extern const Kernels kKernels;
}
#endif

#if defined(__wasm_simd128__)
namespace wasm {
extern const Kernels kKernels;
}
#endif

#if defined(__wasm_simd128__) && defined(VICINAL_WASM_RELAXED)
namespace wasm_relaxed {
extern const Kernels kKernels;
}
#endif

}  // namespace vicinal::simd
