#include <arm_neon.h>

#include <cstring>

#include "simd/neon/functions.hpp"

namespace vicinal::simd::neon {
namespace {

constexpr std::uint32_t kLanes = 16;
constexpr std::uint32_t kParts = 8;

// 16 coordinates.
struct Doubles {
  float64x2_t part[kParts];
};

[[nodiscard]] inline Doubles widen(const float* x) {
  Doubles wide;
  for (std::uint32_t i = 0; i < kParts; i += 2) {
    const float32x4_t four = vld1q_f32(x + 2 * i);
    wide.part[i] = vcvt_f64_f32(vget_low_f32(four));
    wide.part[i + 1] = vcvt_high_f64_f32(four);
  }
  return wide;
}

[[nodiscard]] inline Doubles widen(const std::uint16_t* x) {
  Doubles wide;
  for (std::uint32_t i = 0; i < kParts; i += 2) {
    const float32x4_t four = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + 2 * i)));
    wide.part[i] = vcvt_f64_f32(vget_low_f32(four));
    wide.part[i + 1] = vcvt_high_f64_f32(four);
  }
  return wide;
}

// Lane j % 16 adds up coordinate j.
struct Lanes {
  float64x2_t part[kParts];

  Lanes() {
    for (float64x2_t& lanes : part) lanes = vdupq_n_f64(0);
  }
  inline void add(std::uint32_t i, float64x2_t products) { part[i] = vaddq_f64(part[i], products); }
  [[nodiscard]] inline double sum() const {
    float64x2_t four[4];
    for (std::uint32_t i = 0; i < 4; ++i) four[i] = vaddq_f64(part[i], part[i + 4]);
    const float64x2_t two = vaddq_f64(vaddq_f64(four[0], four[2]), vaddq_f64(four[1], four[3]));
    return vgetq_lane_f64(two, 0) + vgetq_lane_f64(two, 1);
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
      dots.add(i, vmulq_f64(factors.part[i], values.part[i]));
      squares.add(i, vmulq_f64(values.part[i], values.part[i]));
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
      const float64x2_t difference = vsubq_f64(factors.part[i], values.part[i]);
      squares.add(i, vmulq_f64(difference, difference));
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

}  // namespace vicinal::simd::neon
