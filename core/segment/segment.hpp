// A slab of rows: sign planes by block, then each row's magnitudes, factors and id.
//
// Thread safety: the writer fills rows that no published version shows; what a version shows never
// changes. Readers read only rows below the count of their version's view.
// I1: capacity is a multiple of 32 from 32 to 32,768, chosen when the segment is made; nothing may
//     assume one size. Those that a builder opens have powers of two from 128.
// I2: a row is written once, before the version that first shows it is published.
// I3: the plane of a block is written when its 32nd row is, so a version that shows only part of a
//     block brings a copy of its plane (TailPlane); two rows share a byte there, all else is a
//     row's own.
// I4: every array is aligned to 64 and followed by simd::kOverread readable bytes (slab.hpp).
// I5: a slab is the segment's own, or somebody else's: a mapped file, or memory that one was read
//     into. Such a one may be read-only, and then takes no rows; and it may have checks: then what
//     lies in a whole block is used only after they have found it sound (segment_checks.hpp).
// I6: a segment is sealed once, at most, with the rows that it has then, by the writer, when it
//     knows that there will be no more. The count alone says it, so that relaxed order is enough:
//     whoever has a view of as many rows has all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "quant/layout.hpp"
#include "segment/block_sums.hpp"
#include "segment/originals.hpp"
#include "segment/segment_checks.hpp"
#include "segment/slab.hpp"
#include "simd/kernels.hpp"
#include "sync/atomic.hpp"
#include "sync/versioned.hpp"

namespace vicinal::segment {

inline constexpr std::uint32_t kSegmentRowsMin = 128;  // of those that a builder opens
inline constexpr std::uint32_t kSlotRowBits = 15;
inline constexpr std::uint32_t kSegmentsMax = std::uint32_t{1} << (32 - kSlotRowBits);
static_assert(std::uint32_t{1} << kSlotRowBits == kSegmentRowsMax);

// Where a row lives: segment number and row, in 32 bits. The last one is never used.
struct Slot {
  std::uint32_t value = ~std::uint32_t{0};

  static constexpr Slot of(std::uint32_t segment, std::uint32_t row) noexcept {
    return {segment << kSlotRowBits | row};
  }
  [[nodiscard]] constexpr std::uint32_t segment() const noexcept { return value >> kSlotRowBits; }
  [[nodiscard]] constexpr std::uint32_t row() const noexcept {
    return value & (kSegmentRowsMax - 1);
  }
  [[nodiscard]] constexpr bool valid() const noexcept { return value != ~std::uint32_t{0}; }
  friend constexpr bool operator==(Slot, Slot) noexcept = default;
};

// A slab that a segment did not make.
struct ForeignSlab {
  std::uint8_t* start = nullptr;  // aligned to 64; SlabLayout(layout, capacity).bytes of it
  bool writable = false;          // `start` is never written through where not
  MemoryOwner* owner = nullptr;   // told at the segment's end
  SegmentChecks* checks = nullptr;  // or null; the segment's from now on
  std::size_t memory_bytes = 0;     // what the slab counts for in the memory budget
};

class Segment : public sync::Versioned {
 public:
  // Null without memory. `number` is its place in the directory of every version that shows it.
  // `original_bytes`: of a row as its caller gave it; 0 where none are kept.
  [[nodiscard]] static Segment* create(const quant::CodeLayout& layout, std::uint32_t number,
                                       std::uint32_t capacity,
                                       std::size_t original_bytes = 0) noexcept;
  // The same over somebody else's slab; the caller has checked number and capacity. Null without
  // memory: owner and checks are then still the caller's to end.
  [[nodiscard]] static Segment* over(const quant::CodeLayout& layout, std::uint32_t number,
                                     std::uint32_t capacity, const ForeignSlab& slab) noexcept;
  static void destroy_segment(sync::Versioned* segment) noexcept;

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

