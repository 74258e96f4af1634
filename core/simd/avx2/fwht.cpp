#include <immintrin.h>

#include "simd/avx2/functions.hpp"

namespace vicinal::simd::avx2 {
namespace {

// Butterflies inside a vector: `swapped` is x with partners exchanged; kSecond marks second
// partners.
template <int kSecond>
[[nodiscard]] inline __m256 butterfly(__m256 x, __m256 swapped) {
  return _mm256_blend_ps(_mm256_add_ps(x, swapped), _mm256_sub_ps(swapped, x), kSecond);
}

[[nodiscard]] inline __m256 first_three(__m256 x) {
  x = butterfly<0xaa>(x, _mm256_permute_ps(x, 0xb1));
  x = butterfly<0xcc>(x, _mm256_permute_ps(x, 0x4e));
  return butterfly<0xf0>(x, _mm256_permute2f128_ps(x, x, 0x01));
}

// Distances d and 2d in one pass over memory: the same butterflies as in two.
void two_distances(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 4 * d) {
    for (std::uint32_t i = start; i < start + d; i += 8) {
      const __m256 a = _mm256_loadu_ps(x + i);
      const __m256 b = _mm256_loadu_ps(x + i + d);
      const __m256 c = _mm256_loadu_ps(x + i + 2 * d);
      const __m256 e = _mm256_loadu_ps(x + i + 3 * d);
      const __m256 ab = _mm256_add_ps(a, b);
      const __m256 ba = _mm256_sub_ps(a, b);
      const __m256 ce = _mm256_add_ps(c, e);
      const __m256 ec = _mm256_sub_ps(c, e);
      _mm256_storeu_ps(x + i, _mm256_add_ps(ab, ce));
      _mm256_storeu_ps(x + i + d, _mm256_add_ps(ba, ec));
      _mm256_storeu_ps(x + i + 2 * d, _mm256_sub_ps(ab, ce));
      _mm256_storeu_ps(x + i + 3 * d, _mm256_sub_ps(ba, ec));
    }
  }
}

void one_distance(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 2 * d) {
    for (std::uint32_t i = start; i < start + d; i += 8) {
      const __m256 a = _mm256_loadu_ps(x + i);
      const __m256 b = _mm256_loadu_ps(x + i + d);
      _mm256_storeu_ps(x + i, _mm256_add_ps(a, b));
      _mm256_storeu_ps(x + i + d, _mm256_sub_ps(a, b));
    }
  }
}

}  // namespace

void fwht(float* x, std::uint32_t n, float scale) noexcept {
  for (std::uint32_t i = 0; i < n; i += 8) {
    _mm256_storeu_ps(x + i, first_three(_mm256_loadu_ps(x + i)));
  }
  std::uint32_t d = 8;
  for (; 2 * d < n; d *= 4) two_distances(x, n, d);
  if (d < n) one_distance(x, n, d);
  const __m256 factor = _mm256_set1_ps(scale);
  for (std::uint32_t i = 0; i < n; i += 8) {
    _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), factor));
  }
}

}  // namespace vicinal::simd::avx2
