#include "simd/avx512/functions.hpp"
#include "simd/avx512/intrinsics.hpp"

namespace vicinal::simd::avx512 {
namespace {

constexpr std::uint32_t kStepGroups = 4;  // of one vector
// How far ahead of itself the scan fetches: a third faster where planes come from beyond the second
// level cache, no slower within. The bytes may lie past the planes: a prefetch cannot fault.
constexpr std::uint32_t kPrefetchBytes = 4096;
// Sums of 63 stay below 65,536 for 1,040 groups; 1,024 is a whole number of steps.
constexpr std::uint32_t kSpanGroups = 1024;

struct Sums {
  __m512i low;   // rows 0..15, u32
  __m512i high;  // rows 16..31
};

// Bytes of four lookups at most: rows 0..15 in `low`, 16..31 in `high`, four groups side by side.
struct Lookups {
  __m512i low;
  __m512i high;
};

[[nodiscard]] inline Lookups look_up(const std::uint8_t* plane, const std::uint8_t* tables) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i signs = _mm512_loadu_si512(plane);
  const __m512i table = _mm512_loadu_si512(tables);
  const __m512i high = _mm512_and_si512(_mm512_srli_epi16(signs, 4), nibble);
  return {_mm512_shuffle_epi8(table, _mm512_and_si512(signs, nibble)),
          _mm512_shuffle_epi8(table, high)};
}

// u16 sums: `all` holds even bytes plus 256 times odd bytes modulo 2^16, `odd` the odd bytes.
// Subtracting later costs less than masking the even bytes at every step.
struct Words {
  __m512i all = _mm512_setzero_si512();
  __m512i odd = _mm512_setzero_si512();