  // The whole block's plane; valid for blocks whose 32 rows a version shows.
  [[nodiscard]] const std::uint8_t* plane(std::uint32_t block) const noexcept {
    VICINAL_DEBUG_ASSERT(block < capacity_ / simd::kBlockRows);
    return planes_ + block * plane_block_bytes_;
  }
  [[nodiscard]] const std::uint8_t* rest(std::uint32_t row) const noexcept {
    VICINAL_DEBUG_ASSERT(row < capacity_);
    return rests_ + row * rest_bytes_;
  }
  [[nodiscard]] const float* scales() const noexcept { return scales_; }
  [[nodiscard]] const float* plane_scales() const noexcept { return plane_scales_; }
  [[nodiscard]] const float* plane_cosines2() const noexcept { return plane_cosines2_; }
  [[nodiscard]] const std::uint64_t* ids() const noexcept { return ids_; }
  [[nodiscard]] quant::RowFactors factors(std::uint32_t row) const noexcept {
    return {scales_[row], plane_scales_[row], plane_cosines2_[row]};
  }

  [[nodiscard]] const OriginalRows& originals() const noexcept { return originals_; }

  // I5. Null for a segment of this process's own memory.
  [[nodiscard]] SegmentChecks* checks() const noexcept { return checks_; }
  [[nodiscard]] bool writable() const noexcept { return writable_; }
  [[nodiscard]] bool foreign() const noexcept { return owner_ != nullptr; }
  [[nodiscard]] MemoryOwner* owner() const noexcept { return owner_; }
  [[nodiscard]] const std::uint8_t* slab() const noexcept { return planes_; }
  // Where its slab is in a file, by whoever attaches it; 0: nowhere.
  [[nodiscard]] std::uint64_t file_position() const noexcept { return file_position_; }
  void set_file_position(std::uint64_t position) noexcept { file_position_ = position; }
  // A block's arrays and where they begin in the slab, for its sums.
  [[nodiscard]] BlockBytes block(std::uint32_t block) const noexcept;
  [[nodiscard]] std::size_t plane_offset(std::uint32_t block) const noexcept {
    return block * plane_block_bytes_;
  }
  [[nodiscard]] std::size_t rows_offset(std::uint32_t block) const noexcept;

  // I6. kNotSealed before.
  static constexpr std::uint32_t kNotSealed = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t sealed_rows() const noexcept {
    return sealed_rows_.load(sync::relaxed);  // [sealed]
  }
  void seal(std::uint32_t rows) noexcept { sealed_rows_.store(rows, sync::relaxed); }  // [sealed]

  // The writer's side, of a writable segment.
  [[nodiscard]] std::uint8_t* mutable_slab() noexcept {
    VICINAL_ASSERT(writable_);
    return planes_;
  }
  [[nodiscard]] std::uint8_t* mutable_plane(std::uint32_t block) noexcept {
    VICINAL_ASSERT(writable_);
    return planes_ + block * plane_block_bytes_;
  }
  void store_row(std::uint32_t row, const std::uint8_t* rest, const quant::RowFactors& factors,
                 std::uint64_t id, const std::uint8_t* original = nullptr) noexcept;

  // Memory that `rows` rows touch, without their originals, in whole pages; what the figures count.
  [[nodiscard]] std::size_t touched_bytes(std::uint32_t rows) const noexcept;
  // The same of its slab, whosever that is.
  [[nodiscard]] std::size_t slab_touched_bytes(std::uint32_t rows) const noexcept;
  // Address space that the slab of a segment of this capacity takes.
  [[nodiscard]] static std::size_t slab_bytes(const quant::CodeLayout& layout,
                                              std::uint32_t capacity) noexcept;

 private:
  Segment(const quant::CodeLayout& layout, std::uint32_t number, std::uint32_t capacity,
          std::uint8_t* slab) noexcept;
  ~Segment() = default;

  std::uint32_t number_ = 0;
  std::uint32_t capacity_ = 0;
  std::size_t plane_block_bytes_ = 0;
  std::size_t rest_bytes_ = 0;
  std::uint8_t* planes_ = nullptr;  // the slab's start
  std::uint8_t* rests_ = nullptr;
  float* scales_ = nullptr;
  float* plane_scales_ = nullptr;
  float* plane_cosines2_ = nullptr;
  std::uint64_t* ids_ = nullptr;
  OriginalRows originals_;
  SegmentChecks* checks_ = nullptr;
  std::size_t slab_bytes_ = 0;
  MemoryOwner* owner_ = nullptr;  // null: the slab is our own
  std::uint64_t file_position_ = 0;
  bool writable_ = true;
  sync::Atomic<std::uint32_t> sealed_rows_{kNotSealed};
};

}  // namespace vicinal::segment
