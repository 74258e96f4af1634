#include "segment/replay.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.hpp"
#include "quant/calibration.hpp"

namespace vicinal::segment {
namespace {

using simd::kBlockRows;

[[nodiscard]] Status corrupt() noexcept { return Status(Code::corrupt); }

template <class T>
[[nodiscard]] T read(const std::byte* from, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

Status Replay::start_anew() noexcept {
  for (std::uint32_t number = 0; number < next().segment_end; ++number) {
    if (next().view(number) == nullptr) continue;
    const Status dropped = drop(number);
    if (!dropped.ok()) return dropped;
  }
  Status cleared = builder_.clear();
  if (cleared.ok() && next().strings.any()) cleared = forget_strings();
  if (!cleared.ok()) return cleared;
  builder_.discard(next().calibration);
  next().calibration = nullptr;
  next().rows_dropped = 0;
  builder_.changed_ = true;
  return {};
}

Status Replay::drop(std::uint32_t number) noexcept {
  if (next().view(number) == nullptr) return corrupt();
  if (!builder_.prepare_drop(number)) return builder_.full_status();
  builder_.drop_view(number);
  builder_.changed_ = true;
  return {};
}

Status Replay::set_origin(std::uint64_t number, const std::byte* origin) noexcept {
  if (number == 0 || number > builder_.sequence() || number <= builder_.calibration() ||
      metric_ == Metric::ip) {
    return corrupt();
  }
  for (std::uint32_t at = 0; at < next().segment_end; ++at) {
    if (next().view(at) != nullptr) return corrupt();
  }
  const std::uint32_t dim = builder_.layout().dim;
  const std::size_t bytes = dim * sizeof(float);
  if (!builder_.within_budget(sizeof(Calibration) + bytes)) return builder_.full_status();
  auto* fresh = builder_.make<Calibration>(bytes);
  if (fresh == nullptr) return Status(Code::full);
  std::memcpy(fresh->origin(), origin, bytes);
  if (!quant::is_origin(fresh->origin(), dim, metric_)) {
    builder_.end(fresh);
    return corrupt();
  }
  fresh->number = number;
  builder_.discard(next().calibration);
  next().calibration = fresh;
  builder_.changed_ = true;
  return {};
}

// Segments may come in any order, but readers take every leaf below the end for there.
bool Replay::make_leaves(std::uint32_t count) noexcept {
  DirectoryRoot* directory = builder_.mutable_directory(count);
  if (directory == nullptr) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (directory->leaves()[i] != nullptr) continue;
    auto* leaf = builder_.make<DirectoryLeaf>();
    if (leaf == nullptr) return false;
    directory->leaves()[i] = leaf;
  }
  return true;
}

Status Replay::attach(Segment* segment) noexcept {
  const std::uint32_t number = segment->number();
  if (!is_place(number, segment->capacity()) || next().view(number) != nullptr) return corrupt();
  if (!builder_.within_budget(segment->bytes)) return builder_.full_status();
  if (!make_leaves(number / kLeafViews + 1)) return builder_.full_status();
  SegmentView* view = builder_.mutable_view(number);
  if (view == nullptr) return builder_.full_status();
  builder_.count(segment->bytes);
  segment->birth = builder_.sequence();
  *view = SegmentView{};
  view->segment = segment;
  next().segment_end = std::max(next().segment_end, number + 1);
  builder_.changed_ = true;
  return {};
}

bool Replay::factors_are_sane(const InlineRows& rows) const noexcept {
  const quant::FactorLimits limits(builder_.layout().coded_dim, builder_.calibration() != 0,
                                   metric_);
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    if (!limits.hold_for(read<quant::RowFactors>(rows.factors, i))) return false;
  }
  return true;
}

Status Replay::show_rows(std::uint32_t number, std::uint32_t rows,
                         const InlineRows& unfinished) noexcept {
  const SegmentView* shown = next().view(number);
  if (shown == nullptr || rows <= shown->rows || rows > shown->segment->capacity()) {
    return corrupt();
  }
  const std::uint32_t first = std::max(shown->rows, rows - rows % kBlockRows);
  if (unfinished.count != rows - first || !factors_are_sane(unfinished)) return corrupt();
  SegmentView* view = builder_.mutable_view(number);
  if (view == nullptr) return builder_.full_status();
  if (unfinished.count != 0) {
    if (Status stored = store_unfinished(*view, first, unfinished); !stored.ok()) return stored;
  } else {
    builder_.discard(view->tail);
    view->tail = nullptr;
  }
  next().live_rows += rows - view->rows;
  view->rows = rows;
  builder_.changed_ = true;
  return {};
}

// Rows of one block from `first` on: into the slab, and their signs into a new tail.
Status Replay::store_unfinished(SegmentView& view, std::uint32_t first,
                                const InlineRows& rows) noexcept {
  const quant::CodeLayout& layout = builder_.layout();
  const std::size_t bytes = layout.plane_block_bytes + simd::kOverread;
  auto* tail = builder_.make<TailPlane>(bytes);
  if (tail == nullptr) return builder_.full_status();
  if (first % kBlockRows != 0) {
    VICINAL_ASSERT(view.tail != nullptr && first == view.rows);  // version.hpp I4
    std::memcpy(tail->bytes_begin(), view.tail->bytes_begin(), bytes);
  } else {
    std::memset(tail->bytes_begin(), 0, bytes);
  }
  auto* segment = const_cast<Segment*>(view.segment);  // the writer owns it
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const auto* packed =
        reinterpret_cast<const std::uint8_t*>(rows.packed) + i * layout.packed_row_bytes;
    segment->store_row(first + i, packed + layout.sign_bytes,
                       read<quant::RowFactors>(rows.factors, i),
                       read<std::uint64_t>(rows.ids, i));
    quant::put_signs(layout, tail->bytes_begin(), (first + i) % kBlockRows, packed);
  }
  builder_.discard(view.tail);
  view.tail = tail;
  return {};
}

