#include "support/kernel_defects.hpp"

#include <cstring>
#include <vector>

namespace vicinal::test {
namespace {

using simd::CodeQuery;
using simd::Kernels;
using simd::Levels;
using simd::PlaneBlocks;
using simd::PlaneQuery;
using simd::PlaneScan;
using simd::QuantiseSums;

const Kernels& scalar() { return *simd::find_kernels("scalar"); }

void drop_last_group(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  for (std::uint32_t q = 0; q < queries; ++q) {
    PlaneQuery shorter = *scans[q].query;
    shorter.groups -= 1;
    PlaneScan scan = scans[q];
    scan.query = &shorter;
    scalar().plane_scan(blocks, &scan, 1);
  }
}

void lose_ties(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  scalar().plane_scan(blocks, scans, queries);
  for (std::uint32_t row = 0; row < blocks.count * simd::kBlockRows; ++row) {
    const PlaneScan& scan = scans[0];
    const std::uint32_t lane = 1u << row % simd::kBlockRows;
    if (scan.upper[row] == scan.threshold) scan.reached[row / simd::kBlockRows] &= ~lane;
  }
}

void ignore_lanes(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  const std::vector<std::uint32_t> every(blocks.count, ~0u);
  PlaneBlocks all = blocks;
  all.lanes = every.data();
  scalar().plane_scan(all, scans, queries);
}

void mix_up_queries(const PlaneBlocks& blocks, const PlaneScan* scans, std::uint32_t queries) {
  scalar().plane_scan(blocks, scans, queries);
  if (queries < 3) return;
  PlaneScan third = scans[2];
  third.query = scans[1].query;
  scalar().plane_scan(blocks, &third, 1);
}

void stay_at_the_first_block(const PlaneBlocks& blocks, const PlaneScan* scans,
                             std::uint32_t queries) {
  PlaneBlocks still = blocks;
  still.plane_bytes = 0;
  scalar().plane_scan(still, scans, queries);
}

std::int64_t mistake_lane_31(const std::uint8_t* plane, std::uint32_t lane,
                             const std::uint8_t* rest, const CodeQuery& query,
                             const Levels& levels) {
  const std::uint32_t index = simd::bits_index(levels.bits);
  return scalar().code_dot[index](plane, lane == 31 ? 15 : lane, rest, query, levels);
}

std::int64_t wrap_at_32_bits(const std::uint8_t* plane, std::uint32_t lane,
                             const std::uint8_t* rest, const CodeQuery& query,
                             const Levels& levels) {
  return static_cast<std::int32_t>(scalar().code_dot[4](plane, lane, rest, query, levels));
}

void dots_of_the_lower_half(const std::uint8_t* plane, std::uint32_t lanes,
                            const std::uint8_t* rests, std::size_t rest_bytes,
                            const CodeQuery& query, const Levels& levels, std::int64_t* dots) {
  scalar().code_dots[3](plane, lanes & 0xffff, rests, rest_bytes, query, levels, dots);
}

// Multiplies before the last butterfly: equal in real numbers, not in floats.
void scale_early(float* x, std::uint32_t n, float scale) {
  for (std::uint32_t i = 0; i < n; ++i) x[i] *= scale;
  scalar().fwht(x, n, 1.0f);
}

// Adds up in one lane instead of sixteen.
QuantiseSums add_in_one_lane(const float* u, std::uint32_t coded_dim, const Levels& levels,
                             std::uint8_t* codes) {
  QuantiseSums sums = scalar().quantise(u, coded_dim, levels, codes);
  sums.absolute = 0;
  for (std::uint32_t j = 0; j < coded_dim; ++j) sums.absolute += u[j] < 0 ? -u[j] : u[j];
  return sums;
}

QuantiseSums call_minus_zero_negative(const float* u, std::uint32_t coded_dim,
                                      const Levels& levels, std::uint8_t* codes) {
  const QuantiseSums sums = scalar().quantise(u, coded_dim, levels, codes);
  for (std::uint32_t j = 0; j < coded_dim; ++j) {
    const float minus_zero = -0.0f;
    if (std::memcmp(&u[j], &minus_zero, sizeof(float)) == 0) {
      codes[j] = static_cast<std::uint8_t>(codes[j] & ~(1u << (levels.bits - 1)));
    }
  }
  return sums;
}

// Adds up in one lane instead of sixteen.
simd::OriginalSums add_originals_in_order(const float* query, const void* row,
                                          std::uint32_t dim) {
  const auto* x = static_cast<const std::uint8_t*>(row);
  simd::OriginalSums sums;
  for (std::uint32_t j = 0; j < dim; ++j) {
    float value = 0;
    std::memcpy(&value, x + j * sizeof value, sizeof value);
    sums.dot += double{query[j]} * double{value};
    sums.square += double{value} * double{value};
  }
  return sums;
}

// A kernel of whole vectors that forgets the last coordinates.
double forget_the_last_coordinates(const float* query, const void* row, std::uint32_t dim) {
  return scalar().original_distance[0](query, row, dim / 16 * 16);
}

Kernels with(void (*change)(Kernels&)) {
  Kernels kernels = scalar();
  change(kernels);
  return kernels;
}

}  // namespace

std::span<const KernelDefect> kernel_defects() {
  static const KernelDefect kDefects[] = {
      {"drop_last_group", "plane_scan", with([](Kernels& k) { k.plane_scan = drop_last_group; })},
      {"lose_ties", "plane_scan", with([](Kernels& k) { k.plane_scan = lose_ties; })},
      {"ignore_lanes", "plane_scan", with([](Kernels& k) { k.plane_scan = ignore_lanes; })},
      {"mix_up_queries", "plane_scan", with([](Kernels& k) { k.plane_scan = mix_up_queries; })},
      {"stay_at_the_first_block", "plane_scan",
       with([](Kernels& k) { k.plane_scan = stay_at_the_first_block; })},
      {"dots_of_the_lower_half", "code_dots",
       with([](Kernels& k) { k.code_dots[3] = dots_of_the_lower_half; })},
      {"mistake_lane_31", "code_dot", with([](Kernels& k) { k.code_dot[3] = mistake_lane_31; })},
      {"wrap_at_32_bits", "code_dot", with([](Kernels& k) { k.code_dot[4] = wrap_at_32_bits; })},
      {"scale_early", "fwht", with([](Kernels& k) { k.fwht = scale_early; })},
      {"add_in_one_lane", "quantise", with([](Kernels& k) { k.quantise = add_in_one_lane; })},
      {"call_minus_zero_negative", "quantise",
       with([](Kernels& k) { k.quantise = call_minus_zero_negative; })},
      {"add_originals_in_order", "original_dots",
       with([](Kernels& k) { k.original_dots[1] = add_originals_in_order; })},
      {"forget_the_last_coordinates", "original_distance",
       with([](Kernels& k) { k.original_distance[0] = forget_the_last_coordinates; })},
  };
  return kDefects;
}

}  // namespace vicinal::test
