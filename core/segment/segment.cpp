#include "segment/segment.hpp"

#include <cstring>
#include <new>

#include "base/bits.hpp"
#include "sync/object_memory.hpp"

namespace vicinal::segment {

std::size_t Segment::slab_bytes(const quant::CodeLayout& layout, std::uint32_t capacity) noexcept {
  return SlabLayout(layout, capacity).bytes;
}

Segment* Segment::create(const quant::CodeLayout& layout, std::uint32_t number,
                         std::uint32_t capacity, std::size_t original_bytes) noexcept {
  const std::size_t bytes = slab_bytes(layout, capacity);
  void* memory = sync::map_zeroed(bytes);
  if (memory == nullptr) return nullptr;
  auto* segment = new (std::nothrow)
      Segment(layout, number, capacity, static_cast<std::uint8_t*>(memory));
  if (segment == nullptr) {
    sync::unmap(memory, bytes);
    return nullptr;
  }
  segment->bytes = bytes + OriginalRows::bytes_of(original_bytes, capacity) + sizeof(Segment);
  if (!segment->originals_.map(original_bytes, capacity)) {
    destroy_segment(segment);
    return nullptr;
  }
  return segment;
}

Segment* Segment::over(const quant::CodeLayout& layout, std::uint32_t number,
                       std::uint32_t capacity, const ForeignSlab& slab) noexcept {
  VICINAL_ASSERT(slab.start != nullptr && slab.owner != nullptr);
  auto* segment = new (std::nothrow) Segment(layout, number, capacity, slab.start);
  if (segment == nullptr) return nullptr;
  segment->owner_ = slab.owner;
  segment->writable_ = slab.writable;
  segment->checks_ = slab.checks;
  segment->bytes = slab.memory_bytes + sizeof(Segment) +
                   (slab.checks == nullptr ? 0 : sizeof(SegmentChecks));
  return segment;
}

Segment::Segment(const quant::CodeLayout& layout, std::uint32_t number, std::uint32_t capacity,
                 std::uint8_t* slab) noexcept
    : number_(number),
      capacity_(capacity),
      plane_block_bytes_(layout.plane_block_bytes),
      rest_bytes_(layout.rest_bytes),
      planes_(slab) {
  VICINAL_ASSERT(number < kSegmentsMax && is_capacity(capacity));
  VICINAL_ASSERT(reinterpret_cast<std::uintptr_t>(slab) % simd::kAlignment == 0);
  const SlabLayout at(layout, capacity);
  rests_ = slab + at.rests;
  scales_ = reinterpret_cast<float*>(slab + at.scales);
  plane_scales_ = reinterpret_cast<float*>(slab + at.plane_scales);
  plane_cosines2_ = reinterpret_cast<float*>(slab + at.plane_cosines2);
  ids_ = reinterpret_cast<std::uint64_t*>(slab + at.ids);
  slab_bytes_ = at.bytes;
  destroy = destroy_segment;
}

void Segment::destroy_segment(sync::Versioned* object) noexcept {
  auto* segment = static_cast<Segment*>(object);
  if (segment->checks_ != nullptr) SegmentChecks::destroy(segment->checks_);
  if (segment->owner_ == nullptr) {
    sync::unmap(segment->planes_, segment->slab_bytes_);
  } else {
    segment->owner_->leave(segment->owner_);
  }
  delete segment;
}

BlockBytes Segment::block(std::uint32_t block) const noexcept {
  VICINAL_DEBUG_ASSERT(block < capacity_ / simd::kBlockRows);
  const std::uint32_t row = block * simd::kBlockRows;
  return {plane(block),      plane_block_bytes_,   rest(row),
          simd::kBlockRows * rest_bytes_, scales_ + row, plane_scales_ + row,
          plane_cosines2_ + row,          ids_ + row};
}

std::size_t Segment::rows_offset(std::uint32_t block) const noexcept {
  const std::uint32_t row = block * simd::kBlockRows;
  const auto* rows =
      rest_bytes_ != 0 ? rest(row) : reinterpret_cast<const std::uint8_t*>(ids_ + row);
  return static_cast<std::size_t>(rows - planes_);
}

void Segment::store_row(std::uint32_t row, const std::uint8_t* rest,
                        const quant::RowFactors& factors, std::uint64_t id,
                        const std::uint8_t* original) noexcept {
  VICINAL_ASSERT(row < capacity_ && writable_);
  originals_.store(row, original);
  if (rest_bytes_ != 0) std::memcpy(rests_ + row * rest_bytes_, rest, rest_bytes_);
  scales_[row] = factors.scale;
  plane_scales_[row] = factors.plane_scale;
  plane_cosines2_[row] = factors.plane_cosine2;
  ids_[row] = id;
}

std::size_t Segment::touched_bytes(std::uint32_t rows) const noexcept {
  if (foreign()) return bytes;  // what its owner counts
  return slab_touched_bytes(rows) + sizeof(Segment);
}

std::size_t Segment::slab_touched_bytes(std::uint32_t rows) const noexcept {
  VICINAL_ASSERT(rows <= capacity_);
  const std::size_t blocks = divide_up(rows, simd::kBlockRows);
  std::size_t pages = 0;
  const auto add = [&](const void* array, std::size_t bytes) {
    // Arrays share the pages at their ends; each such page is counted with the array that starts in
    // it only if it does not begin there.
    const auto from = static_cast<std::size_t>(static_cast<const std::uint8_t*>(array) - planes_);
    if (bytes != 0) pages += divide_up(from % kPageBytes + bytes, kPageBytes);
  };
  add(planes_, blocks * plane_block_bytes_);
  add(rests_, rows * rest_bytes_);
  add(scales_, rows * sizeof(float));
  add(plane_scales_, rows * sizeof(float));
  add(plane_cosines2_, rows * sizeof(float));
  add(ids_, rows * sizeof(std::uint64_t));
  const std::size_t touched = pages * kPageBytes;
  return touched < slab_bytes_ ? touched : slab_bytes_;
}

}  // namespace vicinal::segment
