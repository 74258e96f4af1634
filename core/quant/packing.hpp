// One code a byte <-> the packed row of kernels.hpp.
//
// Thread safety: pure functions.
// I1: unpack_row(pack_row(codes)) == codes for codes below 2^bits.
#pragma once

#include <cstdint>

#include "quant/layout.hpp"

namespace vicinal::quant {

// `codes`: coded_dim bytes, 4-byte aligned, each sign << (bits - 1) | magnitude index. Writes
// packed_row_bytes.
void pack_row(const CodeLayout& layout, const std::uint8_t* codes,
              std::uint8_t* packed_row) noexcept;
// The inverse. `codes` gets coded_dim bytes.
void unpack_row(const CodeLayout& layout, const std::uint8_t* packed_row,
                std::uint8_t* codes) noexcept;

}  // namespace vicinal::quant
