#include <wasm_simd128.h>

#include "simd/wasm/functions.hpp"

namespace vicinal::simd::wasm {
namespace {

// Up to 4 bits: compares with every threshold; the levels of eight magnitudes are one vector.
class FewLevels {
 public:
  explicit FewLevels(const Levels& levels)
      : thresholds_(levels.thresholds),
        count_((1u << (levels.bits - 1)) - 1),
        biased_(wasm_v128_load(levels.biased)) {}

  [[nodiscard]] inline v128_t index(v128_t value) const {
    v128_t index = wasm_i32x4_const_splat(0);
    for (std::uint32_t m = 0; m < count_; ++m) {
      index = wasm_i32x4_sub(index, wasm_f32x4_lt(wasm_v128_load32_splat(thresholds_ + m), value));
    }
    return index;
  }

  [[nodiscard]] inline v128_t size(v128_t index) const {
    const v128_t biased =
        wasm_v128_and(wasm_i8x16_swizzle(biased_, index), wasm_i32x4_const_splat(255));
    return wasm_f32x4_convert_i32x4(
        wasm_i32x4_sub(wasm_i32x4_add(biased, biased), wasm_i32x4_const_splat(127)));
  }

 private:
  const float* thresholds_;
  std::uint32_t count_;
  v128_t biased_;
};

// 8 bits: bisection, one coordinate at a time: there is no gather.
class ManyLevels {
 public:
  explicit ManyLevels(const Levels& levels) : levels_(&levels) {}

  [[nodiscard]] inline v128_t index(v128_t value) const {
    return wasm_i32x4_make(bisect(wasm_f32x4_extract_lane(value, 0)),
                           bisect(wasm_f32x4_extract_lane(value, 1)),
                           bisect(wasm_f32x4_extract_lane(value, 2)),
                           bisect(wasm_f32x4_extract_lane(value, 3)));
  }

  [[nodiscard]] inline v128_t size(v128_t index) const {
    const std::int16_t* wide = levels_->wide;
    return wasm_f32x4_convert_i32x4(wasm_i32x4_make(wide[wasm_i32x4_extract_lane(index, 0)],
                                                    wide[wasm_i32x4_extract_lane(index, 1)],
                                                    wide[wasm_i32x4_extract_lane(index, 2)],
                                                    wide[wasm_i32x4_extract_lane(index, 3)]));
  }

 private:
  [[nodiscard]] inline std::int32_t bisect(float value) const {
    std::int32_t index = 0;
    for (std::int32_t step = 64; step > 0; step /= 2) {
      index += levels_->thresholds[index + step - 1] < value ? step : 0;
    }
    return index;
  }

  const Levels* levels_;
};

struct Sums {
  v128_t absolute[4];
  v128_t level[4];
  v128_t square[4];
};

// Four coordinates into lanes 4 * quarter and on; their codes as i32.
template <class Search>
[[nodiscard]] inline v128_t quantise_four(const Search& search, v128_t x, v128_t sign, int quarter,
                                          Sums& sums) {
  const v128_t value = wasm_f32x4_abs(x);
  const v128_t index = search.index(value);
  const v128_t negative = wasm_f32x4_lt(x, wasm_f32x4_const_splat(0.0f));
  const v128_t sign_bit = wasm_v128_and(negative, wasm_f32x4_const_splat(-0.0f));
  const v128_t size = search.size(index);
  const v128_t level = wasm_v128_xor(size, sign_bit);
  sums.absolute[quarter] = wasm_f32x4_add(sums.absolute[quarter], value);
  sums.level[quarter] = wasm_f32x4_add(sums.level[quarter], wasm_f32x4_mul(x, level));
  sums.square[quarter] = wasm_f32x4_add(sums.square[quarter], wasm_f32x4_mul(size, size));
  return wasm_v128_or(index, wasm_v128_andnot(sign, negative));
}

[[nodiscard]] inline float reduce(const v128_t (&lanes)[4]) {
  const v128_t four = wasm_f32x4_add(wasm_f32x4_add(lanes[0], lanes[2]),
                                     wasm_f32x4_add(lanes[1], lanes[3]));
  const v128_t two = wasm_f32x4_add(four, wasm_i32x4_shuffle(four, four, 2, 3, 0, 1));
  return wasm_f32x4_extract_lane(two, 0) + wasm_f32x4_extract_lane(two, 1);
}

template <class Search>
[[gnu::noinline]] QuantiseSums quantise_with(const Search& search, const float* u,
                                             std::uint32_t coded_dim, std::uint32_t bits,
                                             std::uint8_t* codes) {
  const v128_t sign = wasm_i32x4_splat(1 << (bits - 1));
  Sums sums = {};
  std::uint32_t j = 0;
  const auto eight = [&](std::uint32_t at, int quarter) {
    const v128_t a = quantise_four(search, wasm_v128_load(u + at), sign, quarter, sums);
    const v128_t b = quantise_four(search, wasm_v128_load(u + at + 4), sign, quarter + 1, sums);
    return wasm_i16x8_narrow_i32x4(a, b);
  };
  for (; j + 16 <= coded_dim; j += 16) {
    const v128_t first = eight(j, 0);
    wasm_v128_store(codes + j, wasm_u8x16_narrow_i16x8(first, eight(j + 8, 2)));
  }
  if (j < coded_dim) {
    const v128_t last = eight(j, 0);
    wasm_v128_store64_lane(codes + j, wasm_u8x16_narrow_i16x8(last, last), 0);
  }
  return {reduce(sums.absolute), reduce(sums.level), reduce(sums.square)};
}

}  // namespace

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept {
  if (levels.bits == 8) return quantise_with(ManyLevels(levels), u, coded_dim, 8, codes);
  return quantise_with(FewLevels(levels), u, coded_dim, levels.bits, codes);
}

}  // namespace vicinal::simd::wasm
