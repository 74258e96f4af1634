// The rows of a segment as their callers gave them, beside its slab.
//
// Thread safety: as the segment's (segment.hpp): the writer fills rows that no published version
// shows, and what a version shows never changes. That a version is published orders the row's bytes
// before whoever reads them through it, as those of the slab.
// I1: a row is written once, before the version that first shows it is published.
// I2: row i begins at i * row_bytes; whoever reads one reads no byte behind it, where the writer
//     may be filling the next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"

namespace vicinal::segment {

class OriginalRows {
 public:
  // Of an index that keeps none.
  OriginalRows() = default;
  OriginalRows(const OriginalRows&) = delete;
  OriginalRows& operator=(const OriginalRows&) = delete;
  ~OriginalRows();

  // Address space for so many rows of `row_bytes` each, in whole pages; 0 for none.
  [[nodiscard]] static std::size_t bytes_of(std::size_t row_bytes, std::uint32_t capacity) noexcept;
  // Once, before anything else. False without memory. `row_bytes` 0: nothing is kept.
  [[nodiscard]] bool map(std::size_t row_bytes, std::uint32_t capacity) noexcept;

  [[nodiscard]] bool any() const noexcept { return rows_ != nullptr; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] const std::uint8_t* row(std::uint32_t row) const noexcept {
    VICINAL_DEBUG_ASSERT(any() && row < capacity_);
    return rows_ + row * row_bytes_;
  }
  // The writer's. `bytes`: row_bytes, not read where nothing is kept.
  void store(std::uint32_t row, const std::uint8_t* bytes) noexcept;

  // Memory that `rows` rows touch, in whole pages.
  [[nodiscard]] std::size_t touched_bytes(std::uint32_t rows) const noexcept {
    return bytes_of(row_bytes_, rows);
  }

 private:
  std::uint8_t* rows_ = nullptr;
  std::size_t row_bytes_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace vicinal::segment
