// A segment that is being filled: its slab, and the plane of the block that is not full yet.
//
// Thread safety: the holder of the writer's token.
// I1: rows come in ascending order; a row's number is the caller's to count.
// I2: the plane of a block goes into the slab with the block's 32nd row, and is a copy of its own
//     before that (segment.hpp I3).
#pragma once

#include <cstdint>

#include "quant/layout.hpp"
#include "segment/segment.hpp"

namespace vicinal::segment {

class OpenSegment {
 public:
  // Before anything else: nothing is open. `plane`: room for a block's plane and the overread.
  void prepare(const quant::CodeLayout& layout, std::uint8_t* plane) noexcept;

  // Null: nothing is open.
  [[nodiscard]] Segment* segment() const noexcept { return segment_; }
  // Takes rows of another segment, or of none, from now on. One that has rows of a block that is
  // not full needs `load_plane` before its next row.
  void turn_to(Segment* segment) noexcept { segment_ = segment; }
  void load_plane(const std::uint8_t* plane) noexcept;
  // The plane of the block that is not full, for a version's tail.
  [[nodiscard]] const std::uint8_t* plane() const noexcept { return plane_; }

  // `original`: not read where none are kept.
  void store(std::uint32_t row, const std::uint8_t* packed_row, const quant::RowFactors& factors,
             std::uint64_t id, const std::uint8_t* original) noexcept;

 private:
  quant::CodeLayout layout_;
  Segment* segment_ = nullptr;
  std::uint8_t* plane_ = nullptr;
};

}  // namespace vicinal::segment