Status Replay::kill(Slot slot) noexcept {
  const SegmentView* shown = next().view(slot.segment());
  if (shown == nullptr || !shown->is_live(slot.row())) return corrupt();
  const bool killed_before = builder_.killed_;
  const Status killed = builder_.kill_row(slot);  // its block may not be there yet
  builder_.killed_ = killed_before;  // I4
  return killed;
}

Status Replay::replace_page(std::uint32_t number, std::uint32_t page,
                            std::span<const std::uint32_t, kLivePageBlocks> words) noexcept {
  const SegmentView* shown = next().view(number);
  constexpr std::uint32_t kPageRows = kLivePageBlocks * kBlockRows;
  if (shown == nullptr || page >= kLivePages || page * kPageRows >= shown->rows) return corrupt();
  const LivePage* old = shown->live == nullptr ? nullptr : shown->live->pages[page];
  std::uint32_t died = 0;
  for (std::uint32_t i = 0; i < kLivePageBlocks; ++i) {
    const std::uint32_t before = old == nullptr ? ~std::uint32_t{0} : old->words[i];
    const std::uint32_t first = page * kPageRows + i * kBlockRows;
    const std::uint32_t there = std::min(shown->rows - std::min(shown->rows, first), kBlockRows);
    const std::uint32_t past = there == kBlockRows ? 0 : ~std::uint32_t{0} << there;
    if ((words[i] & ~before) != 0 || (words[i] & past) != past) return corrupt();
    died += static_cast<std::uint32_t>(std::popcount(before & ~words[i]));
  }
  if (died == 0) return {};
  SegmentView* view = builder_.mutable_view(number);
  LivePage* fresh = view == nullptr ? nullptr : builder_.mutable_live_page(view, page);
  if (fresh == nullptr) return builder_.full_status();
  std::memcpy(fresh->words, words.data(), sizeof fresh->words);
  view->dead += died;
  next().dead_rows += died;
  next().live_rows -= died;
  builder_.changed_ = true;
  return {};
}

