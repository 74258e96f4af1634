// The operations that differ from SIMD128's, by relaxed SIMD's.
//
// Thread safety: pure functions.
// I1: those of simd/wasm/code_kernel.hpp and plane_kernel.hpp.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>

namespace vicinal::simd::wasm_relaxed {

struct Relaxed {
  static constexpr bool kPairsGain = true;

  [[nodiscard]] static inline v128_t look_up(v128_t table, v128_t index) {
    return wasm_i8x16_relaxed_swizzle(table, index);
  }

  [[nodiscard]] static inline v128_t add_products(v128_t sum, v128_t level,
                                                  const std::int8_t* values) {
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load(values), level, sum);
  }
};

}  // namespace vicinal::simd::wasm_relaxed