  inline void add(__m512i bytes) {
    all = _mm512_add_epi16(all, bytes);
    odd = _mm512_add_epi16(odd, _mm512_srli_epi16(bytes, 8));
  }
  [[nodiscard]] inline __m512i even() const {
    return _mm512_sub_epi16(all, _mm512_slli_epi16(odd, 8));
  }
};

// Adds up the four 128-bit lanes of `even` and `odd`: even in lanes 0 and 1, odd in 2 and 3, of
// which the caller still adds neighbours.
[[nodiscard]] inline __m512i fold_half(__m512i even, __m512i odd) {
  return _mm512_add_epi16(_mm512_shuffle_i64x2(even, odd, 0x44),
                          _mm512_shuffle_i64x2(even, odd, 0xee));
}

[[nodiscard]] inline Sums fold(const Words& low, const Words& high) {
  const __m512i a = fold_half(low.even(), low.odd);
  const __m512i b = fold_half(high.even(), high.odd);
  // Lanes: low even, low odd, high even, high odd; eight u16 each.
  const __m512i rows = _mm512_add_epi16(_mm512_shuffle_i64x2(a, b, 0x88),
                                        _mm512_shuffle_i64x2(a, b, 0xdd));
  // Row 2i's word is i, row 2i + 1's is i + 8. The index picks it into the lower word of the row's
  // u32; the mask clears the upper one.
  const __m512i low_index = _mm512_set_epi32(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
  const __m512i high_index = _mm512_add_epi32(low_index, _mm512_set1_epi32(16));
  constexpr __mmask32 kEvenWords = 0x55555555u;
  return {_mm512_maskz_permutexvar_epi16(kEvenWords, low_index, rows),
          _mm512_maskz_permutexvar_epi16(kEvenWords, high_index, rows)};
}

// Of one step of 16 groups, four cache lines.
inline void prefetch_step(const std::uint8_t* plane) {
  for (std::uint32_t line = 0; line < 4; ++line) {
    _mm_prefetch(reinterpret_cast<const char*>(plane) + kPrefetchBytes + 64 * line, _MM_HINT_T0);
  }
}

[[nodiscard]] inline Sums sum_span(const std::uint8_t* plane, const std::uint8_t* tables,
                                   std::uint32_t groups) {
  Words low;
  Words high;
  std::uint32_t group = 0;
  for (; group + 4 * kStepGroups <= groups; group += 4 * kStepGroups) {
    prefetch_step(plane + group * kGroupBytes);
    Lookups sum = look_up(plane + group * kGroupBytes, tables + group * kGroupBytes);
    for (std::uint32_t step = 1; step < 4; ++step) {
      const std::uint32_t at = (group + step * kStepGroups) * kGroupBytes;
      const Lookups next = look_up(plane + at, tables + at);
      sum.low = _mm512_add_epi8(sum.low, next.low);
      sum.high = _mm512_add_epi8(sum.high, next.high);
    }
    low.add(sum.low);
    high.add(sum.high);
  }
  for (; group < groups; group += kStepGroups) {
    const Lookups last = look_up(plane + group * kGroupBytes, tables + group * kGroupBytes);
    low.add(last.low);
    high.add(last.high);
  }
  return fold(low, high);
}

[[nodiscard]] inline Sums sum_rows(const std::uint8_t* plane, const PlaneQuery& query) {
  std::uint32_t done = query.groups < kSpanGroups ? query.groups : kSpanGroups;
  Sums sums = sum_span(plane, query.tables, done);
  while (done < query.groups) {
    const std::uint32_t left = query.groups - done;
    const std::uint32_t span = left < kSpanGroups ? left : kSpanGroups;
    const Sums next =
        sum_span(plane + done * kGroupBytes, query.tables + done * kGroupBytes, span);
    sums.low = _mm512_add_epi32(sums.low, next.low);
    sums.high = _mm512_add_epi32(sums.high, next.high);
    done += span;
  }
  return sums;
}

[[nodiscard]] inline __m512 error(__m512 cosine2, const PlaneQuery& query) {
  const __m512 rest = _mm512_sub_ps(_mm512_set1_ps(1.0f), cosine2);
  return _mm512_sqrt_ps(
      _mm512_add_ps(_mm512_mul_ps(rest, _mm512_set1_ps(query.error_direction)),
                    _mm512_set1_ps(query.error_table)));
}

// bound.hpp's upper_bound, in its order of operations.
[[nodiscard]] inline __m512 bound(__m512i sum, __m512 error, __m512 scale, const float* cosine2,
                                  const PlaneQuery& query) {
  const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(query.step));
  const __m512 reach = _mm512_mul_ps(
      scale, _mm512_add_ps(_mm512_add_ps(product, _mm512_set1_ps(query.base)), error));
  const __m512 weighted = _mm512_mul_ps(_mm512_set1_ps(query.weight), reach);
  if (!query.l2) return weighted;
  const __m512 length2 = _mm512_mul_ps(
      _mm512_mul_ps(scale, scale),
      _mm512_mul_ps(_mm512_loadu_ps(cosine2), _mm512_set1_ps(query.coded_dim)));
  return _mm512_sub_ps(_mm512_sub_ps(weighted, length2), _mm512_set1_ps(query.query2));
}

}  // namespace

std::uint32_t plane_scan(const std::uint8_t* plane, const PlaneQuery& query,
                         const float* plane_scale, const float* plane_cosine2, std::uint32_t lanes,
                         float threshold, float* upper) noexcept {
  // The errors need no sum: computed first, the square roots' latency passes behind the lookups.
  const __m512 error_low = error(_mm512_loadu_ps(plane_cosine2), query);
  const __m512 error_high = error(_mm512_loadu_ps(plane_cosine2 + 16), query);
  const Sums sums = sum_rows(plane, query);
  const __m512 low =
      bound(sums.low, error_low, _mm512_loadu_ps(plane_scale), plane_cosine2, query);
  const __m512 high =
      bound(sums.high, error_high, _mm512_loadu_ps(plane_scale + 16), plane_cosine2 + 16, query);
  _mm512_storeu_ps(upper, low);
  _mm512_storeu_ps(upper + 16, high);
  const __m512 limit = _mm512_set1_ps(threshold);
  const std::uint32_t reached_low = _mm512_cmp_ps_mask(low, limit, _CMP_NLT_UQ);
  const std::uint32_t reached_high = _mm512_cmp_ps_mask(high, limit, _CMP_NLT_UQ);
  return (reached_low | reached_high << 16) & lanes;
}

}  // namespace vicinal::simd::avx512
