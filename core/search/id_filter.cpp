#include "search/id_filter.hpp"

#include <algorithm>
#include <new>

#include "search/buffers.hpp"

namespace vicinal::search {

using segment::SegmentView;
using segment::Version;

Result<std::unique_ptr<IdFilter>> IdFilter::create(std::span<const std::uint64_t> ids) noexcept {
  std::unique_ptr<IdFilter> filter(new (std::nothrow) IdFilter);
  if (filter == nullptr) return Status(Code::full, sizeof(IdFilter));
  if (Status status = reserve(filter->ids_, ids.size_bytes()); !status.ok()) return status;
  auto* own = filter->ids_.as<std::uint64_t>();
  std::copy(ids.begin(), ids.end(), own);
  std::sort(own, own + ids.size());
  filter->count_ = static_cast<std::size_t>(std::unique(own, own + ids.size()) - own);
  return filter;
}

namespace {

[[nodiscard]] bool key_precedes(const segment::StringKey& a, const segment::StringKey& b) noexcept {
  return a.hash != b.hash ? a.hash < b.hash : a.text < b.text;
}

[[nodiscard]] bool same_key(const segment::StringKey& a, const segment::StringKey& b) noexcept {
  return a.hash == b.hash && a.text == b.text;
}

}  // namespace

Result<std::unique_ptr<IdFilter>> IdFilter::create(
    std::span<const std::string_view> strings) noexcept {
  std::unique_ptr<IdFilter> filter(new (std::nothrow) IdFilter);
  if (filter == nullptr) return Status(Code::full, sizeof(IdFilter));
  filter->strings_ = true;
  std::size_t bytes = 0;
  for (const std::string_view string : strings) bytes += string.size();
  Status status = reserve(filter->text_, bytes);
  if (status.ok()) status = reserve(filter->keys_, strings.size() * sizeof(segment::StringKey));
  if (!status.ok()) return status;
  auto* text = filter->text_.as<char>();
  auto* keys = filter->keys_.as<segment::StringKey>();
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::size_t length = strings[i].copy(text, strings[i].size());
    new (keys + i) segment::StringKey(segment::StringKey::of({text, length}));
    text += length;
  }
  std::sort(keys, keys + strings.size(), key_precedes);
  filter->count_ =
      static_cast<std::size_t>(std::unique(keys, keys + strings.size(), same_key) - keys);
  return filter;
}

bool IdFilter::lists(const Version& version, std::uint64_t id) const noexcept {
  if (!strings_) return std::binary_search(ids().begin(), ids().end(), id);
  // The string of a dead row may be gone.
  const segment::Strings::Place place = version.strings.find(segment::Handle{id});
  if (place.chunk == nullptr) return false;
  const segment::StringKey key{place.chunk->text(place.entry), place.chunk->hash(place.entry)};
  return std::binary_search(keys().begin(), keys().end(), key, key_precedes);
}

Status IdFilter::update(const Version& version) noexcept {
  if (compiled_ && version.sequence == sequence_) return {};
  bool replaced = !compiled_ || version.sequence < sequence_;
  const std::uint64_t new_rows = replaced ? 0 : count_new_rows(version, &replaced);
  // A look at a new row costs about as much as a look-up of an id.
  const bool anew = replaced || new_rows > count_;
  compiled_ = false;
  Status status = anew ? compile(version) : extend(version, new_rows);
  if (status.ok()) status = cover(version);
  if (!status.ok()) return status;
  compiled_ = true;
  sequence_ = version.sequence;
  return {};
}

std::uint64_t IdFilter::count_new_rows(const Version& version, bool* replaced) const noexcept {
  const auto* covered = covered_.as<Covered>();
  std::uint64_t rows = 0;
  for (std::uint32_t number = 0; number < std::max(version.segment_end, covered_end_); ++number) {
    const SegmentView* view = version.view(number);
    const bool known = number < covered_end_ && covered[number].present != 0;
    if (known && (view == nullptr || view->segment->birth != covered[number].birth)) {
      *replaced = true;
      return 0;
    }
    if (view == nullptr) continue;
    const std::uint32_t before = known ? covered[number].rows : 0;
    VICINAL_ASSERT(view->rows >= before);
    rows += view->rows - before;
  }
  return rows;
}

Status IdFilter::compile(const Version& version) noexcept {
  const Status status =
      strings_ ? allowed_.resolve(version, keys()) : allowed_.resolve(version, ids());
  if (status.ok()) allowed_.sort_blocks();
  return status;
}

Status IdFilter::extend(const Version& version, std::uint64_t new_rows) noexcept {
  const std::size_t blocks = allowed_.blocks().size() + static_cast<std::size_t>(new_rows);
  if (Status status = allowed_.grow(version.segment_end, blocks); !status.ok()) return status;
  const std::size_t listed = allowed_.blocks().size();
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    if (view == nullptr) continue;
    const std::uint64_t* row_ids = view->segment->ids();
    std::uint32_t row = number < covered_end_ ? covered_.as<Covered>()[number].rows : 0;
    for (; row < view->rows; ++row) {
      if (!view->rows_are_sound(row / simd::kBlockRows)) continue;
      if (lists(version, row_ids[row])) allowed_.allow(segment::Slot::of(number, row));
    }
  }
  if (allowed_.blocks().size() != listed) allowed_.sort_blocks();
  return {};
}

Status IdFilter::cover(const Version& version) noexcept {
  if (Status status = reserve_keeping(covered_, version.segment_end * sizeof(Covered));
      !status.ok()) {
    return status;
  }
  covered_end_ = version.segment_end;
  for (std::uint32_t number = 0; number < covered_end_; ++number) {
    const SegmentView* view = version.view(number);
    Covered& covered = covered_.as<Covered>()[number];
    covered = view == nullptr ? Covered{} : Covered{view->segment->birth, view->rows, 1};
  }
  return {};
}

}  // namespace vicinal::search
