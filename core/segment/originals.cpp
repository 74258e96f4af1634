#include "segment/originals.hpp"

#include <cstring>

#include "base/bits.hpp"
#include "segment/slab.hpp"
#include "sync/object_memory.hpp"

namespace vicinal::segment {

std::size_t OriginalRows::bytes_of(std::size_t row_bytes, std::uint32_t capacity) noexcept {
  return round_up(row_bytes * capacity, kPageBytes);
}

OriginalRows::~OriginalRows() {
  if (any()) sync::unmap(rows_, bytes_of(row_bytes_, capacity_));
}

bool OriginalRows::map(std::size_t row_bytes, std::uint32_t capacity) noexcept {
  VICINAL_ASSERT(!any());
  if (row_bytes == 0) return true;
  rows_ = static_cast<std::uint8_t*>(sync::map_zeroed(bytes_of(row_bytes, capacity)));
  row_bytes_ = row_bytes;
  capacity_ = capacity;
  return any();
}

void OriginalRows::store(std::uint32_t row, const std::uint8_t* bytes) noexcept {
  if (!any()) return;
  VICINAL_ASSERT(row < capacity_ && bytes != nullptr);
  std::memcpy(rows_ + row * row_bytes_, bytes, row_bytes_);
}

}  // namespace vicinal::segment
