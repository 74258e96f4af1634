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

// The signs of two groups, split into lookup indices.
struct Signs {
  explicit Signs(const std::uint8_t* plane) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i signs = load(plane);
    low = _mm256_and_si256(signs, nibble);
    high = _mm256_and_si256(_mm256_srli_epi16(signs, 4), nibble);
  }
  __m256i low;
  __m256i high;
};

[[nodiscard]] inline Lookups look_up(const Signs& signs, const std::uint8_t* tables) {
  const __m256i table = load(tables);
  return {_mm256_shuffle_epi8(table, signs.low), _mm256_shuffle_epi8(table, signs.high)};
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

// Sums of `kQueries` queries over groups first .. end, at most kSpanGroups. Two queries are what
// sixteen registers hold; the signs are loaded and split once for both.
template <std::uint32_t kQueries>
inline void sum_span(const std::uint8_t* plane, const std::uint8_t* const* tables,
                     std::uint32_t first, std::uint32_t end, Sums* sums) {
  Words low[kQueries];
  Words high[kQueries];
  std::uint32_t group = first;
  for (; group + 4 * kStepGroups <= end; group += 4 * kStepGroups) {
    prefetch_step(plane + group * kGroupBytes);
    Lookups sum[kQueries];
    for (std::uint32_t step = 0; step < 4; ++step) {
      const std::uint32_t at = (group + step * kStepGroups) * kGroupBytes;
      const Signs signs(plane + at);
      for (std::uint32_t q = 0; q < kQueries; ++q) {
        const Lookups next = look_up(signs, tables[q] + at);
        sum[q].low = step == 0 ? next.low : _mm256_add_epi8(sum[q].low, next.low);
        sum[q].high = step == 0 ? next.high : _mm256_add_epi8(sum[q].high, next.high);
      }
    }
    for (std::uint32_t q = 0; q < kQueries; ++q) {
      low[q].add(sum[q].low);
      high[q].add(sum[q].high);
    }
  }
  for (; group < end; group += kStepGroups) {
    const Signs signs(plane + group * kGroupBytes);
    for (std::uint32_t q = 0; q < kQueries; ++q) {
      const Lookups last = look_up(signs, tables[q] + group * kGroupBytes);
      low[q].add(last.low);
      high[q].add(last.high);
    }
  }
  for (std::uint32_t q = 0; q < kQueries; ++q) {
    fold(low[q], sums[q].rows);
    fold(high[q], sums[q].rows + 2);
  }
}

template <std::uint32_t kQueries>
inline void sum_rows(const std::uint8_t* plane, const std::uint8_t* const* tables,
                     std::uint32_t groups, Sums* sums) {
  std::uint32_t done = groups < kSpanGroups ? groups : kSpanGroups;
  sum_span<kQueries>(plane, tables, 0, done, sums);
  while (done < groups) {
    const std::uint32_t end = groups - done < kSpanGroups ? groups : done + kSpanGroups;
    Sums next[kQueries];
    sum_span<kQueries>(plane, tables, done, end, next);
    for (std::uint32_t q = 0; q < kQueries; ++q) {
      for (int i = 0; i < 4; ++i) {
        sums[q].rows[i] = _mm256_add_epi32(sums[q].rows[i], next[q].rows[i]);
      }
    }
    done = end;
  }
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

void bound_rows(const PlaneBlocks& blocks, std::uint32_t block, const Sums& sums,
                const PlaneScan& scan) {
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

template <std::uint32_t kQueries>
void scan_block(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan* scans) {
  const std::uint8_t* tables[kQueries];
  for (std::uint32_t q = 0; q < kQueries; ++q) tables[q] = scans[q].query->tables;
  Sums sums[kQueries];
  sum_rows<kQueries>(blocks.planes + block * blocks.plane_bytes, tables, scans[0].query->groups,
                     sums);
  for (std::uint32_t q = 0; q < kQueries; ++q) bound_rows(blocks, block, sums[q], scans[q]);
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    std::uint32_t q = 0;
    for (; q + 2 <= queries; q += 2) scan_block<2>(blocks, block, scans + q);
    if (q < queries) scan_block<1>(blocks, block, scans + q);
  }
}

}  // namespace vicinal::simd::avx2
