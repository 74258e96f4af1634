#include "simd/bound.hpp"
#include "simd/scalar/functions.hpp"

namespace vicinal::simd::scalar {
namespace {

void sum_rows(const std::uint8_t* plane, const PlaneQuery& query, std::uint32_t* sums) noexcept {
  constexpr std::uint32_t kHalfRows = kBlockRows / 2;
  for (std::uint32_t group = 0; group < query.groups; ++group) {
    const std::uint8_t* signs = plane + group * kGroupBytes;
    const std::uint8_t* table = query.tables + group * kGroupBytes;
    for (std::uint32_t j = 0; j < kHalfRows; ++j) {
      sums[j] += table[signs[j] & 15];
      sums[j + kHalfRows] += table[signs[j] >> 4];
    }
  }
}

void scan_block(const PlaneBlocks& blocks, std::uint32_t block, const PlaneScan& scan) noexcept {
  std::uint32_t sums[kBlockRows] = {};
  sum_rows(blocks.planes + block * blocks.plane_bytes, *scan.query, sums);
  std::uint32_t reached = 0;
  for (std::uint32_t lane = 0; lane < kBlockRows; ++lane) {
    const std::uint32_t row = block * kBlockRows + lane;
    scan.upper[row] = upper_bound(sums[lane], *scan.query, blocks.plane_scales[row],
                                  blocks.plane_cosines2[row]);
    // "Not below" rather than "at least": a bound that is not a number must never hide a row.
    if (!(scan.upper[row] < scan.threshold)) reached |= std::uint32_t{1} << lane;
  }
  scan.reached[block] = reached & blocks.lanes[block];
}

}  // namespace

void plane_scan(const PlaneBlocks& blocks, const PlaneScan* scans,
                std::uint32_t queries) noexcept {
  for (std::uint32_t block = 0; block < blocks.count; ++block) {
    for (std::uint32_t q = 0; q < queries; ++q) scan_block(blocks, block, scans[q]);
  }
}

}  // namespace vicinal::simd::scalar
