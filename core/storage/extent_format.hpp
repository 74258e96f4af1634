// An extent: the record that holds a segment's slab and the sums of its blocks (docs/format.md).
//
// Thread safety: pure functions over bytes.
// I1: where an extent's parts lie follows from its position, its capacity and its slab's length.
//     What a reader finds elsewhere is CORRUPT.
// I2: a block's sums are written once, with the block, before the commit that shows it whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/log_format.hpp"
#include "vicinal/status.hpp"

namespace vicinal::storage {

inline constexpr std::size_t kExtentBodyBytes = 64;

// Both are exclusive-or'd with position_mix of where their first byte lies in the file.
struct BlockSums {
  std::uint64_t plane = 0;  // of the block's sign plane
  std::uint64_t row = 0;    // of its 32 rows' rests, then factors, then ids, chained by seeds
};
static_assert(sizeof(BlockSums) == 16);

struct Extent {
  std::uint32_t segment = 0;
  std::uint32_t capacity = 0;      // rows
  std::uint64_t slab_bytes = 0;
  std::uint64_t position = 0;      // of the record
  std::uint64_t slab = 0;          // positions in the file
  std::uint64_t sums = 0;

  [[nodiscard]] constexpr std::uint32_t blocks() const noexcept {
    return capacity / kFileBlockRows;
  }
  [[nodiscard]] constexpr std::uint64_t sums_position(std::uint32_t block) const noexcept {
    return sums + block * sizeof(BlockSums);
  }
  [[nodiscard]] constexpr std::uint64_t sums_bytes() const noexcept {
    const std::uint64_t bytes = blocks() * sizeof(BlockSums);
    return (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  }
  // Of the whole record.
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
    return sums + sums_bytes() - position;
  }
  [[nodiscard]] constexpr std::uint64_t end() const noexcept { return sums + sums_bytes(); }
};

[[nodiscard]] constexpr bool is_extent_capacity(std::uint32_t rows) noexcept {
  return rows >= kFileBlockRows && rows <= kFileSegmentRowsMax && rows % kFileBlockRows == 0;
}

// The extent that a record at `position` makes. `slab_bytes`: a multiple of kFilePageBytes.
[[nodiscard]] constexpr Extent extent_at(std::uint64_t position, std::uint32_t segment,
                                         std::uint32_t capacity,
                                         std::uint64_t slab_bytes) noexcept {
  const std::uint64_t slab = (position + kRecordHeaderBytes + kExtentBodyBytes +
                              kFilePageBytes - 1) / kFilePageBytes * kFilePageBytes;
  return {segment, capacity, slab_bytes, position, slab, slab + slab_bytes};
}

// Header and body: the record's first bytes. Returns the header's sum.
inline constexpr std::size_t kExtentHeadBytes = kRecordHeaderBytes + kExtentBodyBytes;
std::uint64_t write_extent(std::span<std::byte, kExtentHeadBytes> bytes, const Uuid& uuid,
                           const Extent& extent, std::uint64_t sequence,
                           std::uint64_t previous) noexcept;
// What an extent's body says, header and its body's sum being right. CORRUPT: parts that lie
// elsewhere (I1), no capacity, no segment number. The slab's length is still to be compared with
// what the segment's layout gives.
[[nodiscard]] Result<Extent> read_extent(const RecordHeader& header,
                                         std::span<const std::byte> body) noexcept;

}  // namespace vicinal::storage
