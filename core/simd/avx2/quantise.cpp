#include <immintrin.h>

#include "simd/avx2/functions.hpp"

namespace vicinal::simd::avx2 {
namespace {

// Up to 4 bits: compares with every threshold; the levels of eight magnitudes are one vector.
class FewLevels {
 public:
  explicit FewLevels(const Levels& levels) : thresholds_(levels.thresholds) {
    const __m128i biased = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels.biased));
    const __m256i doubled = _mm256_slli_epi32(_mm256_cvtepu8_epi32(biased), 1);
    sizes_ = _mm256_cvtepi32_ps(_mm256_sub_epi32(doubled, _mm256_set1_epi32(127)));
    count_ = (1u << (levels.bits - 1)) - 1;
  }

  [[nodiscard]] inline __m256i index(__m256 value) const {
    __m256i index = _mm256_setzero_si256();
    for (std::uint32_t m = 0; m < count_; ++m) {
      const __m256 above = _mm256_cmp_ps(_mm256_set1_ps(thresholds_[m]), value, _CMP_LT_OQ);
      index = _mm256_sub_epi32(index, _mm256_castps_si256(above));
    }
    return index;
  }

  [[nodiscard]] inline __m256 size(__m256i index) const {
    return _mm256_permutevar8x32_ps(sizes_, index);
  }

 private:
  const float* thresholds_;
  std::uint32_t count_;
  __m256 sizes_;
};

// 8 bits: three steps of bisection in a vector of every sixteenth threshold, four in memory.
class ManyLevels {
 public:
  explicit ManyLevels(const Levels& levels) : levels_(&levels) {
    const __m256i sixteenth = _mm256_set_epi32(127, 111, 95, 79, 63, 47, 31, 15);
    coarse_ = _mm256_i32gather_ps(levels.thresholds, sixteenth, 4);
  }

  [[nodiscard]] inline __m256i index(__m256 value) const {
    __m256i index = _mm256_setzero_si256();
    for (int step = 4; step > 0; step /= 2) {
      const __m256i probe = _mm256_add_epi32(index, _mm256_set1_epi32(step - 1));
      index = advance(index, _mm256_permutevar8x32_ps(coarse_, probe), value, step);
    }
    index = _mm256_slli_epi32(index, 4);
    for (int step = 8; step > 0; step /= 2) {
      const __m256i probe = _mm256_add_epi32(index, _mm256_set1_epi32(step - 1));
      index = advance(index, _mm256_i32gather_ps(levels_->thresholds, probe, 4), value, step);
    }
    return index;
  }

  [[nodiscard]] inline __m256 size(__m256i index) const {
    // Each gathered u32 holds the level in its lower half; the last reads into `thresholds`.
    const __m256i pair =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(levels_->wide), index, 2);
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(pair, 16), 16));
  }

 private:
  [[nodiscard]] static inline __m256i advance(__m256i index, __m256 threshold, __m256 value,
                                              int step) {
    const __m256 above = _mm256_cmp_ps(threshold, value, _CMP_LT_OQ);
    return _mm256_add_epi32(
        index, _mm256_and_si256(_mm256_castps_si256(above), _mm256_set1_epi32(step)));
  }

  const Levels* levels_;
  __m256 coarse_;
};

[[nodiscard]] inline float reduce(__m256 lower, __m256 upper) {
  const __m256 eight = _mm256_add_ps(lower, upper);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline void store_bytes(__m256i dwords, std::uint8_t* bytes) {
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(dwords), _mm256_extracti128_si256(dwords, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes), _mm_packus_epi16(words, words));
}

template <class Search>
[[nodiscard]] QuantiseSums quantise_with(const Search& search, const float* u,
                                         std::uint32_t coded_dim, std::uint32_t bits,
                                         std::uint8_t* codes) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0f);
  const __m256i sign = _mm256_set1_epi32(1 << (bits - 1));
  __m256 absolute[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  __m256 level[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  __m256 square[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  const auto eight = [&](std::uint32_t j, int half) {
    const __m256 x = _mm256_loadu_ps(u + j);
    const __m256 value = _mm256_andnot_ps(sign_bit, x);
    const __m256i index = search.index(value);
    const __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    store_bytes(
        _mm256_or_si256(index, _mm256_andnot_si256(_mm256_castps_si256(negative), sign)),
        codes + j);
    const __m256 size = search.size(index);
    const __m256 signed_level = _mm256_xor_ps(size, _mm256_and_ps(negative, sign_bit));
    absolute[half] = _mm256_add_ps(absolute[half], value);
    level[half] = _mm256_add_ps(level[half], _mm256_mul_ps(x, signed_level));
    square[half] = _mm256_add_ps(square[half], _mm256_mul_ps(size, size));
  };
  std::uint32_t j = 0;
  for (; j + 16 <= coded_dim; j += 16) {
    eight(j, 0);
    eight(j + 8, 1);
  }
  if (j < coded_dim) eight(j, 0);
  return {reduce(absolute[0], absolute[1]), reduce(level[0], level[1]),
          reduce(square[0], square[1])};
}

}  // namespace

QuantiseSums quantise(const float* u, std::uint32_t coded_dim, const Levels& levels,
                      std::uint8_t* codes) noexcept {
  if (levels.bits == 8) return quantise_with(ManyLevels(levels), u, coded_dim, 8, codes);
  return quantise_with(FewLevels(levels), u, coded_dim, levels.bits, codes);
}

}  // namespace vicinal::simd::avx2
