#include <wasm_simd128.h>

#include <cstring>

#include "simd/wasm/functions.hpp"

namespace vicinal::simd::wasm {
namespace {

constexpr std::uint32_t kLanes = 16;
constexpr std::uint32_t kParts = 8;

// 16 coordinates.
struct Doubles {
  v128_t part[kParts];
};

[[nodiscard]] inline Doubles widen(const float* x) {
  Doubles wide;
  for (std::uint32_t i = 0; i < kParts; ++i) {
    wide.part[i] = wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(x + 2 * i));
  }
  return wide;
}

// As half_to_float, four at a time.
[[nodiscard]] inline v128_t halves_to_floats(const std::uint16_t* x) {
  const v128_t halves = wasm_u32x4_load16x4(x);
  const v128_t magnitude =
      wasm_i32x4_shl(wasm_v128_and(halves, wasm_i32x4_const_splat(0x7fff)), 13);
  const v128_t sign = wasm_i32x4_shl(wasm_v128_and(halves, wasm_i32x4_const_splat(0x8000)), 16);
  return wasm_v128_or(wasm_f32x4_mul(magnitude, wasm_f32x4_const_splat(0x1p112f)), sign);
}

[[nodiscard]] inline Doubles widen(const std::uint16_t* x) {
  Doubles wide;
  for (std::uint32_t i = 0; i < kParts; i += 2) {
    const v128_t four = halves_to_floats(x + 2 * i);
    wide.part[i] = wasm_f64x2_promote_low_f32x4(four);
    const v128_t upper = wasm_i32x4_shuffle(four, four, 2, 3, 2, 3);
    wide.part[i + 1] = wasm_f64x2_promote_low_f32x4(upper);
  }
  return wide;
}

// Lane j % 16 adds up coordinate j.
struct Lanes {
  v128_t part[kParts];

  Lanes() {
    for (v128_t& lanes : part) lanes = wasm_f64x2_const(0, 0);
  }
  inline void add(std::uint32_t i, v128_t products) { part[i] = wasm_f64x2_add(part[i], products); }
  [[nodiscard]] inline double sum() const {
    v128_t four[4];
    for (std::uint32_t i = 0; i < 4; ++i) four[i] = wasm_f64x2_add(part[i], part[i + 4]);
    const v128_t two = wasm_f64x2_add(wasm_f64x2_add(four[0], four[2]),
                                      wasm_f64x2_add(four[1], four[3]));
    return wasm_f64x2_extract_lane(two, 0) + wasm_f64x2_extract_lane(two, 1);
  }
};

// Calls step(query, row) for each 16 coordinates. The last few come as copies with zeros behind
// them, which change no sum: a lane is never -0.
template <class Coordinate, class Step>
inline void walk(const float* query, const void* row, std::uint32_t dim, const Step& step) {
  const auto* bytes = static_cast<const std::uint8_t*>(row);
  std::uint32_t j = 0;
  for (; j + kLanes <= dim; j += kLanes) {
    step(query + j, reinterpret_cast<const Coordinate*>(bytes + j * sizeof(Coordinate)));
  }
  if (j == dim) return;
  float last_query[kLanes] = {};
  Coordinate last_row[kLanes] = {};
  std::memcpy(last_query, query + j, (dim - j) * sizeof(float));
  std::memcpy(last_row, bytes + j * sizeof(Coordinate), (dim - j) * sizeof(Coordinate));
  step(last_query, last_row);
}

}  // namespace

template <class Coordinate>
OriginalSums original_dots(const float* query, const void* row, std::uint32_t dim) noexcept {
  Lanes dots;
  Lanes squares;
  walk<Coordinate>(query, row, dim, [&](const float* q, const Coordinate* x) {
    const Doubles values = widen(x);
    const Doubles factors = widen(q);
    for (std::uint32_t i = 0; i < kParts; ++i) {
      dots.add(i, wasm_f64x2_mul(factors.part[i], values.part[i]));
      squares.add(i, wasm_f64x2_mul(values.part[i], values.part[i]));
    }
  });
  return {dots.sum(), squares.sum()};
}

template <class Coordinate>
double original_distance(const float* query, const void* row, std::uint32_t dim) noexcept {
  Lanes squares;
  walk<Coordinate>(query, row, dim, [&](const float* q, const Coordinate* x) {
    const Doubles values = widen(x);
    const Doubles factors = widen(q);
    for (std::uint32_t i = 0; i < kParts; ++i) {
      const v128_t difference = wasm_f64x2_sub(factors.part[i], values.part[i]);
      squares.add(i, wasm_f64x2_mul(difference, difference));
    }
  });
  return squares.sum();
}

template OriginalSums original_dots<std::uint16_t>(const float*, const void*,
                                                   std::uint32_t) noexcept;
template OriginalSums original_dots<float>(const float*, const void*, std::uint32_t) noexcept;
template double original_distance<std::uint16_t>(const float*, const void*,
                                                 std::uint32_t) noexcept;
template double original_distance<float>(const float*, const void*, std::uint32_t) noexcept;

}  // namespace vicinal::simd::wasm
