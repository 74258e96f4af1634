// Which blocks of a segment that lies in a file have been compared with their sums, and what is
// known of damage.
//
// Thread safety: any thread, at any time while it may read the segment.
// I1: a block is compared before anything in it is used, once in a process: a bit says that its
//     plane and factors, and another that its rests and ids, were as they were written, and that
//     the factors are within their limits: whoever made the file may have made its sums, too. Two
//     threads that come first may both compare; they find the same.
// I2: the bits order nothing. The bytes of a block were in place before the version that shows them
//     whole was published, and no bit changes what they are; a thread that overlooks a bit compares
//     once more.
// I3: damage is never forgotten. Whoever meets it says so before it goes on without the block, and
//     an operation looks at `Damage` after its last use of a segment: on the same thread, or behind
//     the release of a helper's chunk [chunk-done], so that relaxed is enough. An answer that left
//     a block out is never given.
// I4: a block that this process fills itself is right from the start (OpenSegment): its sums may
//     not be in the file yet. So is the part of a block that a version shows only in part: its rows
//     came out of a checked record.
#pragma once

#include <cstdint>

#include "quant/factor_limits.hpp"
#include "segment/slab.hpp"
#include "sync/atomic.hpp"

namespace vicinal::storage {
struct BlockSums;
}  // namespace vicinal::storage

namespace vicinal::segment {

class Segment;

// The first damage that was met in the files of an index.
class Damage {
 public:
  [[nodiscard]] bool any() const noexcept { return where() != 0; }
  // Its position in its file, never 0; 0: none.
  [[nodiscard]] std::uint64_t where() const noexcept { return where_.load(sync::relaxed); }
  void mark(std::uint64_t position) noexcept;

 private:
  sync::Atomic<std::uint64_t> where_;
};

class SegmentChecks {
 public:
  // `sums`: of each block of the segment, wherever the file has them.
  struct Place {
    const storage::BlockSums* sums = nullptr;
    std::uint64_t slab_position = 0;  // in the file
    std::uint64_t uuid_head = 0;      // block_sums.hpp
  };

  // Null without memory. `damage` outlives the checks.
  [[nodiscard]] static SegmentChecks* create(const Place& place,
                                             const quant::FactorLimits& limits,
                                             Damage& damage) noexcept;
  static void destroy(SegmentChecks* checks) noexcept;

  // Whether the plane and factors, or the rows (rests and ids), of a whole block are as they were
  // written; if not, it is said (I3).
  [[nodiscard]] bool plane_is_sound(const Segment& segment, std::uint32_t block) noexcept {
    return has(planes_, block) || compare_plane(segment, block);
  }
  [[nodiscard]] bool rows_are_sound(const Segment& segment, std::uint32_t block) noexcept {
    return has(rows_, block) || compare_rows(segment, block);
  }
  [[nodiscard]] bool block_is_sound(const Segment& segment, std::uint32_t block) noexcept {
    return plane_is_sound(segment, block) && rows_are_sound(segment, block);
  }
  // The block's bytes were compared elsewhere, or written here; before a version shows it whole.
  void trust(std::uint32_t block) noexcept;

  [[nodiscard]] const Place& place() const noexcept { return place_; }
  [[nodiscard]] Damage& damage() const noexcept { return damage_; }

 private:
  static constexpr std::uint32_t kWords = kSegmentBlocksMax / 64;
  using Words = sync::Atomic<std::uint64_t>[kWords];

  SegmentChecks(const Place& place, const quant::FactorLimits& limits, Damage& damage) noexcept
      : place_(place), limits_(limits), damage_(damage) {}

  [[nodiscard]] static bool has(const Words& words, std::uint32_t block) noexcept {
    return (words[block / 64].load(sync::relaxed) >> block % 64 & 1) != 0;  // I2
  }
  static void set(Words& words, std::uint32_t block) noexcept {
    words[block / 64].fetch_or(std::uint64_t{1} << block % 64, sync::relaxed);  // I2
  }
  [[nodiscard]] bool compare_plane(const Segment& segment, std::uint32_t block) noexcept;
  [[nodiscard]] bool compare_rows(const Segment& segment, std::uint32_t block) noexcept;

  Place place_;
  quant::FactorLimits limits_;
  Damage& damage_;
  Words planes_;
  Words rows_;
};

}  // namespace vicinal::segment
