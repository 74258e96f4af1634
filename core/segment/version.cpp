#include "segment/version.hpp"

namespace vicinal::segment {

bool SegmentView::checked_rows_are_sound(std::uint32_t block) const noexcept {
  return !is_whole(block) || segment->checks()->rows_are_sound(*segment, block);
}

bool SegmentView::checked_plane_is_sound(std::uint32_t block) const noexcept {
  return !is_whole(block) || segment->checks()->plane_is_sound(*segment, block);
}

}  // namespace vicinal::segment
