// The builder's removals, its id table, and the end of a whole version.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "segment/builder.hpp"

namespace vicinal::segment {

using sync::Versioned;

LivePage* VersionBuilder::mutable_live_page(SegmentView* view, std::uint32_t page) noexcept {
  VICINAL_ASSERT(page < kLivePages);
  if (view->live == nullptr || view->live->birth != sequence_) {
    auto* fresh = view->live == nullptr ? make<LiveMap>() : copy(*view->live);
    if (fresh == nullptr) return nullptr;
    if (view->live == nullptr) {
      for (const LivePage*& entry : fresh->pages) entry = nullptr;
    }
    discard(view->live);
    view->live = fresh;
  }
  auto* map = const_cast<LiveMap*>(view->live);
  const LivePage* old = map->pages[page];
  if (old == nullptr || old->birth != sequence_) {
    auto* fresh = old == nullptr ? make<LivePage>() : copy(*old);
    if (fresh == nullptr) return nullptr;
    if (old == nullptr) std::memset(fresh->words, 0xff, sizeof fresh->words);
    discard(old);
    map->pages[page] = fresh;
  }
  return const_cast<LivePage*>(map->pages[page]);
}

Status VersionBuilder::kill(Slot slot) noexcept {
  const Status killed = kill_row(slot);
  if (killed.ok() && ids_ == IdKind::string) {
    count_dead(next_->view(slot.segment())->segment->ids()[slot.row()], 1);
  }
  return killed;
}

Status VersionBuilder::kill_row(Slot slot) noexcept {
  VICINAL_ASSERT(active());
  SegmentView* view = mutable_view(slot.segment());
  const std::uint32_t block = slot.row() / simd::kBlockRows;
  LivePage* page =
      view == nullptr ? nullptr : mutable_live_page(view, block / kLivePageBlocks);
  if (page == nullptr) return full_status();
  VICINAL_ASSERT(view->is_live(slot.row()));
  page->words[block % kLivePageBlocks] &= ~(std::uint32_t{1} << slot.row() % simd::kBlockRows);
  ++view->dead;
  ++next_->dead_rows;
  --next_->live_rows;
  killed_ = true;
  changed_ = true;
  return {};
}

void VersionBuilder::revive(Slot slot) noexcept {
  VICINAL_ASSERT(active());
  SegmentView* view = mutable_view(slot.segment());
  VICINAL_ASSERT(view != nullptr && !view->is_live(slot.row()));
  const std::uint32_t block = slot.row() / simd::kBlockRows;
  LivePage* page = mutable_live_page(view, block / kLivePageBlocks);
  VICINAL_ASSERT(page != nullptr);  // the kill made it private
  page->words[block % kLivePageBlocks] |= std::uint32_t{1} << slot.row() % simd::kBlockRows;
  --view->dead;
  --next_->dead_rows;
  ++next_->live_rows;
  if (ids_ == IdKind::string) count_dead(view->segment->ids()[slot.row()], -1);
}

void VersionBuilder::discard_live(const SegmentView& view) noexcept {
  if (view.live == nullptr) return;
  for (const LivePage* page : view.live->pages) discard(page);
  discard(view.live);
}

void VersionBuilder::drop_view(std::uint32_t number) noexcept {
  SegmentView* view = mutable_view(number);
  VICINAL_ASSERT(view != nullptr && view->segment != nullptr);
  discard_live(*view);
  discard(view->tail);
  if (view->segment == open_.segment()) open_.turn_to(nullptr);
  VICINAL_ASSERT(view->dead <= view->rows && next_->dead_rows >= view->dead);
  next_->dead_rows -= view->dead;
  next_->live_rows -= view->rows - view->dead;
  discard(view->segment);
  *view = SegmentView{};
}

void VersionBuilder::drop_dead_segments() noexcept {
  const bool all_dead = next_->live_rows == 0;
  for (std::uint32_t number = 0; number < next_->segment_end; ++number) {
    const SegmentView* view = next_->view(number);
    if (view == nullptr || view->dead != view->rows) continue;
    // The one that still takes rows stays, unless it is all that is left.
    const bool takes_rows =
        view->segment == open_.segment() && view->rows != view->segment->capacity();
    if (takes_rows && !all_dead) continue;
    // Private already if it died just now; one that died before may stay where memory is short.
    if (mutable_view(number) != nullptr) drop_view(number);
  }
}

Status VersionBuilder::clear() noexcept {
  VICINAL_ASSERT(active());
  const auto& tables = next_->ids->tables;
  const bool any_table = std::any_of(std::begin(tables), std::end(tables),
                                     [](const SubTable* table) { return table != nullptr; });
  if (!any_table) return {};  // a row would have its entry in one
  auto* ids = make<IdRoot>();
  auto* strings = ids_ == IdKind::string ? make<StringDirectory>() : nullptr;
  const auto end_made = [&] {
    if (ids != nullptr) end(ids);
    if (strings != nullptr) end(strings);
    return Status(Code::full);
  };
  if (ids == nullptr || (strings == nullptr && ids_ == IdKind::string)) return end_made();
  for (std::uint32_t number = 0; number < next_->segment_end; ++number) {
    // Every leaf is made private first: after that nothing can fail.
    if (next_->view(number) != nullptr && mutable_view(number) == nullptr) return end_made();
  }
  opened_ = nullptr;
  for (std::uint32_t number = 0; number < next_->segment_end; ++number) {
    if (next_->view(number) != nullptr) drop_view(number);
  }
  for (const SubTable* table : next_->ids->tables) discard(table);
  discard(next_->ids);
  next_->ids = ids;
  if (strings != nullptr) drop_strings(strings);
  VICINAL_ASSERT(next_->live_rows == 0 && next_->dead_rows == 0 &&
                 open_.segment() == nullptr);
  changed_ = true;
  return {};
}

Status VersionBuilder::calibrate(const float* origin) noexcept {
  VICINAL_ASSERT(active() && origin != nullptr && live_rows() == 0);
  const std::size_t bytes = layout_.dim * sizeof(float);
  if (!within_budget(sizeof(Calibration) + bytes)) return full_status();
  auto* fresh = make<Calibration>(bytes);
  if (fresh == nullptr) return Status(Code::full);
  // Dead rows go with their segments: none may be left whose code means something else.
  const Status cleared = clear();
  if (!cleared.ok()) {
    discard(fresh);
    return cleared;
  }
  fresh->number = sequence_;
  std::memcpy(fresh->origin(), origin, bytes);
  discard(next_->calibration);
  next_->calibration = fresh;
  changed_ = true;
  return {};
}

IdRoot* VersionBuilder::mutable_ids() noexcept {
  auto* old = const_cast<IdRoot*>(next_->ids);
  if (old->birth == sequence_) return old;
  IdRoot* fresh = copy(*old);
  if (fresh == nullptr) return nullptr;
  next_->ids = fresh;
  discard(old);
  return fresh;
}

bool VersionBuilder::reserve_hint(std::uint64_t hash) noexcept {
  const std::uint32_t index = IdRoot::table_of(hash);
  const SubTable* table = next_->ids->tables[index];
  // A rotten table is rebuilt once a transaction: what this one kills stays in it.
  const bool rotten = table != nullptr && table->rotten() && table->birth != sequence_;
  const bool foreign = table != nullptr && table->foreign();
  if (table != nullptr && !table->wants_rebuild() && !rotten && !foreign) return true;
  IdRoot* ids = mutable_ids();
  if (ids == nullptr) return false;
  SubTable* fresh = nullptr;
  if (table == nullptr) {
    fresh = make_table(kSubTableEntriesMin);
  } else {
    fresh = foreign ? take_over(*table, index) : rebuild(*table, index);
  }
  if (fresh == nullptr) return false;
  fresh->birth = sequence_;
  discard(table);
  ids->tables[index] = fresh;
  return true;
}

SubTable* VersionBuilder::take_over(const SubTable& foreign, std::uint32_t table) noexcept {
  // As it is, so that no id has to be read: that would touch every block of a mapped index.
  if (!within_budget(SubTable::bytes_of(foreign.entry_capacity))) return nullptr;
  SubTable* own = copy_table(foreign);
  if (own == nullptr || !own->wants_rebuild()) return own;
  SubTable* fresh = rebuild(*own, table);
  end(own);
  return fresh;
}

SubTable* VersionBuilder::rebuild(const SubTable& old, std::uint32_t table) noexcept {
  // An entry is kept unless its row is gone from the working version or dead in the published one.
  // A row killed in this transaction is kept: the kill may still be undone. So is one of the
  // incoming segment, which no version shows yet (builder.hpp I6).
  const auto for_each_kept = [&](auto keep) {
    for (std::uint32_t i = 0; i < old.entry_capacity; ++i) {
      const std::uint32_t entry = old.entries()[i].load(sync::relaxed);
      if (entry == 0) continue;
      const Slot slot{entry - 1};
      std::uint64_t hash = 0;
      if (is_incoming(slot)) {
        const bool has_hash = hash_of_row(incoming_.segment()->ids()[slot.row()], &hash);
        if (has_hash && IdRoot::table_of(hash) == table) keep(hash, slot);
        continue;
      }
      const SegmentView* view = next_->view(slot.segment());
      if (view == nullptr || slot.row() >= view->rows) continue;
      const SegmentView* before = base_->view(slot.segment());
      if (before != nullptr && before->segment == view->segment && slot.row() < before->rows &&
          !before->is_live(slot.row())) {
        continue;
      }
      if (!view->rows_are_sound(slot.row() / simd::kBlockRows)) continue;
      const bool has_hash = hash_of_row(view->segment->ids()[slot.row()], &hash);
      // A slot that was given up and refilled may hold an id of another sub-table by now.
      if (has_hash && IdRoot::table_of(hash) == table) keep(hash, slot);
    }
  };
  std::size_t kept = 0;
  for_each_kept([&](std::uint64_t, Slot) { ++kept; });
  // At 11 in 20 it is rebuilt again after nearly half as many inserts as it holds.
  const std::size_t wanted = (kept + 1) * 20 / 11 + 1;
  const std::size_t capacity = wanted < kSubTableEntriesMin ? kSubTableEntriesMin : wanted;
  if (!within_budget(capacity * sizeof(SubTable::Entry))) return nullptr;
  SubTable* fresh = make_table(static_cast<std::uint32_t>(capacity));
  if (fresh == nullptr) return nullptr;
  // A damaged block may be found so only now: what is made then is never shown (engine/core.hpp).
  for_each_kept([&](std::uint64_t hash, Slot slot) {
    if (fresh->used < kept) fresh->insert(hash, slot);
  });
  return fresh;
}

namespace {

// Calls visit(object or null) for all that the version reaches, what is reached before what it is
// reached through, so that a visit may end the object.
template <class Visit>
void for_each_reached(const Version& version, Visit visit) noexcept {
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    if (view->live != nullptr) {
      for (const LivePage* page : view->live->pages) visit(page);
      visit(view->live);
    }
    visit(view->tail);
    visit(view->segment);
  }
  for (std::uint32_t i = 0; i < version.directory->leaf_capacity; ++i) {
    visit(version.directory->leaves()[i]);
  }
  visit(version.directory);
  for (const SubTable* table : version.ids->tables) visit(table);
  visit(version.ids);
  visit(version.calibration);
  if (!version.strings.any()) return;
  const StringDirectory* strings = version.strings.directory;
  for (std::uint32_t i = 0; i < strings->count; ++i) visit(strings->entries()[i].chunk);
  visit(strings);
}

}  // namespace

