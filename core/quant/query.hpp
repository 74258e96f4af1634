// From a rotated unit query to the plane's lookup tables and to the integer code query.
//
// Thread safety: pure functions.
// I1: only + - * / and truncation to integers, each value by itself, sums in a stated order: the
//     same bits on every target.
#pragma once

#include <cstdint>

#include "quant/layout.hpp"

namespace vicinal::quant {

// What the tables mean: a row's estimate is plane_scale * (sum of its entries * step + base).
struct PlaneTables {
  float step = 0;
  float base = 0;
  float residual2 = 0;  // sum over groups of r_g^2: lane g % 4, ascending g, then the lanes
};

// Groups that take part in the tables: those of the query, rounded up to four.
[[nodiscard]] constexpr std::uint32_t table_groups(std::uint32_t groups) noexcept {
  return (groups + 3) / 4 * 4;
}

// Writes table_groups(groups) tables of 16 bytes, as four words each. `query` has zeros beyond its
// D coordinates up to 4 * table_groups; their tables are zero.
//
// A group's 16 sums of +-q_0 +-q_1 +-q_2 +-q_3 span [-range / 2, range / 2]; one step for all
// groups, the largest range / 63. With E = round(range / step) the entries are round(sum / step + E
// / 2), so entry - E / 2 is the sum to within step / 2, and an entry and its mirror image (all
// signs flipped) add up to E exactly. The residuals of the 16 entries therefore have the mean zero
// by symmetry, and the base is -step / 2 * sum of E: nothing else is left to centre.
[[nodiscard]] PlaneTables build_plane_tables(const float* query, std::uint32_t groups,
                                             std::uint32_t* tables) noexcept;

// The largest |query_j| of a multiple of 8 floats.
[[nodiscard]] float largest_magnitude(const float* query, std::uint32_t coded_dim) noexcept;

// Rounds query_j * factor to the nearest integer, halves away from zero, and arranges the integers
// as chunks (kernels.hpp, "Code query"), zeros beyond a half's end. Integer: int8 or int16. Returns
// their sum.
template <class Integer>
std::int64_t build_code_query(const float* query, const CodeLayout& layout, float factor,
                              Integer* values) noexcept;
extern template std::int64_t build_code_query(const float*, const CodeLayout&, float,
                                              std::int8_t*) noexcept;
extern template std::int64_t build_code_query(const float*, const CodeLayout&, float,
                                              std::int16_t*) noexcept;

}  // namespace vicinal::quant
