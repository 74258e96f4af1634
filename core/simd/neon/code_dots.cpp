#include "simd/neon/code_parts.hpp"

namespace vicinal::simd::neon {
namespace {

constexpr std::uint32_t kChunkBytes = kChunkGroups * kGroupBytes;

// The signs of a block's rows, row by row: 16 bytes a row and chunk, of each byte the low nibble
// row j's, the high one row j + 16's.
struct alignas(16) RowSigns {
  std::uint8_t bytes[kSpanChunks][kChunkBytes];

  [[nodiscard]] inline uint8x16_t row(std::uint32_t chunk, std::uint32_t lane) const {
    return vld1q_u8(bytes[chunk] + lane % kGroupBytes * kGroupBytes);
  }
};

// Zips vector i with vector i + 8. The highest bit of a byte's vector becomes the lowest of its
// place, and the highest of its place the lowest of its vector: four times exchange them.
inline void zip_halves(const uint8x16_t (&from)[16], uint8x16_t (&to)[16]) {
  for (std::uint32_t i = 0; i < 8; ++i) {
    to[2 * i] = vzip1q_u8(from[i], from[i + 8]);
    to[2 * i + 1] = vzip2q_u8(from[i], from[i + 8]);
  }
}

// The first `groups` of 16 of the plane: their bytes in the order of rows. Reads no other group.
void order_chunk(const std::uint8_t* plane, std::uint32_t groups, std::uint8_t* rows) {
  uint8x16_t a[16];
  uint8x16_t b[16];
  for (std::uint32_t i = 0; i < kChunkGroups; ++i) {
    a[i] = i < groups ? vld1q_u8(plane + i * kGroupBytes) : vdupq_n_u8(0);
  }
  zip_halves(a, b);
  zip_halves(b, a);
  zip_halves(a, b);
  zip_halves(b, a);
  for (std::uint32_t i = 0; i < kGroupBytes; ++i) vst1q_u8(rows + i * kGroupBytes, a[i]);
}

}  // namespace

template <std::uint32_t kBits>
void code_dots(const std::uint8_t* plane, std::uint32_t lanes, const std::uint8_t* rests,
               std::size_t rest_bytes, const CodeQuery& query, const Levels& levels,
               std::int64_t* dots) noexcept {
  Dot<kBits> dot(levels);
  RowSigns signs;
  const auto* values = Dot<kBits>::values(query);
  const std::uint32_t half_groups = query.groups / 2;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) dots[__builtin_ctz(left)] = 0;
  for (std::uint32_t half = 0; half < 2; ++half) {
    for (std::uint32_t first = 0; first < query.half_chunks; first += kSpanChunks) {
      const std::uint32_t more = query.half_chunks - first;
      const std::uint32_t chunks = more < kSpanChunks ? more : kSpanChunks;
      for (std::uint32_t i = 0; i < chunks; ++i) {
        const std::uint32_t at = (first + i) * kChunkGroups;
        order_chunk(plane + (half * half_groups + at) * kGroupBytes, half_groups - at,
                    signs.bytes[i]);
      }
      for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<std::uint32_t>(__builtin_ctz(left));
        const Rest<kBits> rest(rests + lane * rest_bytes, query.groups, half);
        const int8x16_t sign_shift = nibble_shift(lane >= kGroupBytes);
        for (std::uint32_t i = 0; i < chunks; ++i) {
          dot.add(rest.load((first + i) * kChunkGroups, vshlq_u8(signs.row(i, lane), sign_shift)),
                  values + i * kChunkValues);
        }
        dots[lane] += dot.take();
      }
      values += chunks * kChunkValues;
    }
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

}  // namespace vicinal::simd::neon
