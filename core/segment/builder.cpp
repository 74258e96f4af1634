#include "segment/builder.hpp"

#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/bits.hpp"

namespace vicinal::segment {

using sync::Versioned;

VersionBuilder::VersionBuilder(const quant::CodeLayout& layout,
                               std::uint64_t memory_bytes_max, IdKind ids,
                               Originals originals) noexcept
    : layout_(layout),
      memory_bytes_max_(memory_bytes_max),
      ids_(ids),
      original_bytes_(quant::original_row_bytes(originals, layout.dim)) {}

VersionBuilder::~VersionBuilder() {
  VICINAL_ASSERT(!active());
  end_incoming();
  if (spare_version_ != nullptr) spare_version_->destroy(spare_version_);
  if (spare_tail_ != nullptr) spare_tail_->destroy(spare_tail_);
}

bool VersionBuilder::within_budget(std::size_t bytes) const noexcept {
  return memory_bytes_max_ == 0 || bytes_made() - bytes_ended_ + bytes <= memory_bytes_max_;
}

void VersionBuilder::discard(const Versioned* object) noexcept {
  if (object == nullptr) return;
  // The writer owns every object; constness is for readers.
  auto* owned = const_cast<Versioned*>(object);
  if (owned->birth == sequence_) {  // I1: private, nobody else has seen it
    end(owned);
    return;
  }
  owned->next.store(replaced_, sync::relaxed);
  replaced_ = owned;
}

Status VersionBuilder::prepare() noexcept {
  for (AlignedBuffer& plane : planes_) {
    auto made = AlignedBuffer::create(layout_.plane_block_bytes + simd::kOverread);
    if (!made.ok()) return made.status();
    plane = std::move(made).value();
  }
  open_.prepare(layout_, planes_[0].as<std::uint8_t>());
  incoming_.prepare(layout_, planes_[1].as<std::uint8_t>());
  return {};
}

Result<Version*> VersionBuilder::make_first(std::uint64_t sequence) noexcept {
  VICINAL_ASSERT(!active());
  sequence_ = sequence;
  auto* version = make<Version>();
  auto* directory = make<DirectoryRoot>();
  auto* ids = make<IdRoot>();
  auto* strings = ids_ == IdKind::string ? make<StringDirectory>() : nullptr;
  if (version == nullptr || directory == nullptr || ids == nullptr ||
      (strings == nullptr && ids_ == IdKind::string)) {
    for (Versioned* object : {static_cast<Versioned*>(version), static_cast<Versioned*>(directory),
                              static_cast<Versioned*>(ids), static_cast<Versioned*>(strings)}) {
      if (object != nullptr) end(object);
    }
    return Status(Code::full);
  }
  version->sequence = sequence;
  version->directory = directory;
  version->ids = ids;
  version->strings.directory = strings;
  return version;
}

Status VersionBuilder::begin(const Version& base, std::uint64_t sequence) noexcept {
  VICINAL_ASSERT(!active() && sequence > base.sequence);
  VICINAL_ASSERT(replaced_ == nullptr && opened_ == nullptr);
  if (spare_version_ == nullptr) spare_version_ = make<Version>();
  if (spare_tail_ == nullptr) {
    spare_tail_ = make<TailPlane>(layout_.plane_block_bytes + simd::kOverread);
  }
  if (spare_version_ == nullptr || spare_tail_ == nullptr) return Status(Code::full);
  base_ = &base;
  base_open_ = open_.segment();
  sequence_ = sequence;
  next_ = spare_version_;
  next_->birth = sequence_;
  next_->sequence = sequence_;
  next_->live_rows = base.live_rows;
  next_->dead_rows = base.dead_rows;
  next_->rows_dropped = base.rows_dropped;
  next_->segment_end = base.segment_end;
  next_->directory = base.directory;
  next_->ids = base.ids;
  next_->calibration = base.calibration;
  next_->strings = base.strings;
  changed_ = false;
  killed_ = false;
  strings_killed_ = 0;
  return {};
}

DirectoryRoot* VersionBuilder::mutable_directory(std::uint32_t leaf_count) noexcept {
  auto* old = const_cast<DirectoryRoot*>(next_->directory);
  if (old->birth == sequence_ && old->leaf_capacity >= leaf_count) return old;
  const std::uint32_t capacity =
      leaf_count > old->leaf_capacity ? leaf_count + leaf_count / 4 : old->leaf_capacity;
  auto* fresh = make<DirectoryRoot>(capacity * sizeof(const DirectoryLeaf*));
  if (fresh == nullptr) return nullptr;
  fresh->leaf_capacity = capacity;
  for (std::uint32_t i = 0; i < capacity; ++i) {
    fresh->leaves()[i] = i < old->leaf_capacity ? old->leaves()[i] : nullptr;
  }
  next_->directory = fresh;
  discard(old);
  return fresh;
}

SegmentView* VersionBuilder::mutable_view(std::uint32_t number) noexcept {
  VICINAL_ASSERT(number < kSegmentsMax);
  DirectoryRoot* directory = mutable_directory(number / kLeafViews + 1);
  if (directory == nullptr) return nullptr;
  DirectoryLeaf* leaf = directory->leaves()[number / kLeafViews];
  if (leaf == nullptr || leaf->birth != sequence_) {
    DirectoryLeaf* fresh = leaf == nullptr ? make<DirectoryLeaf>() : copy(*leaf);
    if (fresh == nullptr) return nullptr;
    directory->leaves()[number / kLeafViews] = fresh;
    discard(leaf);
    leaf = fresh;
  }
  return &leaf->views[number % kLeafViews];
}

std::uint32_t VersionBuilder::free_number() const noexcept {
  const Segment* incoming = incoming_.segment();
  const auto is_free = [&](std::uint32_t number) {
    return next_->view(number) == nullptr && (incoming == nullptr || incoming->number() != number);
  };
  std::uint32_t number = 0;
  while (!is_free(number)) ++number;
  return number;
}

std::uint32_t VersionBuilder::capacity_for(std::uint64_t rows_wanted) const noexcept {
  std::uint32_t capacity = kSegmentRowsMin;
  while (capacity < rows_wanted && capacity < kSegmentRowsMax &&
         segment_bytes(capacity * 2) <= kSlabBytesMax) {
    capacity *= 2;
  }
  return capacity;
}

Segment* VersionBuilder::make_segment(std::uint32_t number, std::uint64_t rows_wanted) noexcept {
  // A budget that refuses a large slab may still hold a smaller one.
  std::uint32_t capacity = capacity_for(rows_wanted);
  for (; capacity >= kSegmentRowsMin; capacity /= 2) {
    if (!within_budget(segment_bytes(capacity))) continue;
    Segment* segment = make_slab(number, capacity);
    if (segment == nullptr) continue;
    segment->birth = sequence_;
    return segment;
  }
  return nullptr;
}

bool VersionBuilder::open_segment(std::uint64_t rows_expected) noexcept {
  const std::uint32_t number = free_number();
  // The very last slot is never used: it stands for "none".
  if (number >= kSegmentsMax - 1) return false;
  SegmentView* view = mutable_view(number);
  if (view == nullptr) return false;
  // As many rows again as there are: dead ones do not count, or an index under replacements would
  // open ever larger segments.
  const std::uint64_t present = next_->live_rows;
  Segment* segment = make_segment(number, present > rows_expected ? present : rows_expected);
  if (segment == nullptr) return false;
  *view = SegmentView{};
  view->segment = segment;
  if (number >= next_->segment_end) next_->segment_end = number + 1;
  segment->next.store(opened_, sync::relaxed);
  opened_ = segment;
  open_.turn_to(segment);
  return true;
}

VersionBuilder::Savepoint VersionBuilder::savepoint() const noexcept {
  VICINAL_ASSERT(active());
  Segment* open = open_.segment();
  const SegmentView* view = open == nullptr ? nullptr : next_->view(open->number());
  const Strings& strings = next_->strings;
  return {open, view == nullptr ? 0 : view->rows, next_->live_rows, opened_, strings.end,
          strings.entries, strings.any() && strings.directory->open, changed_};
}

Status VersionBuilder::append(std::uint64_t id, const std::uint8_t* packed_row,
                              const quant::RowFactors& factors, std::uint64_t rows_expected,
                              const std::uint8_t* original) noexcept {
  VICINAL_ASSERT(ids_ == IdKind::number);
  return append_row(IdRoot::hash(id), nullptr, id, packed_row, factors, rows_expected, original);
}

Status VersionBuilder::append(const StringKey& key, const std::uint8_t* packed_row,
                              const quant::RowFactors& factors, std::uint64_t rows_expected,
                              const std::uint8_t* original) noexcept {
  VICINAL_ASSERT(ids_ == IdKind::string && key.text.size() <= kStringBytesMax);
  return append_row(key.hash, &key, 0, packed_row, factors, rows_expected, original);
}

// `key`: null where the row carries `id`.
Status VersionBuilder::append_row(std::uint64_t hash, const StringKey* key, std::uint64_t id,
                                  const std::uint8_t* packed_row,
                                  const quant::RowFactors& factors, std::uint64_t rows_expected,
                                  const std::uint8_t* original) noexcept {
  VICINAL_ASSERT(active());
  const Segment* open = open_.segment();
  const SegmentView* shown = open == nullptr ? nullptr : next_->view(open->number());
  if ((shown == nullptr || shown->rows == open->capacity()) && !open_segment(rows_expected)) {
    return full_status();
  }
  const std::uint32_t number = open_.segment()->number();
  SegmentView* view = mutable_view(number);
  if (view == nullptr || !reserve_hint(hash) ||
      (key != nullptr && !reserve_string(key->text.size()))) {
    return full_status();
  }
  const std::uint32_t row = view->rows;
  next_->ids->tables[IdRoot::table_of(hash)]->insert(hash, Slot::of(number, row));
  open_.store(row, packed_row, factors, key == nullptr ? id : put_string(*key), original);
  view->rows = row + 1;
  ++next_->live_rows;
  changed_ = true;
  if (view->rows % simd::kBlockRows == 0) {  // the slab has the block's plane now
    discard(view->tail);
    view->tail = nullptr;
  }
  return {};
}

void VersionBuilder::rollback(const Savepoint& savepoint) noexcept {
  VICINAL_ASSERT(active());
  const std::uint32_t rows = savepoint.open_rows;
  Segment* open = open_.segment();
  const SegmentView* now = open == nullptr ? nullptr : next_->view(open->number());
  const bool same_block = open == savepoint.open && now != nullptr &&
                          now->rows / simd::kBlockRows == rows / simd::kBlockRows;
  while (opened_ != savepoint.opened) {
    Segment* segment = opened_;
    opened_ = static_cast<Segment*>(segment->next.load(sync::relaxed));
    SegmentView* view = mutable_view(segment->number());  // private since it was opened
    discard_live(*view);  // of rows that were killed and revived
    *view = SegmentView{};
    discard(segment);
  }
  open = savepoint.open;
  open_.turn_to(open);
  next_->live_rows = savepoint.live_rows;
  if (ids_ == IdKind::string) rollback_strings(savepoint);
  changed_ = savepoint.changed;
  if (open == nullptr) return;
  now = next_->view(open->number());
  if (now->rows == rows) return;
  mutable_view(open->number())->rows = rows;  // private: its rows changed
  if (!same_block && rows % simd::kBlockRows != 0) {
    open_.load_plane(open->plane(rows / simd::kBlockRows));
  }
}

Version* VersionBuilder::finish() noexcept {
  VICINAL_ASSERT(active());
  while (opened_ != nullptr) {
    Segment* segment = opened_;
    opened_ = static_cast<Segment*>(segment->next.load(sync::relaxed));
    segment->next.store(nullptr, sync::relaxed);
  }
  if (killed_) drop_dead_segments();
  publish_tail();
  discard(base_);
  Version* version = next_;
  next_ = nullptr;
  spare_version_ = nullptr;
  return version;
}

void VersionBuilder::publish_tail() noexcept {
  const Segment* open = open_.segment();
  if (open == nullptr) return;
  const SegmentView* shown = next_->view(open->number());
  if (shown == nullptr || shown->rows % simd::kBlockRows == 0) return;
  const SegmentView* before = base_->view(open->number());
  const bool unchanged = before != nullptr && before->segment == open &&
                         before->rows == shown->rows && shown->tail != nullptr;
  if (unchanged) return;
  SegmentView* view = mutable_view(open->number());
  VICINAL_ASSERT(view != nullptr && spare_tail_ != nullptr);  // its rows changed, so it is private
  discard(view->tail);
  spare_tail_->birth = sequence_;
  std::memcpy(spare_tail_->bytes_begin(), open_.plane(), layout_.plane_block_bytes);
  view->tail = spare_tail_;
  spare_tail_ = nullptr;
}

void VersionBuilder::retire_replaced(sync::Reclaimer& reclaimer) noexcept {
  while (replaced_ != nullptr) {
    Versioned* object = replaced_;
    replaced_ = object->next.load(sync::relaxed);
    reclaimer.retire(object, sequence_);
  }
}

void VersionBuilder::abandon() noexcept {
  VICINAL_ASSERT(active());
  end_private();
  if (strings_killed_ != 0) recount_strings(*base_);
  while (replaced_ != nullptr) {  // these are still the base's
    Versioned* object = replaced_;
    replaced_ = object->next.load(sync::relaxed);
    object->next.store(nullptr, sync::relaxed);
  }
  opened_ = nullptr;
  next_ = nullptr;
  open_.turn_to(base_open_);
  if (base_open_ == nullptr) return;
  const SegmentView* view = base_->view(base_open_->number());
  VICINAL_ASSERT(view != nullptr && view->segment == base_open_);
  if (view->tail != nullptr) open_.load_plane(view->tail->bytes_begin());
}

}  // namespace vicinal::segment
