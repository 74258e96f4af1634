// The checksum of everything that is stored: XXH3 with 64 bits, from the xxHash header.
//
// Thread safety: pure functions.
// I1: equal bytes and seed give equal sums on every target.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal {

// `data` may be null when `bytes` is 0. Chain several ranges by passing each one's sum as the next
// one's seed; that differs from the sum of their concatenation.
[[nodiscard]] std::uint64_t checksum64(const void* data, std::size_t bytes,
                                       std::uint64_t seed = 0) noexcept;

}  // namespace vicinal
