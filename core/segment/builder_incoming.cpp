// The builder's incoming segment: what a compaction fills and shows (builder.hpp I6).
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "segment/builder.hpp"

namespace vicinal::segment {

bool VersionBuilder::begin_incoming(std::uint32_t rows) noexcept {
  VICINAL_ASSERT(active() && incoming_.segment() == nullptr);
  const std::uint32_t number = free_number();
  const std::uint32_t capacity = capacity_for(rows);
  VICINAL_ASSERT(rows <= capacity);
  if (number >= kSegmentsMax - 1 || !within_budget(segment_bytes(capacity))) {
    return false;
  }
  incoming_.turn_to(make_slab(number, capacity));
  incoming_rows_ = 0;
  return incoming_.segment() != nullptr;
}

bool VersionBuilder::append_incoming(const SegmentView& from, std::uint32_t row,
                                     std::uint8_t* packed_row) noexcept {
  VICINAL_ASSERT(active() && incoming_.segment() != nullptr);
  const std::uint64_t id = from.segment->ids()[row];
  std::uint64_t hash = 0;
  if (!hash_of_row(id, &hash)) return from.lacks_string(row);
  if (!reserve_hint(hash)) return false;
  const Slot slot = Slot::of(incoming_.segment()->number(), incoming_rows_);
  next_->ids->tables[IdRoot::table_of(hash)]->insert(hash, slot);
  from.copy_packed_row(layout_, row, packed_row);
  const OriginalRows& originals = from.segment->originals();
  VICINAL_ASSERT(originals.any() == (original_bytes_ != 0));
  incoming_.store(incoming_rows_, packed_row, from.segment->factors(row), id,
                  originals.any() ? originals.row(row) : nullptr);
  ++incoming_rows_;
  return true;
}

bool VersionBuilder::show_incoming() noexcept {
  Segment* segment = incoming_.segment();
  VICINAL_ASSERT(active() && segment != nullptr && incoming_rows_ > 0);
  SegmentView* view = mutable_view(segment->number());
  if (view == nullptr) return false;
  VICINAL_ASSERT(view->segment == nullptr);
  segment->birth = sequence_;
  *view = SegmentView{};
  view->segment = segment;
  view->rows = incoming_rows_;
  if (segment->number() >= next_->segment_end) next_->segment_end = segment->number() + 1;
  next_->live_rows += view->rows;
  changed_ = true;
  // What is left of its room is for new rows, where no other segment waits for them.
  const Segment* open = open_.segment();
  const SegmentView* shown = open == nullptr ? nullptr : next_->view(open->number());
  if (shown == nullptr || shown->rows == open->capacity()) {
    std::swap(open_, incoming_);  // `finish` makes its tail
  } else if (view->rows % simd::kBlockRows != 0) {
    VICINAL_ASSERT(spare_tail_ != nullptr);
    spare_tail_->birth = sequence_;
    std::memcpy(spare_tail_->bytes_begin(), incoming_.plane(), layout_.plane_block_bytes);
    view->tail = std::exchange(spare_tail_, nullptr);
  }
  incoming_.turn_to(nullptr);
  return true;
}

void VersionBuilder::end_incoming() noexcept {
  Segment* segment = incoming_.segment();
  if (segment == nullptr) return;
  incoming_.turn_to(nullptr);
  end(segment);
}

void VersionBuilder::drop_segment(std::uint32_t number) noexcept {
  next_->rows_dropped += next_->view(number)->dead;
  drop_view(number);
  changed_ = true;
}

void VersionBuilder::close_open() noexcept { open_.turn_to(nullptr); }

}  // namespace vicinal::segment
