#include "segment/segment.hpp"

#include <cstring>
#include <new>

#include "base/bits.hpp"
#include "sync/object_memory.hpp"

namespace vicinal::segment {
namespace {

constexpr std::size_t kPageBytes = 4096;

// Offsets of a slab's arrays, each aligned and followed by the overread.
struct SlabLayout {
  std::size_t rests, scales, plane_scales, plane_cosines2, ids, bytes;

  SlabLayout(const quant::CodeLayout& layout, std::uint32_t capacity) noexcept {
    std::size_t at = 0;
    const auto take = [&at](std::size_t bytes) {
      const std::size_t start = at;
      at = round_up(at + bytes + simd::kOverread, simd::kAlignment);
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
};

}  // namespace

std::size_t Segment::slab_bytes(const quant::CodeLayout& layout, std::uint32_t capacity) noexcept {
  return SlabLayout(layout, capacity).bytes;
}

Segment* Segment::create(const quant::CodeLayout& layout, std::uint32_t number,
                         std::uint32_t capacity) noexcept {
  VICINAL_ASSERT(number < kSegmentsMax);
  VICINAL_ASSERT(capacity >= kSegmentRowsMin && capacity <= kSegmentRowsMax &&
                 (capacity & (capacity - 1)) == 0);
  const SlabLayout slab(layout, capacity);
  void* memory = sync::map_zeroed(slab.bytes);
  if (memory == nullptr) return nullptr;
  auto* segment = new (std::nothrow) Segment;
  if (segment == nullptr) {
    sync::unmap(memory, slab.bytes);
    return nullptr;
  }
  auto* start = static_cast<std::uint8_t*>(memory);
  segment->number_ = number;
  segment->capacity_ = capacity;
  segment->plane_block_bytes_ = layout.plane_block_bytes;
  segment->rest_bytes_ = layout.rest_bytes;
  segment->planes_ = start;
  segment->rests_ = start + slab.rests;
  segment->scales_ = reinterpret_cast<float*>(start + slab.scales);
  segment->plane_scales_ = reinterpret_cast<float*>(start + slab.plane_scales);
  segment->plane_cosines2_ = reinterpret_cast<float*>(start + slab.plane_cosines2);
  segment->ids_ = reinterpret_cast<std::uint64_t*>(start + slab.ids);
  segment->slab_bytes_ = slab.bytes;
  segment->bytes = slab.bytes + sizeof(Segment);
  segment->destroy = destroy_segment;
  return segment;
}

void Segment::destroy_segment(sync::Versioned* object) noexcept {
  auto* segment = static_cast<Segment*>(object);
  sync::unmap(segment->planes_, segment->slab_bytes_);
  delete segment;
}

void Segment::store_row(std::uint32_t row, const std::uint8_t* rest,
                        const quant::RowFactors& factors, std::uint64_t id) noexcept {
  VICINAL_ASSERT(row < capacity_);
  if (rest_bytes_ != 0) std::memcpy(rests_ + row * rest_bytes_, rest, rest_bytes_);
  scales_[row] = factors.scale;
  plane_scales_[row] = factors.plane_scale;
  plane_cosines2_[row] = factors.plane_cosine2;
  ids_[row] = id;
}

std::size_t Segment::touched_bytes(std::uint32_t rows) const noexcept {
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
  return (touched < slab_bytes_ ? touched : slab_bytes_) + sizeof(Segment);
}

}  // namespace vicinal::segment
