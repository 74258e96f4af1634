// Checksums of everything that must be equal to the bit on every target: codebooks, encoded rows,
// their factors, prepared queries, scores and bounds. Seeded inputs; nothing of the standard
// library that rounds differently elsewhere.
//
// After a change that is meant to change them, the failing golden tests print the new digests.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/kernels.hpp"
#include "vicinal/types.hpp"

namespace vicinal::test {

struct GoldenCodebook {
  std::uint32_t coded_dim;
  std::uint32_t bits;
  std::uint64_t digest;
};

struct GoldenCase {
  std::uint32_t dim;
  std::uint32_t bits;
  Metric metric;
  std::uint64_t digest;
};

// The expected digests, as committed.
[[nodiscard]] std::span<const GoldenCodebook> golden_codebooks() noexcept;
[[nodiscard]] std::span<const GoldenCase> golden_cases() noexcept;

// What this build computes.
[[nodiscard]] std::uint64_t codebook_digest(std::uint32_t coded_dim, std::uint32_t bits);
[[nodiscard]] std::uint64_t golden_digest(std::uint32_t dim, std::uint32_t bits, Metric metric,
                                          const simd::Kernels& kernels);

}  // namespace vicinal::test
