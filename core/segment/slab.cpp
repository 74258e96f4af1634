#include "segment/slab.hpp"

#include "base/assert.hpp"
#include "base/bits.hpp"

namespace vicinal::segment {

SlabLayout::SlabLayout(const quant::CodeLayout& layout, std::uint32_t capacity) noexcept {
  VICINAL_ASSERT(is_capacity(capacity));
  std::size_t at = 0;
  const auto take = [&at](std::size_t bytes_taken) {
    const std::size_t start = at;
    at = round_up(at + bytes_taken + simd::kOverread, simd::kAlignment);
    return start;
  };
  take(capacity / simd::kBlockRows * layout.plane_block_bytes);
  rests = take(capacity * layout.rest_bytes);
  scales = take(capacity * sizeof(float));
  plane_scales = take(capacity * sizeof(float));
  plane_cosines2 = take(capacity * sizeof(float));
  ids = take(capacity * sizeof(std::uint64_t));
  bytes = round_up(at, kPageBytes);
}

}  // namespace vicinal::segment
