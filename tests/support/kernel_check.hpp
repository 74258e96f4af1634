// Compares two tables of kernels, bit by bit, over edge cases and random input. Free of any test
// framework, so that a fuzzer can run it too.
//
// Thread safety: pure functions; each call allocates its own input.
// I1: every array that a kernel gets ends exactly simd::kOverread bytes before memory that may not
//     be touched: a kernel that reads further stops the program.
// I2: what lies beyond an array is random.
#pragma once

#include <cstdint>
#include <string>

#include "simd/kernels.hpp"

namespace vicinal::test {

class SteeredRandom;

// The first place where two kernels differ.
struct KernelDifference {
  bool found = false;
  const char* kernel = "";
  const char* input = "";       // name of the pattern
  std::uint64_t seed = 0;
  std::uint32_t coded_dim = 0;  // or the transform's length
  std::uint32_t bits = 0;
  std::uint32_t lane = 0;       // or the query
  std::uint32_t index = 0;      // of the differing output
  std::uint64_t expected = 0;   // raw bits
  std::uint64_t actual = 0;
};

[[nodiscard]] std::string describe(const KernelDifference& difference);

[[nodiscard]] KernelDifference check_plane_scan(const simd::Kernels& reference,
                                                const simd::Kernels& candidate,
                                                std::uint32_t coded_dim, std::uint64_t seed);
[[nodiscard]] KernelDifference check_code_dot(const simd::Kernels& reference,
                                              const simd::Kernels& candidate,
                                              std::uint32_t coded_dim, std::uint64_t seed);
[[nodiscard]] KernelDifference check_code_dots(const simd::Kernels& reference,
                                               const simd::Kernels& candidate,
                                               std::uint32_t coded_dim, std::uint64_t seed);
// `length` is a power of two >= 8.
[[nodiscard]] KernelDifference check_fwht(const simd::Kernels& reference,
                                          const simd::Kernels& candidate, std::uint32_t length,
                                          std::uint64_t seed);
[[nodiscard]] KernelDifference check_quantise(const simd::Kernels& reference,
                                              const simd::Kernels& candidate,
                                              std::uint32_t coded_dim, std::uint64_t seed);

// All of the above, and those of original rows (original_check.hpp), over the edge dimensions,
// every transform length, and 24 random dimensions.
[[nodiscard]] KernelDifference check_kernels(const simd::Kernels& reference,
                                             const simd::Kernels& candidate, std::uint64_t seed);

// One kernel on one input, which and what drawn from `random`: whoever chooses its bytes, steers.
[[nodiscard]] KernelDifference check_drawn_kernel(const simd::Kernels& reference,
                                                  const simd::Kernels& candidate,
                                                  SteeredRandom& random);

}  // namespace vicinal::test
