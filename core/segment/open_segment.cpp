#include "segment/open_segment.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace vicinal::segment {

void OpenSegment::prepare(const quant::CodeLayout& layout, std::uint8_t* plane) noexcept {
  layout_ = layout;
  segment_ = nullptr;
  plane_ = plane;
}

void OpenSegment::load_plane(const std::uint8_t* plane) noexcept {
  std::memcpy(plane_, plane, layout_.plane_block_bytes);
}

void OpenSegment::store(std::uint32_t row, const std::uint8_t* packed_row,
                        const quant::RowFactors& factors, std::uint64_t id,
                        const std::uint8_t* original) noexcept {
  VICINAL_ASSERT(segment_ != nullptr && row < segment_->capacity());
  segment_->store_row(row, packed_row + layout_.sign_bytes, factors, id, original);
  const std::uint32_t lane = row % simd::kBlockRows;
  quant::put_signs(layout_, plane_, lane, packed_row);
  if (lane + 1 == simd::kBlockRows) {
    // segment.hpp I3: no published version shows this block whole, so none reads these bytes.
    std::memcpy(segment_->mutable_plane(row / simd::kBlockRows), plane_,
                layout_.plane_block_bytes);
    if (segment_->checks() != nullptr) segment_->checks()->trust(row / simd::kBlockRows);
  }
}

}  // namespace vicinal::segment
