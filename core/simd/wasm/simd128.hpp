// The operations that differ from relaxed SIMD's, by SIMD128's.
//
// Thread safety: pure functions.
// I1: those of code_kernel.hpp and plane_kernel.hpp.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>

namespace vicinal::simd::wasm {

struct Simd128 {
  static constexpr bool kPairsGain = false;

  [[nodiscard]] static inline v128_t look_up(v128_t table, v128_t index) {
    return wasm_i8x16_swizzle(table, index);
  }

  // Rejected: bytes times bytes to words (extmul), two instructions more.
  [[nodiscard]] static inline v128_t add_products(v128_t sum, v128_t level,
                                                  const std::int8_t* values) {
    const v128_t low =
        wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(level), wasm_i16x8_load8x8(values));
    const v128_t high =
        wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(level), wasm_i16x8_load8x8(values + 8));
    return wasm_i32x4_add(sum, wasm_i32x4_add(low, high));
  }
};

}  // namespace vicinal::simd::wasm