Status Replay::counts_are(std::uint64_t live_rows, std::uint64_t dead_rows,
                          std::uint64_t rows_dropped) noexcept {
  if (next().live_rows != live_rows || next().dead_rows != dead_rows ||
      rows_dropped < next().rows_dropped) {
    return corrupt();
  }
  next().rows_dropped = rows_dropped;
  builder_.changed_ = true;
  return {};
}

Status Replay::attach_table(std::uint32_t place, SubTable* table) noexcept {
  if (place >= kSubTables || next().ids->tables[place] != nullptr) return corrupt();
  if (!builder_.within_budget(table->bytes)) return builder_.full_status();
  IdRoot* ids = builder_.mutable_ids();
  if (ids == nullptr) return builder_.full_status();
  builder_.count(table->bytes);
  table->birth = builder_.sequence();
  ids->tables[place] = table;
  builder_.changed_ = true;
  return {};
}

Status Replay::have_room(std::uint64_t bytes) const noexcept {
  if (bytes > ~std::size_t{0} / 2) return Status(Code::full, bytes);
  return builder_.within_budget(static_cast<std::size_t>(bytes)) ? Status()
                                                                 : builder_.full_status();
}

Status Replay::expect_rows(std::uint64_t rows) noexcept {
  // A little more than the mean, and what a rebuilt one would have (VersionBuilder::rebuild).
  const std::uint64_t wanted = (rows / kSubTables + rows / kSubTables / 16 + 16) * 20 / 11;
  constexpr std::uint64_t kEntriesMax = std::uint64_t{1} << 28;
  const auto capacity = static_cast<std::uint32_t>(std::min(wanted, kEntriesMax));
  for (std::uint32_t i = 0; i < kSubTables; ++i) {
    if (next().ids->tables[i] != nullptr) continue;
    IdRoot* ids = builder_.mutable_ids();
    if (ids == nullptr || !builder_.within_budget(SubTable::bytes_of(capacity))) {
      return builder_.full_status();
    }
    SubTable* table = builder_.make_table(capacity);
    if (table == nullptr) return builder_.full_status();
    table->birth = builder_.sequence();
    ids->tables[i] = table;
  }
  return {};
}

Status Replay::enter_hints(std::uint32_t number, std::uint32_t from, std::uint32_t to) noexcept {
  const SegmentView* view = next().view(number);
  if (view == nullptr || from > to || to > view->rows) return corrupt();
  for (std::uint32_t row = from; row < to;) {
    const std::uint32_t block = row / kBlockRows;
    const std::uint32_t end = std::min(to, (block + 1) * kBlockRows);
    if (view->lanes(block) != 0 && !view->rows_are_sound(block)) {
      return Status(Code::corrupt, view->segment->checks()->damage().where());
    }
    for (; row < end; ++row) {
      if (!view->is_live(row)) continue;
      const Status entered = enter_hint(Slot::of(number, row), view->segment->ids()[row]);
      if (!entered.ok()) return entered;
    }
  }
  return {};
}

Status Replay::enter_hint(Slot slot, std::uint64_t id) noexcept {
  if (!next().strings.any()) return enter_hint_of(slot, IdRoot::hash(id), next().find(id));
  const Strings::Place place = next().strings.find(Handle{id});
  if (place.chunk == nullptr) return corrupt();
  const StringKey key{place.chunk->text(place.entry), place.chunk->hash(place.entry)};
  return enter_hint_of(slot, key.hash, next().find(key));
}

// `other`: whom look-ups find with the id.
Status Replay::enter_hint_of(Slot slot, std::uint64_t hash, Slot other) noexcept {
  if (other == slot) return {};  // a table that was attached knows it
  if (other.valid()) return corrupt();
  if (!builder_.reserve_hint(hash)) return builder_.full_status();
  next().ids->tables[IdRoot::table_of(hash)]->insert(hash, slot);
  builder_.changed_ = true;
  return {};
}

}  // namespace vicinal::segment
