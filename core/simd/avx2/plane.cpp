#include <immintrin.h>

#include "simd/avx2/functions.hpp"

namespace vicinal::simd::avx2 {
namespace {

constexpr std::uint32_t kStepGroups = 2;  // of one vector
// How far ahead of itself the scan fetches: a third faster where planes come from beyond the second
// level cache, no slower within. The bytes may lie past the planes: a prefetch cannot fault.
constexpr std::uint32_t kPrefetchBytes = 4096;
// Sums of 63 stay below 65,536 for 1,040 groups; 1,024 is a whole number of steps.
constexpr std::uint32_t kSpanGroups = 1024;

// u32 sums of rows 0..7, 8..15, 16..23, 24..31.
struct Sums {
  __m256i rows[4];
};

// Bytes of four lookups at most: rows 0..15 in `low`, 16..31 in `high`, two groups side by side.
struct Lookups {
  __m256i low;
  __m256i high;
};

[[nodiscard]] inline __m256i load(const std::uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

[[nodiscard]] inline Lookups look_up(const std::uint8_t* plane, const std::uint8_t* tables) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i signs = load(plane);
  const __m256i table = load(tables);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(signs, 4), nibble);
  return {_mm256_shuffle_epi8(table, _mm256_and_si256(signs, nibble)),
          _mm256_shuffle_epi8(table, high)};
}

// u16 sums: `all` holds even bytes plus 256 times odd bytes modulo 2^16, `odd` the odd bytes.
// Subtracting later costs less than masking the even bytes at every step.
struct Words {
  __m256i all = _mm256_setzero_si256();
  __m256i odd = _mm256_setzero_si256();

  inline void add(__m256i bytes) {
    all = _mm256_add_epi16(all, bytes);
    odd = _mm256_add_epi16(odd, _mm256_srli_epi16(bytes, 8));
  }
  [[nodiscard]] inline __m256i even() const {
    return _mm256_sub_epi16(all, _mm256_slli_epi16(odd, 8));
  }
};

// Adds up the two 128-bit lanes and puts 16 rows in order.
inline void fold(const Words& words, __m256i* rows) {
  const __m256i even = words.even();
  const __m256i both = _mm256_add_epi16(_mm256_permute2x128_si256(even, words.odd, 0x20),
                                        _mm256_permute2x128_si256(even, words.odd, 0x31));
  const __m128i evens = _mm256_castsi256_si128(both);
  const __m128i odds = _mm256_extracti128_si256(both, 1);
  rows[0] = _mm256_cvtepu16_epi32(_mm_unpacklo_epi16(evens, odds));
  rows[1] = _mm256_cvtepu16_epi32(_mm_unpackhi_epi16(evens, odds));
}

// Of one step of 8 groups, two cache lines.
inline void prefetch_step(const std::uint8_t* plane) {
  const char* ahead = reinterpret_cast<const char*>(plane) + kPrefetchBytes;
  _mm_prefetch(ahead, _MM_HINT_T0);
  _mm_prefetch(ahead + 64, _MM_HINT_T0);
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
      sum.low = _mm256_add_epi8(sum.low, next.low);
      sum.high = _mm256_add_epi8(sum.high, next.high);
    }
    low.add(sum.low);
    high.add(sum.high);
  }
  for (; group < groups; group += kStepGroups) {
    const Lookups last = look_up(plane + group * kGroupBytes, tables + group * kGroupBytes);
    low.add(last.low);
    high.add(last.high);
  }
  Sums sums;
  fold(low, sums.rows);
  fold(high, sums.rows + 2);
  return sums;
}

[[nodiscard]] inline Sums sum_rows(const std::uint8_t* plane, const PlaneQuery& query) {
  std::uint32_t done = query.groups < kSpanGroups ? query.groups : kSpanGroups;
  Sums sums = sum_span(plane, query.tables, done);
  while (done < query.groups) {
    const std::uint32_t left = query.groups - done;
    const std::uint32_t span = left < kSpanGroups ? left : kSpanGroups;
    const Sums next =
        sum_span(plane + done * kGroupBytes, query.tables + done * kGroupBytes, span);
    for (int i = 0; i < 4; ++i) sums.rows[i] = _mm256_add_epi32(sums.rows[i], next.rows[i]);
    done += span;
  }
  return sums;
}

// bound.hpp's upper_bound, in its order of operations.
[[nodiscard]] inline __m256 bound(__m256i sum, __m256 scale, __m256 cosine2,
                                  const PlaneQuery& query) {
  const __m256 error = _mm256_mul_ps(cosine2, _mm256_set1_ps(query.slope));
  const __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(query.step));
  const __m256 reach = _mm256_mul_ps(
      scale, _mm256_add_ps(_mm256_add_ps(product, _mm256_set1_ps(query.base)), error));
  const __m256 weighted = _mm256_mul_ps(_mm256_set1_ps(query.weight), reach);
  if (!query.l2) return weighted;
  const __m256 length2 = _mm256_mul_ps(
      _mm256_mul_ps(scale, scale),
      _mm256_mul_ps(cosine2, _mm256_set1_ps(query.coded_dim)));
  return _mm256_sub_ps(_mm256_sub_ps(weighted, length2), _mm256_set1_ps(query.query2));
}

void scan_block(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan& scan) {
  const Sums sums = sum_rows(blocks.planes + block * blocks.plane_bytes, *scan.query);
  const __m256 limit = _mm256_set1_ps(scan.threshold);
  std::uint32_t reached = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t row = block * kBlockRows + 8 * i;
    const __m256 rows = bound(sums.rows[i], _mm256_loadu_ps(blocks.plane_scales + row),
                              _mm256_loadu_ps(blocks.plane_cosines2 + row), *scan.query);
    _mm256_storeu_ps(scan.upper + row, rows);
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(rows, limit, _CMP_NLT_UQ));
    reached |= static_cast<std::uint32_t>(mask) << (8 * i);
  }
  scan.reached[block] = reached & blocks.lanes[block];
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    for (std::uint32_t q = 0; q < queries; ++q) scan_block(blocks, block, scans[q]);
  }
}

}  // namespace vicinal::simd::avx2
