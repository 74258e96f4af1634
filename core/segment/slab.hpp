// Where the arrays of a segment lie in its slab: the same in memory and in a file.
//
// Thread safety: immutable values.
// I1: planes, rests, the three factors, ids, in this order, each aligned to 64 and followed by
//     simd::kOverread readable bytes; the whole is rounded up to pages. Files are made of it, so it
//     never changes.
// I2: a capacity is a multiple of 32 from 32 to 32,768.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/layout.hpp"
#include "simd/kernels.hpp"

namespace vicinal::segment {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::uint32_t kSegmentRowsMax = 32768;
inline constexpr std::uint32_t kSegmentBlocksMax = kSegmentRowsMax / simd::kBlockRows;

[[nodiscard]] constexpr bool is_capacity(std::uint32_t rows) noexcept {
  return rows != 0 && rows <= kSegmentRowsMax && rows % simd::kBlockRows == 0;
}

struct SlabLayout {
  // Offsets of the arrays; planes are at 0.
  std::size_t rests = 0;
  std::size_t scales = 0;
  std::size_t plane_scales = 0;
  std::size_t plane_cosines2 = 0;
  std::size_t ids = 0;
  std::size_t bytes = 0;  // of the slab

  SlabLayout() = default;
  SlabLayout(const quant::CodeLayout& layout, std::uint32_t capacity) noexcept;

  // Where a block's plane begins, and its rows: its rests, or its ids where rows have no rests.
  // These are the positions that sums are mixed with (block_sums.hpp).
  [[nodiscard]] static std::size_t plane_of(const quant::CodeLayout& layout,
                                            std::uint32_t block) noexcept {
    return block * layout.plane_block_bytes;
  }
  [[nodiscard]] std::size_t rows_of(const quant::CodeLayout& layout,
                                    std::uint32_t block) const noexcept {
    const std::size_t row = std::size_t{block} * simd::kBlockRows;
    return layout.rest_bytes != 0 ? rests + row * layout.rest_bytes
                                  : ids + row * sizeof(std::uint64_t);
  }
};

// Whose memory a segment or a table stands on that did not make it itself. Each object calls
// `leave` once, at its end, and touches neither memory nor owner afterwards. An owner may stand
// behind many objects and counts them itself. Called by whoever ends objects: the holder of the
// writer's token, or the last owner of an index.
struct MemoryOwner {
  void (*leave)(MemoryOwner* owner) noexcept = nullptr;
};

}  // namespace vicinal::segment
