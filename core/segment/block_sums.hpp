// The two sums that a file keeps of every whole block.
//
// Thread safety: pure functions.
// I1: a sum depends on the file and on the place in it, so that a block that stands where another
//     belongs, or comes from another file, is damage like a flipped bit.
//       plane sum = XXH3 over the plane, then the scales, plane scales and plane cosines of the 32
//                   rows, each one's sum the seed of the next, the first seed 0
//                   ^ mix(uuid, position of the plane)
//       row sum   = XXH3 over the rests of the 32 rows, then their ids, chained the same way (rows
//                   without rests begin with no bytes) ^ mix(uuid, position of the rests, or of the
//                   ids where rows have no rests)
//     So a search compares only what it reads of every block, and the rows of the few blocks from
//     which it scores any.
//     Positions are in bytes from the file's start (SlabLayout::plane_of, rows_of).
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/extent_format.hpp"

namespace vicinal::segment {

// The arrays of one block; sizes in bytes.
struct BlockBytes {
  const std::uint8_t* plane = nullptr;
  std::size_t plane_bytes = 0;
  const std::uint8_t* rests = nullptr;
  std::size_t rests_bytes = 0;  // of all 32 rows
  const float* scales = nullptr;
  const float* plane_scales = nullptr;
  const float* plane_cosines2 = nullptr;
  const std::uint64_t* ids = nullptr;
};

// `uuid_head`: storage::head_of the file's uuid.
[[nodiscard]] std::uint64_t plane_sum(const BlockBytes& block, std::uint64_t uuid_head,
                                      std::uint64_t plane_position) noexcept;
[[nodiscard]] std::uint64_t row_sum(const BlockBytes& block, std::uint64_t uuid_head,
                                    std::uint64_t rows_position) noexcept;

}  // namespace vicinal::segment
