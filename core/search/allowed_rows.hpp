// The rows that a filter's list of ids allows, as lane masks by block.
//
// Thread safety: belongs to one thread.
// I1: the cost of `resolve` and `clear` follows the number of ids, whatever the version's size.
// I2: every block with a mask that is not 0 is listed once. Bits may belong to rows that a version
//     does not show or no longer has: whoever walks joins them with the version's own lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/aligned_buffer.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"

namespace vicinal::search {

inline constexpr std::uint32_t kSegmentBlocks = segment::kSegmentRowsMax / simd::kBlockRows;

// A filter's masks as the walks read them.
struct AllowedBlocks {
  const std::uint32_t* masks = nullptr;  // by segment number * kSegmentBlocks + block
  // Blocks with a mask that is not 0, or an empty list where only `masks` are known.
  std::span<const std::uint32_t> blocks;

  [[nodiscard]] std::uint32_t lanes(std::uint32_t segment, std::uint32_t block) const noexcept {
    return masks[std::size_t{segment} * kSegmentBlocks + block];
  }
};

class AllowedRows {
 public:
  // The words of `masks` are all 0 and will be again when this object is gone.
  AllowedRows(AlignedBuffer& masks, AlignedBuffer& touched) noexcept
      : masks_buffer_(masks), touched_buffer_(touched) {}
  AllowedRows(const AllowedRows&) = delete;
  AllowedRows& operator=(const AllowedRows&) = delete;
  ~AllowedRows() { clear(); }

  // Forgets what was allowed and allows the version's rows of these ids. Unknown ids are ignored,
  // duplicates count once. FULL without memory: nothing is allowed.
  Status resolve(const segment::Version& version, std::span<const std::uint64_t> ids) noexcept;
  Status resolve(const segment::Version& version,
                 std::span<const std::string_view> strings) noexcept;
  Status resolve(const segment::Version& version,
                 std::span<const segment::StringKey> keys) noexcept;
  // Makes room for rows of segments below `segment_end` in at most `blocks` blocks; what was
  // allowed stays. FULL.
  Status grow(std::uint32_t segment_end, std::size_t blocks) noexcept;
  // A row of a segment that there is room for.
  void allow(segment::Slot slot) noexcept;
  // Lists the blocks in ascending order, so that a walk of them reads memory forwards.
  void sort_blocks() noexcept;

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  // Blocks that hold an allowed row: segment number * kSegmentBlocks + block, in no useful order.
  [[nodiscard]] std::span<const std::uint32_t> blocks() const noexcept {
    return {touched_, touched_count_};
  }
  // Until the next call of another method.
  [[nodiscard]] AllowedBlocks view() const noexcept { return {masks_, blocks()}; }

 private:
  void clear() noexcept;
  template <class KeyOf>
  Status resolve_keys(const segment::Version& version, std::size_t count, KeyOf key_of) noexcept;

  AlignedBuffer& masks_buffer_;
  AlignedBuffer& touched_buffer_;
  std::uint32_t* masks_ = nullptr;
  std::uint32_t* touched_ = nullptr;
  std::size_t touched_count_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace vicinal::search
