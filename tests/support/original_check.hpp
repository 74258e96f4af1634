// Compares the kernels of original rows of two tables, bit by bit (kernel_check.hpp).
//
// Thread safety: pure functions.
// I1: row and query end where memory ends: a kernel that reads behind either stops the program.
#pragma once

#include <cstdint>

#include "support/kernel_check.hpp"

namespace vicinal::test {

// Of rows with coded_dim coordinates, and with a few less.
[[nodiscard]] KernelDifference check_originals(const simd::Kernels& reference,
                                               const simd::Kernels& candidate,
                                               std::uint32_t coded_dim, std::uint64_t seed);

// On one input, drawn from `random`.
[[nodiscard]] KernelDifference check_drawn_originals(const simd::Kernels& reference,
                                                     const simd::Kernels& candidate,
                                                     std::uint32_t coded_dim,
                                                     SteeredRandom& random);

}  // namespace vicinal::test
