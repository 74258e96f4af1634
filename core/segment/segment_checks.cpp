#include "segment/segment_checks.hpp"

#include <new>

#include "base/assert.hpp"
#include "segment/block_sums.hpp"
#include "segment/segment.hpp"

namespace vicinal::segment {

void Damage::mark(std::uint64_t position) noexcept {
  VICINAL_ASSERT(position != 0);
  std::uint64_t none = 0;
  (void)where_.compare_exchange(none, position, sync::relaxed, sync::relaxed);  // I3
}

SegmentChecks* SegmentChecks::create(const Place& place, const quant::FactorLimits& limits,
                                     Damage& damage) noexcept {
  VICINAL_ASSERT(place.sums != nullptr && place.slab_position != 0);
  return new (std::nothrow) SegmentChecks(place, limits, damage);
}

void SegmentChecks::destroy(SegmentChecks* checks) noexcept { delete checks; }

void SegmentChecks::trust(std::uint32_t block) noexcept {
  VICINAL_ASSERT(block < kSegmentBlocksMax);
  set(planes_, block);
  set(rows_, block);
}

bool SegmentChecks::compare_plane(const Segment& segment, std::uint32_t block) noexcept {
  const std::uint64_t position = place_.slab_position + segment.plane_offset(block);
  bool sound =
      plane_sum(segment.block(block), place_.uuid_head, position) == place_.sums[block].plane;
  const std::uint32_t first = block * simd::kBlockRows;
  for (std::uint32_t row = first; sound && row < first + simd::kBlockRows; ++row) {
    sound = limits_.hold_for(segment.factors(row));
  }
  if (!sound) {
    damage_.mark(position);
    return false;
  }
  set(planes_, block);
  return true;
}

bool SegmentChecks::compare_rows(const Segment& segment, std::uint32_t block) noexcept {
  const std::uint64_t position = place_.slab_position + segment.rows_offset(block);
  if (row_sum(segment.block(block), place_.uuid_head, position) != place_.sums[block].row) {
    damage_.mark(position);
    return false;
  }
  set(rows_, block);
  return true;
}

}  // namespace vicinal::segment
