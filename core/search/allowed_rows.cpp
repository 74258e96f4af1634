#include "search/allowed_rows.hpp"

#include <algorithm>

#include "search/buffers.hpp"

namespace vicinal::search {
namespace {

using segment::Slot;

// Ids are looked up this far behind the first touch of their place in the id table.
constexpr std::size_t kLookAhead = 8;

void prefetch_entry(const segment::IdRoot& root, std::uint64_t hash) noexcept {
  const segment::SubTable* table = root.tables[segment::IdRoot::table_of(hash)];
  if (table == nullptr) return;
  __builtin_prefetch(table->entries() + table->home(hash));
}

// The row behind `slot` if it has this id: lists tend to follow the order in which rows were added,
// and one id has one row, so that a match needs no look-up.
[[nodiscard]] Slot next_if(const segment::Version& version, Slot slot, std::uint64_t id) noexcept {
  const std::uint32_t row = slot.row() + 1;
  const segment::SegmentView* view = version.view(slot.segment());
  VICINAL_DEBUG_ASSERT(view != nullptr);
  if (row >= view->rows || !view->rows_are_sound(row / simd::kBlockRows) ||
      view->segment->ids()[row] != id || !view->is_live(row)) {
    return {};
  }
  return Slot::of(slot.segment(), row);
}

}  // namespace

Status AllowedRows::grow(std::uint32_t segment_end, std::size_t blocks) noexcept {
  const std::size_t words = std::size_t{segment_end} * kSegmentBlocks;
  Status status = reserve_keeping(masks_buffer_, words * sizeof(std::uint32_t));
  if (status.ok()) {
    status = reserve_keeping(touched_buffer_, std::min(blocks, words) * sizeof(std::uint32_t));
  }
  masks_ = masks_buffer_.as<std::uint32_t>();
  touched_ = touched_buffer_.as<std::uint32_t>();
  return status;
}

Status AllowedRows::resolve(const segment::Version& version,
                            std::span<const std::uint64_t> ids) noexcept {
  clear();
  if (ids.empty() || version.segment_end == 0) return {};
  if (Status status = grow(version.segment_end, ids.size()); !status.ok()) return status;

  Slot last;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Slot slot = last.valid() ? next_if(version, last, ids[i]) : Slot{};
    if (!slot.valid()) {
      if (i + kLookAhead < ids.size()) {
        prefetch_entry(*version.ids, segment::IdRoot::hash(ids[i + kLookAhead]));
      }
      slot = version.find(ids[i]);
    }
    last = slot;
    if (slot.valid()) allow(slot);
  }
  return {};
}

Status AllowedRows::resolve(const segment::Version& version,
                            std::span<const std::string_view> strings) noexcept {
  return resolve_keys(version, strings.size(),
                      [&](std::size_t i) { return segment::StringKey::of(strings[i]); });
}

Status AllowedRows::resolve(const segment::Version& version,
                            std::span<const segment::StringKey> keys) noexcept {
  return resolve_keys(version, keys.size(), [&](std::size_t i) { return keys[i]; });
}

template <class KeyOf>
Status AllowedRows::resolve_keys(const segment::Version& version, std::size_t count,
                                 KeyOf key_of) noexcept {
  clear();
  if (count == 0 || version.segment_end == 0) return {};
  if (Status status = grow(version.segment_end, count); !status.ok()) return status;
  // A ring of those whose places are on their way.
  segment::StringKey keys[kLookAhead];
  for (std::size_t i = 0; i < count + kLookAhead; ++i) {
    segment::StringKey& key = keys[i % kLookAhead];
    if (i >= kLookAhead && i - kLookAhead < count) {
      const Slot slot = version.find(key);
      if (slot.valid()) allow(slot);
    }
    if (i >= count) continue;
    key = key_of(i);
    prefetch_entry(*version.ids, key.hash);
  }
  return {};
}

void AllowedRows::sort_blocks() noexcept {
  std::sort(touched_, touched_ + touched_count_);
}

void AllowedRows::allow(Slot slot) noexcept {
  const std::uint32_t block = slot.value / simd::kBlockRows;
  const std::uint32_t lane = std::uint32_t{1} << slot.value % simd::kBlockRows;
  std::uint32_t& mask = masks_[block];
  VICINAL_DEBUG_ASSERT((touched_count_ + 1) * sizeof(std::uint32_t) <= touched_buffer_.size() ||
                       mask != 0);
  if (mask == 0) touched_[touched_count_++] = block;
  rows_ += (mask & lane) == 0;
  mask |= lane;
}

void AllowedRows::clear() noexcept {
  for (std::size_t i = 0; i < touched_count_; ++i) masks_[touched_[i]] = 0;
  touched_count_ = 0;
  rows_ = 0;
}

}  // namespace vicinal::search
