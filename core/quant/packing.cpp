#include "quant/packing.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace vicinal::quant {
namespace {

// A group's four codes as one word, coordinate t in byte t: every target is little-endian.
[[nodiscard]] std::uint32_t group_word(const std::uint8_t* codes, std::uint32_t group) noexcept {
  std::uint32_t word;
  std::memcpy(&word, codes + std::size_t{group} * simd::kGroupCoordinates, sizeof word);
  return word;
}

// One bit, or two, from the bottom of each of a word's four bytes, side by side.
[[nodiscard]] std::uint32_t squeeze1(std::uint32_t word) noexcept {
  word &= 0x01010101u;
  word |= word >> 7;
  return (word | word >> 14) & 15u;
}

[[nodiscard]] std::uint32_t squeeze2(std::uint32_t word) noexcept {
  word &= 0x03030303u;
  word |= word >> 6;
  return (word | word >> 12) & 255u;
}

// Half-packed nibbles of the bit at `shift` of each code.
void pack_bit(const std::uint8_t* codes, std::uint32_t half, std::uint32_t shift,
              std::uint8_t* out) noexcept {
  for (std::uint32_t i = 0; i < half; ++i) {
    const std::uint32_t low = squeeze1(group_word(codes, i) >> shift);
    const std::uint32_t high = squeeze1(group_word(codes, i + half) >> shift);
    out[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

void pack_pair(const std::uint8_t* codes, std::uint32_t groups, std::uint32_t shift,
               std::uint8_t* out) noexcept {
  for (std::uint32_t g = 0; g < groups; ++g) {
    out[g] = static_cast<std::uint8_t>(squeeze2(group_word(codes, g) >> shift));
  }
}

void pack_nibble(const std::uint8_t* codes, std::uint32_t groups, std::uint32_t shift,
                 std::uint8_t* out) noexcept {
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::uint32_t word = (group_word(codes, g) >> shift) & 0x0f0f0f0fu;
    word |= word >> 4;
    out[g] = static_cast<std::uint8_t>(word);
    out[g + groups] = static_cast<std::uint8_t>(word >> 16);
  }
}

// Puts each coordinate's component, `width` bits from bit t * width of its group's value, at
// `shift` of its code.
void spread(std::uint32_t value, std::uint32_t width, std::uint32_t shift,
            std::uint8_t* group_codes) noexcept {
  for (std::uint32_t t = 0; t < simd::kGroupCoordinates; ++t) {
    const std::uint32_t component = value >> (t * width) & ((1u << width) - 1);
    group_codes[t] = static_cast<std::uint8_t>(group_codes[t] | component << shift);
  }
}

void unpack_bit(const std::uint8_t* in, std::uint32_t groups, std::uint32_t shift,
                std::uint8_t* codes) noexcept {
  for_each_sign_nibble(in, groups, [&](std::uint32_t group, std::uint8_t nibble) {
    spread(nibble, 1, shift, codes + std::size_t{group} * simd::kGroupCoordinates);
  });
}

void unpack_pair(const std::uint8_t* in, std::uint32_t groups, std::uint32_t shift,
                 std::uint8_t* codes) noexcept {
  for (std::uint32_t g = 0; g < groups; ++g) {
    spread(in[g], 2, shift, codes + std::size_t{g} * simd::kGroupCoordinates);
  }
}

void unpack_nibble(const std::uint8_t* in, std::uint32_t groups, std::uint32_t shift,
                   std::uint8_t* codes) noexcept {
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::uint32_t value = in[g] | std::uint32_t{in[g + groups]} << 8;
    spread(value, 4, shift, codes + std::size_t{g} * simd::kGroupCoordinates);
  }
}

}  // namespace

void pack_row(const CodeLayout& layout, const std::uint8_t* codes,
              std::uint8_t* packed_row) noexcept {
  const std::uint32_t groups = layout.groups;
  const std::uint32_t half = groups / 2;
  pack_bit(codes, half, layout.bits - 1, packed_row);
  std::uint8_t* rest = packed_row + layout.sign_bytes;
  switch (layout.bits) {
    case 1: break;
    case 2: pack_bit(codes, half, 0, rest); break;
    case 3: pack_pair(codes, groups, 0, rest); break;
    case 4:
      pack_pair(codes, groups, 1, rest);
      pack_bit(codes, half, 0, rest + groups);
      break;
    default:
      VICINAL_ASSERT(layout.bits == 8);
      pack_nibble(codes, groups, 3, rest);
      pack_pair(codes, groups, 1, rest + 2 * std::size_t{groups});
      pack_bit(codes, half, 0, rest + 3 * std::size_t{groups});
  }
}

void unpack_row(const CodeLayout& layout, const std::uint8_t* packed_row,
                std::uint8_t* codes) noexcept {
  const std::uint32_t groups = layout.groups;
  std::memset(codes, 0, layout.coded_dim);
  unpack_bit(packed_row, groups, layout.bits - 1, codes);
  const std::uint8_t* rest = packed_row + layout.sign_bytes;
  switch (layout.bits) {
    case 1: break;
    case 2: unpack_bit(rest, groups, 0, codes); break;
    case 3: unpack_pair(rest, groups, 0, codes); break;
    case 4:
      unpack_pair(rest, groups, 1, codes);
      unpack_bit(rest + groups, groups, 0, codes);
      break;
    default:
      VICINAL_ASSERT(layout.bits == 8);
      unpack_nibble(rest, groups, 3, codes);
      unpack_pair(rest + 2 * std::size_t{groups}, groups, 1, codes);
      unpack_bit(rest + 3 * std::size_t{groups}, groups, 0, codes);
  }
}

}  // namespace vicinal::quant
