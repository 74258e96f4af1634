// The walk over a version's blocks, in runs of neighbours that one kernel call takes.
//
// Thread safety: belongs to one thread; versions are immutable.
// I1: every block with a lane that is live and allowed is visited exactly once, in ascending order
//     or, where a filter allows few blocks, in the order of the filter's list.
// I2: a block that its view shows only in part is a run of its own: its plane lies elsewhere, and
//     the writer may be filling the rows behind what is shown.
// I3: plane and factors of a block of a segment in a file are compared with their sums before it is
//     visited; a damaged one is not (segment_checks.hpp I3). Rests and ids are still to be looked
//     at, by whoever uses them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "search/allowed_rows.hpp"
#include "segment/version.hpp"

namespace vicinal::search {

// A threshold found in one run serves only the next: long runs would score more rows.
inline constexpr std::uint32_t kRunBlocks = 8;
inline constexpr std::uint32_t kRunRows = kRunBlocks * simd::kBlockRows;

struct BlockRun {
  const segment::SegmentView* view = nullptr;
  std::uint32_t first = 0;  // block of the segment
  std::uint32_t count = 0;
  std::uint32_t lanes[kRunBlocks];
};

// Where a filter allows rows in fewer than one of so many blocks, its list of blocks is walked
// instead of the directory: that costs a jump a block, the directory a word a block.
inline constexpr std::uint64_t kSparsePart = 16;

[[nodiscard]] inline bool is_partial(const segment::SegmentView& view,
                                     std::uint32_t block) noexcept {
  return view.rows - block * simd::kBlockRows < simd::kBlockRows;
}

// A place between two blocks of a version; blocks follow each other segment by segment.
struct BlockPosition {
  std::uint32_t segment = 0;
  std::uint32_t block = 0;