std::uint64_t VersionBuilder::recover(const Version& newest,
                                      std::uint64_t retired_bytes) noexcept {
  base_ = nullptr;
  next_ = nullptr;
  replaced_ = nullptr;
  opened_ = nullptr;
  spare_version_ = nullptr;
  spare_tail_ = nullptr;
  base_open_ = nullptr;
  open_.prepare(layout_, planes_[0].as<std::uint8_t>());
  incoming_.prepare(layout_, planes_[1].as<std::uint8_t>());
  std::uint64_t known_bytes = retired_bytes;
  const auto recover_object = [&known_bytes](const Versioned* object) {
    if (object == nullptr) return;
    auto* owned = const_cast<Versioned*>(object);
    owned->retire = 0;
    owned->next.store(nullptr, sync::relaxed);
    known_bytes += owned->bytes;
  };
  for_each_reached(newest, recover_object);
  recover_object(&newest);
  for (SubTable* table : newest.ids->tables) {
    if (table != nullptr && !table->foreign()) table->recount();
  }
  recount_strings(newest);
  choose_open(newest);
  const std::uint64_t counted = bytes_made() - bytes_ended_;
  return counted > known_bytes ? counted - known_bytes : 0;
}

// Any segment with room may take rows; the one with the most of it does.
void VersionBuilder::choose_open(const Version& newest) noexcept {
  const SegmentView* chosen = nullptr;
  const auto room = [](const SegmentView* view) {
    const bool takes_rows = view != nullptr && view->segment->writable() &&
                            view->segment->sealed_rows() == Segment::kNotSealed;
    return takes_rows ? view->segment->capacity() - view->rows : 0;
  };
  for (std::uint32_t number = 0; number < newest.segment_end; ++number) {
    if (room(newest.view(number)) > room(chosen)) chosen = newest.view(number);
  }
  if (chosen == nullptr) return;
  open_.turn_to(const_cast<Segment*>(chosen->segment));
  if (chosen->tail != nullptr) open_.load_plane(chosen->tail->bytes_begin());
}

void VersionBuilder::reopen(const Version& newest) noexcept {
  VICINAL_ASSERT(!active() && open_.segment() == nullptr);
  if (newest.strings.entries != newest.live_rows) recount_strings(newest);
  choose_open(newest);
}

void VersionBuilder::seal_segments(const Version& newest) noexcept {
  VICINAL_ASSERT(!active());
  close_open();
  for (std::uint32_t number = 0; number < newest.segment_end; ++number) {
    const SegmentView* view = newest.view(number);
    if (view == nullptr || view->segment->sealed_rows() != Segment::kNotSealed) continue;
    const_cast<Segment*>(view->segment)->seal(view->rows);  // the writer owns it
  }
}

void VersionBuilder::end_private() noexcept {
  for_each_reached(*next_, [this](const Versioned* object) {
    if (object != nullptr && object->birth == sequence_) discard(object);
  });
}

void VersionBuilder::destroy_version(Version* version) noexcept {
  const auto end = [](const Versioned* object) {
    if (object == nullptr) return;
    auto* owned = const_cast<Versioned*>(object);
    owned->destroy(owned);
  };
  for_each_reached(*version, end);
  end(version);
}

}  // namespace vicinal::segment
