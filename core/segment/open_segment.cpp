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
                        const quant::RowFactors& factors, std::uint64_t id) noexcept {
  VICINAL_ASSERT(segment_ != nullptr && row < segment_->capacity());
  segment_->store_row(row, packed_row + layout_.sign_bytes, factors, id);
  const std::uint32_t lane = row % simd::kBlockRows;
  std::uint8_t* plane = plane_ + lane % 16;
  const int shift = lane < 16 ? 0 : 4;
  const auto keep = static_cast<std::uint8_t>(lane < 16 ? 0xf0 : 0x0f);
  quant::for_each_sign_nibble(
      packed_row, layout_.groups, [&](std::uint32_t group, std::uint8_t nibble) {
        std::uint8_t& byte = plane[group * simd::kGroupBytes];
        byte = static_cast<std::uint8_t>((byte & keep) | nibble << shift);
      });
  if (lane + 1 == simd::kBlockRows) {
    // segment.hpp I3: no published version shows this block whole, so none reads these bytes.
    std::memcpy(segment_->mutable_plane(row / simd::kBlockRows), plane_,
                layout_.plane_block_bytes);
  }
}

}  // namespace vicinal::segment
