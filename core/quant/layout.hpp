// Sizes of everything that one row, one block and one query take, from dim and bits alone.
//
// Thread safety: immutable value.
// I1: coded_dim is a multiple of 8 and at least dim; packed_row_bytes == coded_dim * bits / 8
//     exactly.
// I2: a row of a segment takes plane_block_bytes / 32 + rest_bytes bytes, at most 1.5 bytes more
//     than packed_row_bytes, and no more at all where D is a multiple of 32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"

namespace vicinal::quant {

// Short vectors are rotated into a few coordinates more than they have, since each brings them a
// larger share of the code: as many as cost at most this many bytes a row, padding of the plane
// included. From kExtendBelow on it is not worth the scan.
inline constexpr std::uint32_t kExtendBytesMax = 7;
inline constexpr std::uint32_t kExtendBelow = 128;

// Groups that a block's plane has room for: those of D coordinates, and zeros as far as a kernel
// reads that takes the groups, or those of each half, in fours: the block behind may be in the
// writer's hands.
[[nodiscard]] constexpr std::uint32_t plane_groups(std::uint32_t coded_dim) noexcept {
  const std::uint32_t half = coded_dim / simd::kGroupCoordinates / 2;
  const std::uint32_t by_halves = half + (half + 3) / 4 * 4;
  const std::uint32_t by_fours = (2 * half + 3) / 4 * 4;
  return by_halves > by_fours ? by_halves : by_fours;
}

[[nodiscard]] constexpr std::uint32_t extended_dim(std::uint32_t dim, std::uint32_t bits) noexcept {
  const std::uint32_t plain = (dim + 7) / 8 * 8;
  std::uint32_t best = plain;
  for (std::uint32_t longer = plain + 8; longer <= kExtendBelow; longer += 8) {
    // In halves of a byte: a group of padding costs a row one.
    const std::uint32_t code = (longer - plain) * bits / 4;
    const std::uint32_t padding = plane_groups(longer) - longer / simd::kGroupCoordinates;
    if (code + padding <= 2 * kExtendBytesMax) best = longer;
  }
  return best;
}

struct CodeLayout {
  std::uint32_t dim = 0;
  std::uint32_t coded_dim = 0;         // D
  std::uint32_t bits = 0;
  std::uint32_t groups = 0;            // G = D / 4
  std::size_t sign_bytes = 0;          // D / 8, half-packed sign nibbles of one row
  std::size_t rest_bytes = 0;          // D * (bits - 1) / 8
  std::size_t packed_row_bytes = 0;    // D * bits / 8
  std::size_t plane_block_bytes = 0;   // plane_groups * 16, the signs of 32 rows

  [[nodiscard]] static constexpr CodeLayout of(std::uint32_t dim, std::uint32_t bits) noexcept {
    CodeLayout layout;
    layout.dim = dim;
    layout.coded_dim = extended_dim(dim, bits);
    layout.bits = bits;
    layout.groups = layout.coded_dim / simd::kGroupCoordinates;
    layout.sign_bytes = layout.coded_dim / 8;
    layout.rest_bytes = std::size_t{layout.coded_dim} * (bits - 1) / 8;
    layout.packed_row_bytes = std::size_t{layout.coded_dim} * bits / 8;
    layout.plane_block_bytes = std::size_t{plane_groups(layout.coded_dim)} * simd::kGroupBytes;
    return layout;
  }
  // Chunks of a code query that cover one half of the groups (simd/kernels.hpp).
  [[nodiscard]] constexpr std::uint32_t half_chunks() const noexcept {
    return (groups / 2 + simd::kChunkGroups - 1) / simd::kChunkGroups;
  }
};

// The three factors of a row, 12 bytes.
struct RowFactors {
  float scale = 0;          // length / <u, x_hat> in units of the signed integer levels
  float plane_scale = 0;    // length / sum |u_j|
  float plane_cosine2 = 0;  // (sum |u_j|)^2 / D, clamped to <= 1
};
static_assert(sizeof(RowFactors) == 12);

// A zero row of a calibrated cosine index lies nowhere, so its distance from the origin says
// nothing. Its bound is above 0 for every query and certainty: with plane_cosine2 = -1 the term
// - plane_scale^2 * plane_cosine2 * D / 2 adds 128 D, more than all else can take away (32 D). What
// scores whole codes gives it 0, and the smaller of the two is its score.
inline constexpr RowFactors kZeroRowFactors = {0, 16, -1};
[[nodiscard]] constexpr bool is_zero_row(float plane_cosine2) noexcept {
  return plane_cosine2 < 0;
}

// The half-packed signs of the row in lane `lane` of a block's plane, sign_bytes long.
inline void gather_signs(const CodeLayout& layout, const std::uint8_t* plane, std::uint32_t lane,
                         std::uint8_t* signs) noexcept {
  const std::uint8_t* row = plane + lane % simd::kGroupBytes;
  const std::uint32_t shift = lane / simd::kGroupBytes * 4;
  const std::uint32_t half = layout.groups / 2;
  for (std::uint32_t i = 0; i < half; ++i) {
    const std::uint32_t low = std::uint32_t{row[i * simd::kGroupBytes]} >> shift & 15;
    const std::uint32_t high = std::uint32_t{row[(i + half) * simd::kGroupBytes]} >> shift & 15;
    signs[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

// Calls `put(group, nibble)` for each group of a packed row's half-packed signs.
template <class Put>
inline void for_each_sign_nibble(const std::uint8_t* signs, std::uint32_t groups, Put put) {
  const std::uint32_t half = groups / 2;
  for (std::uint32_t i = 0; i < half; ++i) {
    put(i, static_cast<std::uint8_t>(signs[i] & 15));
    put(i + half, static_cast<std::uint8_t>(signs[i] >> 4));
  }
}

// The other way: lane `lane` of a block's plane gets a packed row's signs.
inline void put_signs(const CodeLayout& layout, std::uint8_t* plane, std::uint32_t lane,
                      const std::uint8_t* signs) noexcept {
  std::uint8_t* row = plane + lane % simd::kGroupBytes;
  const bool low = lane < simd::kGroupBytes;
  const int shift = low ? 0 : 4;
  const auto keep = static_cast<std::uint8_t>(low ? 0xf0 : 0x0f);
  for_each_sign_nibble(signs, layout.groups, [&](std::uint32_t group, std::uint8_t nibble) {
    std::uint8_t& byte = row[group * simd::kGroupBytes];
    byte = static_cast<std::uint8_t>((byte & keep) | nibble << shift);
  });
}

}  // namespace vicinal::quant
