// One committed state of an index: what a reader walks.
//
// Thread safety: immutable once published; everything here is reached from a pinned version only.
// I1: a version's segments, in ascending number, are the entries of its two-level directory whose
//     `segment` is not null; entries at or past segment_end are never read.
// I2: a row is part of the version when it is below its view's `rows` and its live bit is set.
// I3: live bits at or past `rows` are set, so that appending needs no new live bits.
// I4: a view's `tail` is the plane of its last block when rows % 32 != 0, else null.
// I5: at most one row of a version has a given id.
// I6: a calibration comes while no row is there, so that all rows of a version share its origin.
// I7: of an index whose ids are strings, rows carry handles in the place of ids (strings.hpp).
#pragma once

#include <cstdint>
#include <cstring>

#include "segment/id_table.hpp"
#include "segment/segment.hpp"
#include "segment/strings.hpp"
#include "sync/versioned.hpp"

namespace vicinal::segment {

inline constexpr std::uint32_t kLivePageBlocks = 128;  // 4,096 bits
inline constexpr std::uint32_t kLivePages =
    kSegmentRowsMax / simd::kBlockRows / kLivePageBlocks;

// Live bits of 128 blocks, one word a block, bit = lane.
struct LivePage : sync::Versioned {
  std::uint32_t words[kLivePageBlocks];
};

// A segment's live pages; null: all 4,096 rows are live.
struct LiveMap : sync::Versioned {
  const LivePage* pages[kLivePages];
};

// The sign plane of a block that is only partly shown. Aligned to 64, overread included.
struct alignas(simd::kAlignment) TailPlane : sync::Versioned {
  [[nodiscard]] const std::uint8_t* bytes_begin() const noexcept {
    return reinterpret_cast<const std::uint8_t*>(this + 1);
  }
  [[nodiscard]] std::uint8_t* bytes_begin() noexcept {
    return reinterpret_cast<std::uint8_t*>(this + 1);
  }
};

// What a version shows of one segment.
struct SegmentView {
  const Segment* segment = nullptr;
  const LiveMap* live = nullptr;  // null: every row is live
  const TailPlane* tail = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t dead = 0;

  [[nodiscard]] std::uint32_t blocks() const noexcept {
    return (rows + simd::kBlockRows - 1) / simd::kBlockRows;
  }
  // The block's rows that are part of the version, as the kernels' lane mask.
  [[nodiscard]] std::uint32_t lanes(std::uint32_t block) const noexcept {
    const std::uint32_t left = rows - block * simd::kBlockRows;
    std::uint32_t mask = left >= simd::kBlockRows ? ~std::uint32_t{0}
                                                  : (std::uint32_t{1} << left) - 1;
    if (live != nullptr) {
      const LivePage* page = live->pages[block / kLivePageBlocks];
      if (page != nullptr) mask &= page->words[block % kLivePageBlocks];
    }
    return mask;
  }
  [[nodiscard]] bool is_live(std::uint32_t row) const noexcept {
    return row < rows && (lanes(row / simd::kBlockRows) >> row % simd::kBlockRows & 1) != 0;
  }
  // Whether the version shows all 32 rows of the block.
  [[nodiscard]] bool is_whole(std::uint32_t block) const noexcept {
    return (block + 1) * simd::kBlockRows <= rows;
  }
  // segment.hpp I5: whether what the block has may be used: its rows (ids and rests), its plane
  // and factors, or both. If not, the checks have said so.
  [[nodiscard]] bool rows_are_sound(std::uint32_t block) const noexcept {
    return segment->checks() == nullptr || checked_rows_are_sound(block);
  }
  [[nodiscard]] bool plane_is_sound(std::uint32_t block) const noexcept {
    return segment->checks() == nullptr || checked_plane_is_sound(block);
  }
  [[nodiscard]] bool block_is_sound(std::uint32_t block) const noexcept {
    return plane_is_sound(block) && rows_are_sound(block);
  }
  // What a row that the version shows carries is no handle of a string that the version has: damage
  // of a file, which is said. False.
  bool lacks_string(std::uint32_t row) const noexcept;
  // The row's code as one packed row (kernels.hpp), packed_row_bytes long.
  void copy_packed_row(const quant::CodeLayout& layout, std::uint32_t row,
                       std::uint8_t* packed) const noexcept {
    VICINAL_DEBUG_ASSERT(row < rows);
    const std::uint32_t lane = row % simd::kBlockRows;
    quant::gather_signs(layout, plane(row / simd::kBlockRows), lane, packed);
    if (layout.rest_bytes != 0) {
      std::memcpy(packed + layout.sign_bytes, segment->rest(row), layout.rest_bytes);
    }
  }
  [[nodiscard]] const std::uint8_t* plane(std::uint32_t block) const noexcept {
    if (is_whole(block)) return segment->plane(block);
    VICINAL_DEBUG_ASSERT(tail != nullptr);
    return tail->bytes_begin();
  }

