// The rows that a search found, ranked again by exact scores: of the query and the rows as they
// were given (segment/originals.hpp).
//
// Thread safety: as search.hpp; the version is pinned by the caller.
// I1: a score depends on query, row and metric alone, and is the same bits on every target: sums
//     are those of Kernels::original_dots, and what follows is the same few operations in doubles,
//     once rounded to a float.
//       cosine: dot / sqrt(|q|^2 |x|^2), of a zero vector 0;  ip: dot;  l2: -|q - x|^2.
// I2: no score is NaN or infinite: coordinates are finite and below kMagnitudeLimit.
// I3: nothing is allocated.
#pragma once

#include <cstdint>
#include <span>

#include "quant/quantiser.hpp"
#include "segment/version.hpp"
#include "vicinal/types.hpp"

namespace vicinal::search {

// What was found, by its codes, and room for it once more.
struct Candidates {
  std::span<std::uint64_t> ids;  // or handles; best first
  std::span<float> scores;       // as many places
  std::span<segment::Slot> slots;
  std::span<Hit> hits;
};

// Of an index that keeps originals. The `k` best candidates of at least `min_score` come to stand
// in ids and scores, best first by (score descending, id ascending): how many there are.
[[nodiscard]] std::size_t rerank(const segment::Version& version,
                                 const quant::Quantiser& quantiser, const float* query,
                                 std::size_t k, float min_score,
                                 const Candidates& candidates) noexcept;

}  // namespace vicinal::search
