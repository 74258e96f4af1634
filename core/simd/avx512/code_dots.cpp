#include "simd/avx512/code_parts.hpp"
#include "simd/each_lane.hpp"

namespace vicinal::simd::avx512 {
namespace {

// Chunks of each half whose signs are brought into order at a time: 8 KiB of them.
constexpr std::uint32_t kSpanChunks = 16;
// A page's worth: the hardware does not fetch across pages.
constexpr std::size_t kPrefetchBytes = 4096;
constexpr std::uint32_t kChunkBytes = kChunkGroups * kGroupBytes;

// The signs of a block's rows, row by row: 16 bytes a row and chunk, of each byte the low nibble
// row j's, the high one row j + 16's.
struct alignas(64) RowSigns {
  std::uint8_t bytes[2][kSpanChunks][kChunkBytes];

  [[nodiscard]] inline const std::uint8_t* row(std::uint32_t half, std::uint32_t chunk,
                                               std::uint32_t lane) const {
    return bytes[half][chunk] + lane % kGroupBytes * kGroupBytes;
  }
};

// Four groups of the plane: position 4 L + m of the result, a dword, holds row 4 m + L's.
[[nodiscard]] inline __m512i rows_of_groups(const std::uint8_t* plane) {
  const __m512i byte = _mm512_set_epi32(
      0x3f2f1f0f, 0x3b2b1b0b, 0x37271707, 0x33231303, 0x3e2e1e0e, 0x3a2a1a0a, 0x36261606,
      0x32221202, 0x3d2d1d0d, 0x39291909, 0x35251505, 0x31211101, 0x3c2c1c0c, 0x38281808,
      0x34241404, 0x30201000);
  return _mm512_permutexvar_epi8(byte, _mm512_loadu_si512(plane));
}

// `groups` <= 16 of the plane. No vector is read that holds no valid group: at most 48 bytes past
// the last of them.
inline void order_chunk(const std::uint8_t* plane, std::uint32_t groups, std::uint8_t* rows) {
  __m512i four[4] = {};
  for (std::uint32_t i = 0; i < 4 && 4 * i < groups; ++i) {
    four[i] = rows_of_groups(plane + i * 4 * kGroupBytes);
  }
  const __m512i a = _mm512_unpacklo_epi32(four[0], four[1]);
  const __m512i b = _mm512_unpackhi_epi32(four[0], four[1]);
  const __m512i c = _mm512_unpacklo_epi32(four[2], four[3]);
  const __m512i d = _mm512_unpackhi_epi32(four[2], four[3]);
  _mm512_store_si512(rows, _mm512_unpacklo_epi64(a, c));
  _mm512_store_si512(rows + 64, _mm512_unpackhi_epi64(a, c));
  _mm512_store_si512(rows + 128, _mm512_unpacklo_epi64(b, d));
  _mm512_store_si512(rows + 192, _mm512_unpackhi_epi64(b, d));
}

// The same chunks of both halves of the code.
struct Span {
  std::uint32_t first;
  std::uint32_t chunks;
};

// Products with biased levels; those of one span fit 32 bits.
template <std::uint32_t kBits>
[[nodiscard]] inline __m512i half_dot(__m512i sum, const RowSigns& signs, std::uint32_t lane,
                                      const std::uint8_t* rest, const CodeQuery& query,
                                      std::uint32_t half, __m512i table, const Span& span) {
  const __m512i rotate = rotation(static_cast<int>(kBits) - 1, lane < kGroupBytes ? 0 : 4, 1);
  const Magnitudes<kBits> magnitudes(rest, query.groups, half);
  const std::int8_t* values =
      query.values8 + (half * query.half_chunks + span.first) * std::size_t{kChunkValues};
  for (std::uint32_t i = 0; i < span.chunks; ++i) {
    const __m512i index = select(1 << (kBits - 1),
                                 _mm512_rolv_epi32(repeat16(signs.row(half, i, lane)), rotate),
                                 magnitudes.chunk((span.first + i) * kChunkGroups));
    sum = _mm512_dpbusd_epi32(sum, _mm512_permutexvar_epi8(index, table),
                              _mm512_loadu_si512(values + i * kChunkValues));
  }
  return sum;
}

inline void order_span(const std::uint8_t* plane, std::uint32_t half_groups, const Span& span,
                       RowSigns& signs) {
  for (std::uint32_t half = 0; half < 2; ++half) {
    for (std::uint32_t i = 0; i < span.chunks; ++i) {
      const std::uint32_t at = (span.first + i) * kChunkGroups;
      order_chunk(plane + (half * half_groups + at) * kGroupBytes, half_groups - at,
                  signs.bytes[half][i]);
    }
  }
}

// The row that comes kPrefetchBytes later; past the rows a prefetch does no harm.
inline void prefetch_row(const std::uint8_t* rest, std::size_t rest_bytes) {
  const char* ahead = reinterpret_cast<const char*>(rest) + kPrefetchBytes;
  for (std::size_t at = 0; at < rest_bytes; at += 64) _mm_prefetch(ahead + at, _MM_HINT_T0);
}

template <std::uint32_t kBits>
void narrow_dots(const std::uint8_t* plane, std::uint32_t lanes, const std::uint8_t* rests,
                 std::size_t rest_bytes, const CodeQuery& query, const Levels& levels,
                 std::int64_t* dots) {
  const __m512i table = level_table<kBits>(levels);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    dots[__builtin_ctz(left)] = -127 * query.value_sum;
  }
  RowSigns signs;
  for (std::uint32_t first = 0; first < query.half_chunks; first += kSpanChunks) {
    const std::uint32_t more = query.half_chunks - first;
    const Span span{first, more < kSpanChunks ? more : kSpanChunks};
    order_span(plane, query.groups / 2, span, signs);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(__builtin_ctz(left));
      const std::uint8_t* rest = rests + lane * rest_bytes;
      if (first == 0) prefetch_row(rest, rest_bytes);
      __m512i sum = _mm512_setzero_si512();
      sum = half_dot<kBits>(sum, signs, lane, rest, query, 0, table, span);
      sum = half_dot<kBits>(sum, signs, lane, rest, query, 1, table, span);
      dots[lane] += 2 * std::int64_t{_mm512_reduce_add_epi32(sum)};
    }
  }
}

}  // namespace

template <std::uint32_t kBits>
void code_dots(const std::uint8_t* plane, std::uint32_t lanes, const std::uint8_t* rests,
               std::size_t rest_bytes, const CodeQuery& query, const Levels& levels,
               std::int64_t* dots) noexcept {
  if constexpr (kBits == 8) {
    // Bound by its products and by memory: signs brought into order would win nothing.
    each_lane<code_dot<8>>(plane, lanes, rests, rest_bytes, query, levels, dots);
  } else {
    narrow_dots<kBits>(plane, lanes, rests, rest_bytes, query, levels, dots);
  }
}

template void code_dots<1>(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::size_t,
                           const CodeQuery&, const Levels&, std::int64_t*) noexcept;
template void code_dots<2>(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::size_t,
                           const CodeQuery&, const Levels&, std::int64_t*) noexcept;
template void code_dots<3>(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::size_t,
                           const CodeQuery&, const Levels&, std::int64_t*) noexcept;
template void code_dots<4>(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::size_t,
                           const CodeQuery&, const Levels&, std::int64_t*) noexcept;
template void code_dots<8>(const std::uint8_t*, std::uint32_t, const std::uint8_t*, std::size_t,
                           const CodeQuery&, const Levels&, std::int64_t*) noexcept;

}  // namespace vicinal::simd::avx512