  friend bool operator==(const BlockPosition&, const BlockPosition&) = default;
};

[[nodiscard]] inline BlockPosition end_of(const segment::Version& version) noexcept {
  return {version.segment_end, 0};
}

// So many blocks further, or the end. `passed`: how many there were.
[[nodiscard]] inline BlockPosition advance(const segment::Version& version, BlockPosition from,
                                           std::uint64_t blocks, std::uint64_t* passed) noexcept {
  *passed = 0;
  for (; from.segment < version.segment_end; from = {from.segment + 1, 0}) {
    const segment::SegmentView* view = version.view(from.segment);
    if (view == nullptr) continue;
    VICINAL_DEBUG_ASSERT(from.block <= view->blocks());
    const std::uint64_t left = view->blocks() - from.block;
    if (blocks - *passed < left) {
      from.block += static_cast<std::uint32_t>(blocks - *passed);
      *passed = blocks;
      return from;
    }
    *passed += left;
  }
  return from;
}

// Whether a segment may have to be compared (I3).
enum class Compare : std::uint8_t { no, first_use };

// Calls visit(BlockRun) for the runs of one segment's blocks from `begin` to `end`.
template <Compare kCompare, class Visit>
void visit_blocks(const segment::SegmentView& view, const AllowedBlocks* allowed,
                   std::uint32_t begin, std::uint32_t end, Visit& visit) {
  BlockRun run;
  run.view = &view;
  const auto flush = [&] {
    if (run.count != 0) visit(run);
    run.count = 0;
  };
  for (std::uint32_t block = begin; block < end; ++block) {
    std::uint32_t lanes = view.lanes(block);
    if (allowed != nullptr) lanes &= allowed->lanes(view.segment->number(), block);
    if (kCompare == Compare::first_use && lanes != 0 && view.is_whole(block) &&
        !view.segment->checks()->plane_is_sound(*view.segment, block)) {
      lanes = 0;
    }
    const bool partial = is_partial(view, block);
    if (lanes == 0 || partial || run.count == kRunBlocks) flush();
    if (lanes == 0) continue;
    if (run.count == 0) run.first = block;
    run.lanes[run.count++] = lanes;
  }
  flush();
}

// One test a segment, so that those in memory cost no more.
template <class Visit>
void visit_segment(const segment::SegmentView& view, const AllowedBlocks* allowed,
                   std::uint32_t begin, std::uint32_t end, Visit& visit) {
  if (view.segment->checks() == nullptr) {
    visit_blocks<Compare::no>(view, allowed, begin, end, visit);
  } else {
    visit_blocks<Compare::first_use>(view, allowed, begin, end, visit);
  }
}

// Calls visit(BlockRun) for each run between two positions; `allowed` null: no filter.
template <class Visit>
void visit_runs(const segment::Version& version, const AllowedBlocks* allowed, BlockPosition from,
                BlockPosition to, Visit& visit) {
  for (std::uint32_t number = from.segment; number < version.segment_end; ++number) {
    if (number > to.segment || (number == to.segment && to.block == 0)) break;
    const segment::SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    VICINAL_ASSERT(view->rows <= view->segment->capacity());
    const std::uint32_t begin = number == from.segment ? from.block : 0;
    const std::uint32_t end = number == to.segment ? to.block : view->blocks();
    visit_segment(*view, allowed, begin, end, visit);
  }
}

// Whether a filter's list is to be walked in place of the directory.
[[nodiscard]] inline bool is_sparse(const segment::Version& version,
                                    const AllowedBlocks& allowed) noexcept {
  const std::uint64_t blocks = (version.live_rows + version.dead_rows) / simd::kBlockRows;
  return allowed.blocks.size() * kSparsePart < blocks;
}

// Calls visit(BlockRun) for each block of a filter's list.
template <class Visit>
void visit_listed(const segment::Version& version, const AllowedBlocks& allowed, Visit& visit) {
  for (const std::uint32_t at : allowed.blocks) {
    const std::uint32_t block = at % kSegmentBlocks;
    BlockRun run;
    run.view = version.view(at / kSegmentBlocks);
    run.first = block;
    run.count = 1;
    VICINAL_DEBUG_ASSERT(run.view != nullptr && block < run.view->blocks());
    run.lanes[0] = allowed.lanes(at / kSegmentBlocks, block) & run.view->lanes(block);
    if (run.lanes[0] != 0 && run.view->plane_is_sound(block)) visit(run);
  }
}

// A run's planes and factors as the kernels read them. The factors of a block that is shown only in
// part are copied (I2).
class RunBlocks {
 public:
  RunBlocks(const BlockRun& run, std::size_t plane_bytes) noexcept {
    const segment::SegmentView& view = *run.view;
    const std::uint32_t first = run.first * simd::kBlockRows;
    blocks_ = {view.plane(run.first),
               plane_bytes,
               view.segment->plane_scales() + first,
               view.segment->plane_cosines2() + first,
               run.lanes,
               run.count};
    if (is_partial(view, run.first)) copy_factors(view.rows - first);
  }
  RunBlocks(const RunBlocks&) = delete;
  RunBlocks& operator=(const RunBlocks&) = delete;

  [[nodiscard]] const simd::PlaneBlocks& get() const noexcept { return blocks_; }

 private:
  void copy_factors(std::uint32_t rows) noexcept {
    VICINAL_ASSERT(rows > 0 && rows < simd::kBlockRows);
    std::memset(&copy_, 0, sizeof copy_);
    std::memcpy(copy_.plane_scale, blocks_.plane_scales, rows * sizeof(float));
    std::memcpy(copy_.plane_cosine2, blocks_.plane_cosines2, rows * sizeof(float));
    blocks_.plane_scales = copy_.plane_scale;
    blocks_.plane_cosines2 = copy_.plane_cosine2;
  }

  simd::PlaneBlocks blocks_;
  struct {
    alignas(simd::kAlignment) float plane_scale[simd::kBlockRows];
    float plane_cosine2[simd::kBlockRows];
    std::uint8_t overread[simd::kOverread];
  } copy_;  // set where a block is copied
};

}  // namespace vicinal::search
