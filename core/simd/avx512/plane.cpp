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

// The signs of four groups, split into lookup indices.
struct Signs {
  explicit Signs(const std::uint8_t* plane) {
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i signs = _mm512_loadu_si512(plane);
    low = _mm512_and_si512(signs, nibble);
    high = _mm512_and_si512(_mm512_srli_epi16(signs, 4), nibble);
  }
  __m512i low;
  __m512i high;
};

[[nodiscard]] inline Lookups look_up(const Signs& signs, const std::uint8_t* tables) {
  const __m512i table = _mm512_loadu_si512(tables);
  return {_mm512_shuffle_epi8(table, signs.low), _mm512_shuffle_epi8(table, signs.high)};
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

// Sums of `kQueries` queries over at most kSpanGroups groups; `first` is the number of the span's
// first group. The signs are loaded and split once for all queries.
template <std::uint32_t kQueries>
inline void sum_span(const std::uint8_t* plane, const std::uint8_t* const* tables,
                     std::uint32_t first, std::uint32_t end, Sums* sums) {
  Words low[kQueries];
  Words high[kQueries];
  std::uint32_t group = first;
  for (; group + 4 * kStepGroups <= end; group += 4 * kStepGroups) {
    const std::uint32_t at = group * kGroupBytes;
    prefetch_step(plane + at);
    const Signs signs[4] = {Signs(plane + at), Signs(plane + at + 64), Signs(plane + at + 128),
                            Signs(plane + at + 192)};
    for (std::uint32_t q = 0; q < kQueries; ++q) {
      Lookups sum = look_up(signs[0], tables[q] + at);
      for (std::uint32_t step = 1; step < 4; ++step) {
        const Lookups next = look_up(signs[step], tables[q] + at + 64 * step);
        sum.low = _mm512_add_epi8(sum.low, next.low);
        sum.high = _mm512_add_epi8(sum.high, next.high);
      }
      low[q].add(sum.low);
      high[q].add(sum.high);
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
  for (std::uint32_t q = 0; q < kQueries; ++q) sums[q] = fold(low[q], high[q]);
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
      sums[q].low = _mm512_add_epi32(sums[q].low, next[q].low);
      sums[q].high = _mm512_add_epi32(sums[q].high, next[q].high);
    }
    done = end;
  }
}

// A query's side of the bounds, in registers: what it is stored through could alias the query.
struct Line {
  explicit Line(const PlaneScan& scan)
      : step(_mm512_set1_ps(scan.query->step)),
        base(_mm512_set1_ps(scan.query->base)),
        slope(_mm512_set1_ps(scan.query->slope)),
        weight(_mm512_set1_ps(scan.query->weight)),
        coded_dim(_mm512_set1_ps(scan.query->coded_dim)),
        query2(_mm512_set1_ps(scan.query->query2)),
        threshold(_mm512_set1_ps(scan.threshold)),
        l2(scan.query->l2) {}

  // bound.hpp's upper_bound, in its order of operations.
  [[nodiscard]] inline __m512 bound(__m512i sum, __m512 scale, __m512 cosine2) const {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), step);
    const __m512 error = _mm512_mul_ps(cosine2, slope);
    const __m512 reach =
        _mm512_mul_ps(scale, _mm512_add_ps(_mm512_add_ps(product, base), error));
    const __m512 weighted = _mm512_mul_ps(weight, reach);
    if (!l2) return weighted;
    const __m512 length2 =
        _mm512_mul_ps(_mm512_mul_ps(scale, scale), _mm512_mul_ps(cosine2, coded_dim));
    return _mm512_sub_ps(_mm512_sub_ps(weighted, length2), query2);
  }

  __m512 step;
  __m512 base;
  __m512 slope;
  __m512 weight;
  __m512 coded_dim;
  __m512 query2;
  __m512 threshold;
  bool l2;
};

// Of a block's 32 rows.
struct Factors {
  Factors(const float* plane_scale, const float* plane_cosine2)
      : scale_low(_mm512_loadu_ps(plane_scale)),
        scale_high(_mm512_loadu_ps(plane_scale + 16)),
        cosine2_low(_mm512_loadu_ps(plane_cosine2)),
        cosine2_high(_mm512_loadu_ps(plane_cosine2 + 16)) {}
  __m512 scale_low;
  __m512 scale_high;
  __m512 cosine2_low;
  __m512 cosine2_high;
};

// Stores the bounds of 32 rows; returns the rows whose bound is not below the threshold.
[[nodiscard]] inline std::uint32_t bound_rows(const Sums& sums, const Factors& factors,
                                              const Line& line, float* upper) {
  const __m512 low = line.bound(sums.low, factors.scale_low, factors.cosine2_low);
  const __m512 high = line.bound(sums.high, factors.scale_high, factors.cosine2_high);
  _mm512_storeu_ps(upper, low);
  _mm512_storeu_ps(upper + 16, high);
  const std::uint32_t reached_low = _mm512_cmp_ps_mask(low, line.threshold, _CMP_NLT_UQ);
  const std::uint32_t reached_high = _mm512_cmp_ps_mask(high, line.threshold, _CMP_NLT_UQ);
  return reached_low | reached_high << 16;
}

void scan_one(const PlaneBlocks& blocks, const PlaneScan& scan) {
  const PlaneBlocks all = blocks;
  const Line line(scan);
  const std::uint8_t* tables = scan.query->tables;
  const std::uint32_t groups = scan.query->groups;
  float* upper = scan.upper;
  std::uint32_t* reached = scan.reached;
  for (std::uint32_t block = 0; block < all.count; ++block) {
    Sums sums;
    sum_rows<1>(all.planes + block * all.plane_bytes, &tables, groups, &sums);
    const std::uint32_t row = block * kBlockRows;
    const Factors factors(all.plane_scales + row, all.plane_cosines2 + row);
    reached[block] = all.lanes[block] & bound_rows(sums, factors, line, upper + row);
  }
}

template <std::uint32_t kQueries>
void scan_several(const PlaneBlocks& blocks, const PlaneScan* scans) {
  const std::uint8_t* tables[kQueries];
  for (std::uint32_t q = 0; q < kQueries; ++q) tables[q] = scans[q].query->tables;
  const std::uint32_t groups = scans[0].query->groups;
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    Sums sums[kQueries];
    sum_rows<kQueries>(blocks.planes + block * blocks.plane_bytes, tables, groups, sums);
    const std::uint32_t row = block * kBlockRows;
    const Factors factors(blocks.plane_scales + row, blocks.plane_cosines2 + row);
    for (std::uint32_t q = 0; q < kQueries; ++q) {
      scans[q].reached[block] = blocks.lanes[block] & bound_rows(sums[q], factors, Line(scans[q]),
                                                                 scans[q].upper + row);
    }
  }
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  static_assert(kScanQueries == 4);
  switch (queries) {
    case 4: return scan_several<4>(blocks, scans);
    case 3: return scan_several<3>(blocks, scans);
    case 2: return scan_several<2>(blocks, scans);
    default: return scan_one(blocks, scans[0]);
  }
}

}  // namespace vicinal::simd::avx512
