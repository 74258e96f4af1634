#include "simd/avx512/functions.hpp"
#include "simd/avx512/intrinsics.hpp"

namespace vicinal::simd::avx512 {
namespace {

// Butterflies inside a vector: `swapped` is x with partners exchanged; the mask marks second
// partners.
[[nodiscard]] inline __m512 butterfly(__m512 x, __m512 swapped, __mmask16 second) {
  return _mm512_mask_sub_ps(_mm512_add_ps(x, swapped), second, swapped, x);
}

[[nodiscard]] inline __m512 first_three(__m512 x) {
  x = butterfly(x, _mm512_permute_ps(x, 0xb1), 0xaaaa);
  x = butterfly(x, _mm512_permute_ps(x, 0x4e), 0xcccc);
  return butterfly(x, _mm512_shuffle_f32x4(x, x, 0xb1), 0xf0f0);
}

[[nodiscard]] inline __m512 first_four(__m512 x) {
  x = first_three(x);
  return butterfly(x, _mm512_shuffle_f32x4(x, x, 0x4e), 0xff00);
}

// Distances d and 2d in one pass over memory: the same butterflies as in two.
void two_distances(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 4 * d) {
    for (std::uint32_t i = start; i < start + d; i += 16) {
      const __m512 a = _mm512_loadu_ps(x + i);
      const __m512 b = _mm512_loadu_ps(x + i + d);
      const __m512 c = _mm512_loadu_ps(x + i + 2 * d);
      const __m512 e = _mm512_loadu_ps(x + i + 3 * d);
      const __m512 ab = _mm512_add_ps(a, b);
      const __m512 ba = _mm512_sub_ps(a, b);
      const __m512 ce = _mm512_add_ps(c, e);
      const __m512 ec = _mm512_sub_ps(c, e);
      _mm512_storeu_ps(x + i, _mm512_add_ps(ab, ce));
      _mm512_storeu_ps(x + i + d, _mm512_add_ps(ba, ec));
      _mm512_storeu_ps(x + i + 2 * d, _mm512_sub_ps(ab, ce));
      _mm512_storeu_ps(x + i + 3 * d, _mm512_sub_ps(ba, ec));
    }
  }
}

void one_distance(float* x, std::uint32_t n, std::uint32_t d) {
  for (std::uint32_t start = 0; start < n; start += 2 * d) {
    for (std::uint32_t i = start; i < start + d; i += 16) {
      const __m512 a = _mm512_loadu_ps(x + i);
      const __m512 b = _mm512_loadu_ps(x + i + d);
      _mm512_storeu_ps(x + i, _mm512_add_ps(a, b));
      _mm512_storeu_ps(x + i + d, _mm512_sub_ps(a, b));
    }
  }
}

}  // namespace

void fwht(float* x, std::uint32_t n, float scale) noexcept {
  const __m512 factor = _mm512_set1_ps(scale);
  if (n == 8) {
    const __m512 all = first_three(_mm512_maskz_loadu_ps(0xff, x));
    _mm512_mask_storeu_ps(x, 0xff, _mm512_mul_ps(all, factor));
    return;
  }
  for (std::uint32_t i = 0; i < n; i += 16) {
    _mm512_storeu_ps(x + i, first_four(_mm512_loadu_ps(x + i)));
  }
  std::uint32_t d = 16;
  for (; 2 * d < n; d *= 4) two_distances(x, n, d);
  if (d < n) one_distance(x, n, d);
  for (std::uint32_t i = 0; i < n; i += 16) {
    _mm512_storeu_ps(x + i, _mm512_mul_ps(_mm512_loadu_ps(x + i), factor));
  }
}

}  // namespace vicinal::simd::avx512
