// What a search must find, computed one row and one coordinate at a time from the definitions in
// search.hpp and kernels.hpp, with a full sort.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/quantiser.hpp"
#include "support/version_fixture.hpp"
#include "vicinal/types.hpp"

namespace vicinal::test {

struct RankedRow {
  Hit hit;          // with the ranking score
  float code = 0;   // the code score
  float upper = 0;  // the bound
};

// All live rows in result order.
[[nodiscard]] std::vector<RankedRow> rank_all(const quant::Quantiser& quantiser,
                                              std::span<const EncodedRow> rows,
                                              std::span<const float> query, float certainty);

// The rows that `options` leaves of them.
[[nodiscard]] std::vector<Hit> choose(std::span<const RankedRow> ranked,
                                      const SearchOptions& options);

}  // namespace vicinal::test
