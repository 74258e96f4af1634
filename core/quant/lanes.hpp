// Four floats or integers side by side, for code that every target must run well without a kernel
// of its own: the compiler's vector types, which become SSE2, NEON, SIMD128 or plain scalars.
//
// Thread safety: values.
// I1: each lane is computed as the scalar expression would be: the same bits on every target.
#pragma once

#include <cstdint>
#include <cstring>

namespace vicinal::quant {

using Float4 = float __attribute__((vector_size(16)));
using Int4 = std::int32_t __attribute__((vector_size(16)));
using Short4 = std::int16_t __attribute__((vector_size(8)));
using Byte4 = std::int8_t __attribute__((vector_size(4)));
using Word4 = std::uint32_t __attribute__((vector_size(16)));

[[nodiscard]] inline Float4 load4(const float* from) noexcept {
  Float4 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

[[nodiscard]] inline Float4 all4(float value) noexcept {
  return Float4{value, value, value, value};
}

[[nodiscard]] inline Float4 magnitude(Float4 value) noexcept {
  return reinterpret_cast<Float4>(reinterpret_cast<Word4>(value) & 0x7fffffffu);
}

[[nodiscard]] inline Float4 larger(Float4 a, Float4 b) noexcept { return a < b ? b : a; }

// Towards zero; the values must fit.
[[nodiscard]] inline Int4 truncated(Float4 value) noexcept {
  return __builtin_convertvector(value, Int4);
}

[[nodiscard]] inline Float4 as_floats(Int4 value) noexcept {
  return __builtin_convertvector(value, Float4);
}

// All bits set in the first `count` lanes, none in the others.
[[nodiscard]] inline Int4 first_lanes(std::uint32_t count) noexcept {
  const auto limit = static_cast<std::int32_t>(count < 4 ? count : 4);
  return Int4{0, 1, 2, 3} < limit;
}

// The four integers, which must fit, as narrower ones.
inline void store4(std::int8_t* to, Int4 value) noexcept {
  const Byte4 narrow = __builtin_convertvector(value, Byte4);
  std::memcpy(to, &narrow, sizeof narrow);
}

inline void store4(std::int16_t* to, Int4 value) noexcept {
  const Short4 narrow = __builtin_convertvector(value, Short4);
  std::memcpy(to, &narrow, sizeof narrow);
}

// Lane i of row j <-> lane j of row i.
template <class Lanes>
inline void transpose4(Lanes (&rows)[4]) noexcept {
  const Lanes low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Lanes low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Lanes high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Lanes high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

// Lanes l and l + 2, then the two that remain.
[[nodiscard]] inline float sum4(Float4 value) noexcept {
  return (value[0] + value[2]) + (value[1] + value[3]);
}

[[nodiscard]] inline float largest4(Float4 value) noexcept {
  const float a = value[0] < value[2] ? value[2] : value[0];
  const float b = value[1] < value[3] ? value[3] : value[1];
  return a < b ? b : a;
}

}  // namespace vicinal::quant
