#include <wasm_simd128.h>

#include "simd/wasm/functions.hpp"

namespace vicinal::simd::wasm {
namespace {

// Distances 1 and 2, inside a vector: first partners get the sum, second ones the difference.
[[nodiscard]] inline v128_t first_two(v128_t x) {
  v128_t swapped = wasm_i32x4_shuffle(x, x, 1, 0, 3, 2);
  x = wasm_i32x4_shuffle(wasm_f32x4_add(x, swapped), wasm_f32x4_sub(swapped, x), 0, 5, 2, 7);
  swapped = wasm_i32x4_shuffle(x, x, 2, 3, 0, 1);
  return wasm_i32x4_shuffle(wasm_f32x4_add(x, swapped), wasm_f32x4_sub(swapped, x), 0, 1, 6, 7);
}

[[gnu::noinline]] void inside_vectors(float* x, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; i += 4) {
    wasm_v128_store(x + i, first_two(wasm_v128_load(x + i)));
  }
}

// Distances d and 2d in one pass over memory: the same butterflies as in two.
[[gnu::noinline]] void two_distances(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 4 * d) {
    for (std::uint32_t i = start; i < start + d; i += 4) {
      const v128_t a = wasm_v128_load(x + i);
      const v128_t b = wasm_v128_load(x + i + d);
      const v128_t c = wasm_v128_load(x + i + 2 * d);
      const v128_t e = wasm_v128_load(x + i + 3 * d);
      const v128_t ab = wasm_f32x4_add(a, b);
      const v128_t ba = wasm_f32x4_sub(a, b);
      const v128_t ce = wasm_f32x4_add(c, e);
      const v128_t ec = wasm_f32x4_sub(c, e);
      wasm_v128_store(x + i, wasm_f32x4_add(ab, ce));
      wasm_v128_store(x + i + d, wasm_f32x4_add(ba, ec));
      wasm_v128_store(x + i + 2 * d, wasm_f32x4_sub(ab, ce));
      wasm_v128_store(x + i + 3 * d, wasm_f32x4_sub(ba, ec));
    }
  }
}

[[gnu::noinline]] void one_distance(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 2 * d) {
    for (std::uint32_t i = start; i < start + d; i += 4) {
      const v128_t a = wasm_v128_load(x + i);
      const v128_t b = wasm_v128_load(x + i + d);
      wasm_v128_store(x + i, wasm_f32x4_add(a, b));
      wasm_v128_store(x + i + d, wasm_f32x4_sub(a, b));
    }
  }
}

[[gnu::noinline]] void multiply(float* x, std::uint32_t n, float scale) {
  const v128_t factor = wasm_f32x4_splat(scale);
  for (std::uint32_t i = 0; i < n; i += 4) {
    wasm_v128_store(x + i, wasm_f32x4_mul(wasm_v128_load(x + i), factor));
  }
}

}  // namespace

void fwht(float* x, std::uint32_t n, float scale) noexcept {
  inside_vectors(x, n);
  std::uint32_t d = 4;
  for (; 2 * d < n; d *= 4) two_distances(x, n, d);
  if (d < n) one_distance(x, n, d);
  multiply(x, n, scale);
}

}  // namespace vicinal::simd::wasm
