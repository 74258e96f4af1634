#include <immintrin.h>

#include <cstring>

#include "simd/avx2/functions.hpp"

namespace vicinal::simd::avx2 {
namespace {

constexpr std::uint32_t kLanes = 16;
constexpr std::uint32_t kParts = 4;

// 16 coordinates.
struct Doubles {
  __m256d part[kParts];
};

[[nodiscard]] inline Doubles widen(const float* x) {
  Doubles wide;
  for (std::uint32_t i = 0; i < kParts; ++i) {
    wide.part[i] = _mm256_cvtps_pd(_mm_loadu_ps(x + 4 * i));
  }
  return wide;
}

[[nodiscard]] inline Doubles widen(const std::uint16_t* x) {
  Doubles wide;
  for (std::uint32_t i = 0; i < kParts; ++i) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + 4 * i));
    wide.part[i] = _mm256_cvtps_pd(_mm_cvtph_ps(halves));
  }
  return wide;
}

// Lane j % 16 adds up coordinate j.
struct Lanes {
  __m256d part[kParts];

  Lanes() {
    for (__m256d& lanes : part) lanes = _mm256_setzero_pd();
  }
  inline void add(std::uint32_t i, __m256d products) { part[i] = _mm256_add_pd(part[i], products); }
  [[nodiscard]] inline double sum() const {
    const __m256d four = _mm256_add_pd(_mm256_add_pd(part[0], part[2]),
                                       _mm256_add_pd(part[1], part[3]));
    const __m128d two =
        _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
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
      dots.add(i, _mm256_mul_pd(factors.part[i], values.part[i]));
      squares.add(i, _mm256_mul_pd(values.part[i], values.part[i]));
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
      const __m256d difference = _mm256_sub_pd(factors.part[i], values.part[i]);
      squares.add(i, _mm256_mul_pd(difference, difference));
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

}  // namespace vicinal::simd::avx2
