#include "segment/version.hpp"

namespace vicinal::segment {

bool SegmentView::checked_rows_are_sound(std::uint32_t block) const noexcept {
  return !is_whole(block) || segment->checks()->rows_are_sound(*segment, block);
}

bool SegmentView::lacks_string(std::uint32_t row) const noexcept {
  SegmentChecks* checks = segment->checks();
  if (checks == nullptr) return false;  // of a file that was read; opening has looked at each row
  const std::size_t rows = segment->rows_offset(row / simd::kBlockRows);
  checks->damage().mark(checks->place().slab_position + rows);
  return false;
}

bool SegmentView::checked_plane_is_sound(std::uint32_t block) const noexcept {
  return !is_whole(block) || segment->checks()->plane_is_sound(*segment, block);
}

}  // namespace vicinal::segment
