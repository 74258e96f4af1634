#include "simd/avx512/functions.hpp"
#include "simd/avx512/intrinsics.hpp"

namespace vicinal::simd::avx512 {
namespace {

// Up to 4 bits: compares with every threshold; the levels are one vector, indexed by code.
class FewLevels {
 public:
  explicit FewLevels(const Levels& levels) : thresholds_(levels.thresholds) {
    const std::uint32_t half = 1u << (levels.bits - 1);
    count_ = half - 1;
    alignas(64) float signed_levels[16] = {};
    for (std::uint32_t m = 0; m < half; ++m) {
      signed_levels[half + m] = static_cast<float>(2 * levels.biased[m] - 127);
      signed_levels[m] = -signed_levels[half + m];
    }
    levels_ = _mm512_load_ps(signed_levels);
  }

  [[nodiscard]] inline __m512i index(__m512 value) const {
    __m512i index = _mm512_setzero_si512();
    for (std::uint32_t m = 0; m < count_; ++m) {
      const __mmask16 above =
          _mm512_cmp_ps_mask(_mm512_set1_ps(thresholds_[m]), value, _CMP_LT_OQ);
      index = _mm512_mask_add_epi32(index, above, index, _mm512_set1_epi32(1));
    }
    return index;
  }

  [[nodiscard]] inline __m512 level(__m512i code, __m512i, __mmask16) const {
    return _mm512_permutexvar_ps(code, levels_);
  }

 private:
  const float* thresholds_;
  std::uint32_t count_;
  __m512 levels_;
};

// 8 bits: four steps of bisection in a vector of every eighth threshold, three in memory.
class ManyLevels {
 public:
  explicit ManyLevels(const Levels& levels) : levels_(&levels) {
    const __m512i eighth =
        _mm512_set_epi32(127, 119, 111, 103, 95, 87, 79, 71, 63, 55, 47, 39, 31, 23, 15, 7);
    coarse_ = _mm512_i32gather_ps(eighth, levels.thresholds, 4);
  }

  [[nodiscard]] inline __m512i index(__m512 value) const {
    __m512i index = _mm512_setzero_si512();
    for (int step = 8; step > 0; step /= 2) {
      const __m512i probe = _mm512_add_epi32(index, _mm512_set1_epi32(step - 1));
      const __mmask16 above =
          _mm512_cmp_ps_mask(_mm512_permutexvar_ps(probe, coarse_), value, _CMP_LT_OQ);
      index = _mm512_mask_add_epi32(index, above, index, _mm512_set1_epi32(step));
    }
    index = _mm512_slli_epi32(index, 3);
    for (int step = 4; step > 0; step /= 2) {
      const __m512i probe = _mm512_add_epi32(index, _mm512_set1_epi32(step - 1));
      const __mmask16 above = _mm512_cmp_ps_mask(
          _mm512_i32gather_ps(probe, levels_->thresholds, 4), value, _CMP_LT_OQ);
      index = _mm512_mask_add_epi32(index, above, index, _mm512_set1_epi32(step));
    }
    return index;
  }

  [[nodiscard]] inline __m512 level(__m512i, __m512i index, __mmask16 negative) const {
    // Each gathered u32 holds the level in its lower half; the last reads into `thresholds`.
    const __m512i pair = _mm512_i32gather_epi32(index, levels_->wide, 2);
    const __m512i size = _mm512_srai_epi32(_mm512_slli_epi32(pair, 16), 16);
    return _mm512_cvtepi32_ps(
        _mm512_mask_sub_epi32(size, negative, _mm512_setzero_si512(), size));
  }

 private:
  const Levels* levels_;
  __m512 coarse_;
};

[[nodiscard]] inline float reduce(__m512 lanes) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(lanes),
                    _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(lanes), 1)));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

template <class Search>
[[nodiscard]] QuantiseSums quantise_with(const Search& search, const float* u,
                                         std::uint32_t coded_dim, std::uint32_t bits,
                                         std::uint8_t* codes) {
  const __m512i sign = _mm512_set1_epi32(1 << (bits - 1));
  __m512 absolute = _mm512_setzero_ps();
  __m512 level = _mm512_setzero_ps();
  __m512 square = _mm512_setzero_ps();
  for (std::uint32_t j = 0; j < coded_dim; j += 16) {
    const __mmask16 valid = coded_dim - j >= 16 ? 0xffff : 0xff;
    const __m512 x = _mm512_maskz_loadu_ps(valid, u + j);
    const __m512 value = _mm512_abs_ps(x);
    const __m512i index = search.index(value);
    const __mmask16 negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __mmask16 positive = static_cast<__mmask16>(~negative);
    const __m512i code = _mm512_mask_or_epi32(index, positive, index, sign);
    _mm512_mask_cvtepi32_storeu_epi8(codes + j, valid, code);
    // Lanes past the end add zero to sums that are never -0.
    absolute = _mm512_add_ps(absolute, value);
    const __m512 signed_level = search.level(code, index, negative);
    level = _mm512_add_ps(level, _mm512_mul_ps(x, signed_level));
    square = _mm512_add_ps(square, _mm512_maskz_mul_ps(valid, signed_level, signed_level));
  }
  return {reduce(absolute), reduce(level), reduce(square)};
}

}  // namespace

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept {
  if (levels.bits == 8) return quantise_with(ManyLevels(levels), u, coded_dim, 8, codes);
  return quantise_with(FewLevels(levels), u, coded_dim, levels.bits, codes);
}

}  // namespace vicinal::simd::avx512
