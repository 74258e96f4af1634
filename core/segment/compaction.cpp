#include "segment/compaction.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace vicinal::segment {
namespace {

// How dead two segments are, compared without dividing.
[[nodiscard]] bool deader(std::uint32_t dead_a, std::uint32_t rows_a, std::uint32_t dead_b,
                          std::uint32_t rows_b) noexcept {
  return std::uint64_t{dead_a} * rows_b > std::uint64_t{dead_b} * rows_a;
}

}  // namespace

void Compaction::consider(const SegmentView& view) noexcept {
  const Source fresh{view.segment->number(), view.rows, view.rows - view.dead, 0,
                     view.segment->birth, view.segment->bytes};
  std::uint32_t at = source_count_;
  const auto before = [&](const Source& other) {
    return deader(view.dead, view.rows, other.rows - other.live, other.rows);
  };
  while (at > 0 && before(sources_[at - 1])) --at;
  if (at == kCompactionSources) return;
  source_count_ = std::min(source_count_ + 1, kCompactionSources);
  std::copy_backward(sources_.begin() + at, sources_.begin() + source_count_ - 1,
                     sources_.begin() + source_count_);
  sources_[at] = fresh;
}

void Compaction::keep_what_fits(std::uint32_t rows_max, std::uint64_t bytes_max) noexcept {
  std::uint32_t kept = 0;
  std::uint32_t rows = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < source_count_; ++i) {
    if (rows + sources_[i].live > rows_max || bytes + sources_[i].bytes > bytes_max) continue;
    rows += sources_[i].live;
    bytes += sources_[i].bytes;
    sources_[kept++] = sources_[i];
  }
  source_count_ = kept;
}

bool Compaction::plan(const Version& newest, const Goal& goal) noexcept {
  VICINAL_ASSERT(!active() && !builder_.active());
  const std::uint32_t rows_max = builder_.segment_rows_max();
  for (std::uint32_t number = 0; number < newest.segment_end; ++number) {
    const SegmentView* view = newest.view(number);
    if (view == nullptr || view->segment->birth > goal.birth_max) continue;
    const bool dead_enough = view->dead != 0 && std::uint64_t{view->dead} * 100 >=
                                                    std::uint64_t{view->rows} * goal.dead_percent;
    const bool small = goal.merge && view->rows <= rows_max / 2;
    if (dead_enough || small) consider(*view);
  }
  keep_what_fits(rows_max, goal.bytes_max);
  // One segment without a dead row would be moved for nothing.
  if (source_count_ == 1 && sources_[0].live == sources_[0].rows) source_count_ = 0;
  return active();
}

bool Compaction::start() noexcept {
  VICINAL_ASSERT(active() && builder_.active() && !builder_.changed());
  at_source_ = 0;
  at_block_ = 0;
  rows_ = 0;
  const std::size_t row_bytes = builder_.layout().packed_row_bytes + simd::kOverread;
  for (; source_count_ != 0; --source_count_) {
    std::uint32_t rows = 0;
    for (std::uint32_t i = 0; i < source_count_; ++i) rows += sources_[i].live;
    // Fewer of them may be one that is not worth it.
    if (source_count_ == 1 && rows == sources_[0].rows) break;
    if (rows == 0) return true;  // nothing to move: no target
    if (!builder_.begin_incoming(rows)) continue;
    auto from = AlignedBuffer::create(rows * sizeof(std::uint16_t));
    auto packed = AlignedBuffer::create(row_bytes);
    if (!from.ok() || !packed.ok()) break;
    from_ = std::move(from).value();
    packed_row_ = std::move(packed).value();
    return true;
  }
  return false;
}

const SegmentView* Compaction::view_of(const Source& source) const noexcept {
  const SegmentView* view = builder_.working().view(source.number);
  return view == nullptr || view->segment->birth != source.birth ? nullptr : view;
}

Compaction::Step Compaction::move_block() noexcept {
  VICINAL_ASSERT(active());
  const SegmentView* view = nullptr;
  for (; at_source_ < source_count_; ++at_source_) {
    if (at_block_ == 0) sources_[at_source_].first = rows_;
    view = view_of(sources_[at_source_]);
    if (view != nullptr && at_block_ < view->blocks()) break;
    at_block_ = 0;
  }
  if (at_source_ == source_count_) return Step::moved;
  VICINAL_ASSERT(view->rows == sources_[at_source_].rows);  // a source takes no rows
  auto* packed = packed_row_.as<std::uint8_t>();
  std::uint32_t lanes = view->lanes(at_block_);
  if (lanes != 0 && !view->block_is_sound(at_block_)) return Step::failed;
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::uint32_t row =
        at_block_ * simd::kBlockRows + static_cast<std::uint32_t>(__builtin_ctz(lanes));
    if (!builder_.append_incoming(*view, row, packed)) return Step::failed;
    from_.as<std::uint16_t>()[rows_++] = static_cast<std::uint16_t>(row);
  }
  ++at_block_;
  return Step::more;
}

std::uint32_t Compaction::rows_of(std::uint32_t source) const noexcept {
  const std::uint32_t end = source + 1 == source_count_ ? rows_ : sources_[source + 1].first;
  return end - sources_[source].first;
}

bool Compaction::any_source_left() const noexcept {
  return std::any_of(sources_.begin(), sources_.begin() + source_count_,
                     [this](const Source& source) { return view_of(source) != nullptr; });
}

bool Compaction::prepare_drops() noexcept {
  for (std::uint32_t i = 0; i < source_count_; ++i) {
    if (view_of(sources_[i]) != nullptr && !builder_.prepare_drop(sources_[i].number)) return false;
  }
  return true;
}

bool Compaction::kill_what_died(std::uint32_t target) noexcept {
  for (std::uint32_t i = 0; i < source_count_; ++i) {
    const SegmentView* view = view_of(sources_[i]);
    const std::uint32_t first = sources_[i].first;
    for (std::uint32_t n = 0; n < rows_of(i); ++n) {
      if (view != nullptr && view->is_live(from_.as<std::uint16_t>()[first + n])) continue;
      if (!builder_.kill_moved(Slot::of(target, first + n)).ok()) return false;
    }
  }
  return true;
}

void Compaction::drop_sources() noexcept {
  for (std::uint32_t i = 0; i < source_count_; ++i) {
    if (view_of(sources_[i]) != nullptr) builder_.drop_segment(sources_[i].number);
  }
}

bool Compaction::show() noexcept {
  VICINAL_ASSERT(active() && at_source_ == source_count_);
  if (!any_source_left()) {  // cleared: what was moved is no row of this index any more
    give_up();
    return true;
  }
  close_sources();  // where the run began in this transaction
  if (!prepare_drops()) return false;
  if (rows_ != 0) {
    const std::uint32_t target = builder_.incoming()->number();
    if (!builder_.show_incoming() || !kill_what_died(target)) return false;
  }
  drop_sources();
  give_up();  // what is left: a target that no row came to
  return true;
}

void Compaction::close_sources() noexcept {
  const Segment* open = builder_.open();
  if (open == nullptr) return;
  for (std::uint32_t i = 0; i < source_count_; ++i) {
    if (sources_[i].number == open->number()) builder_.close_open();
  }
}

void Compaction::give_up() noexcept {
  builder_.end_incoming();
  source_count_ = 0;
  from_ = AlignedBuffer();
}

std::size_t Compaction::forget() noexcept {
  source_count_ = 0;
  return from_.forget() + packed_row_.forget();
}

}  // namespace vicinal::segment