 private:
  // Calls, so that look-ups in memory pay for one test and no more.
  [[nodiscard]] bool checked_rows_are_sound(std::uint32_t block) const noexcept;
  [[nodiscard]] bool checked_plane_is_sound(std::uint32_t block) const noexcept;
};

inline constexpr std::uint32_t kLeafViews = 16;

struct DirectoryLeaf : sync::Versioned {
  SegmentView views[kLeafViews];
};

struct DirectoryRoot : sync::Versioned {
  std::uint32_t leaf_capacity = 0;

  [[nodiscard]] const DirectoryLeaf* const* leaves() const noexcept {
    return reinterpret_cast<const DirectoryLeaf* const*>(this + 1);
  }
  [[nodiscard]] DirectoryLeaf** leaves() noexcept {
    return reinterpret_cast<DirectoryLeaf**>(this + 1);
  }
};

// What a version's rows are measured from (quant/calibration.hpp): dim floats behind this head.
struct Calibration : sync::Versioned {
  std::uint64_t number = 0;  // the version that brought it, never 0

  [[nodiscard]] const float* origin() const noexcept {
    return reinterpret_cast<const float*>(this + 1);
  }
  [[nodiscard]] float* origin() noexcept { return reinterpret_cast<float*>(this + 1); }
};

struct Version : sync::VersionHeader {
  std::uint64_t live_rows = 0;
  std::uint64_t dead_rows = 0;
  std::uint64_t rows_dropped = 0;  // dead rows that compactions have dropped, ever
  std::uint32_t segment_end = 0;  // one past the highest segment number in use
  const DirectoryRoot* directory = nullptr;
  const IdRoot* ids = nullptr;
  const Calibration* calibration = nullptr;  // of every row (I6), or null
  Strings strings;

  [[nodiscard]] const float* origin() const noexcept {
    return calibration == nullptr ? nullptr : calibration->origin();
  }
  // Null when this version has no segment of that number.
  [[nodiscard]] const SegmentView* view(std::uint32_t number) const noexcept {
    if (number >= segment_end) return nullptr;
    const DirectoryLeaf* leaf = directory->leaves()[number / kLeafViews];
    const SegmentView& view = leaf->views[number % kLeafViews];
    return view.segment == nullptr ? nullptr : &view;
  }
  // The row with this id, or an invalid slot. Constant time, exact; where damage was met (Damage),
  // an invalid slot says nothing.
  [[nodiscard]] Slot find(std::uint64_t id) const noexcept {
    return ids->find(id, [this](Slot slot, std::uint64_t wanted) {
      const SegmentView* found = view(slot.segment());
      // Nothing of the candidate is read before this version vouches for it (id_table.hpp I3).
      return found != nullptr && slot.row() < found->rows &&
             found->rows_are_sound(slot.row() / simd::kBlockRows) &&
             found->segment->ids()[slot.row()] == wanted && found->is_live(slot.row());
    });
  }
  [[nodiscard]] Slot find(const StringKey& key) const noexcept {
    return ids->find_hashed(key.hash, [&](Slot slot) {
      const SegmentView* found = view(slot.segment());
      if (found == nullptr || slot.row() >= found->rows ||  // id_table.hpp I3
          !found->rows_are_sound(slot.row() / simd::kBlockRows)) {
        return false;
      }
      const Handle handle{found->segment->ids()[slot.row()]};
      if (!handle.may_be_of(key.hash) || !found->is_live(slot.row())) return false;
      const Strings::Place place = strings.find(handle);
      if (place.chunk == nullptr) return found->lacks_string(slot.row());
      return place.chunk->text(place.entry) == key.text;
    });
  }
  // The live row that carries this handle of a string with this hash.
  [[nodiscard]] Slot find(Handle handle, std::uint64_t hash) const noexcept {
    return ids->find_hashed(hash, [&](Slot slot) {
      const SegmentView* found = view(slot.segment());
      return found != nullptr && slot.row() < found->rows &&
             found->rows_are_sound(slot.row() / simd::kBlockRows) &&
             found->segment->ids()[slot.row()] == handle.value && found->is_live(slot.row());
    });
  }
};

}  // namespace vicinal::segment
