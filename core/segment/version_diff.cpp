#include "segment/version_diff.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace vicinal::segment {
namespace {

// The leaf of this place, or null where the version has none: places at or past the end of its
// segments may have leaves of segments that went.
[[nodiscard]] const DirectoryLeaf* leaf_of(const Version* version, std::uint32_t place) noexcept {
  if (version == nullptr || place * kLeafViews >= version->segment_end) return nullptr;
  return version->directory->leaves()[place];
}

}  // namespace

bool VersionDiff::List::grow(std::size_t item_bytes) noexcept {
  constexpr std::size_t kItemsMin = 64;
  auto grown = AlignedBuffer::create(
      std::max(buffer_.size() + buffer_.size() / 2, kItemsMin * item_bytes));
  if (!grown.ok()) return false;
  if (buffer_.size() != 0) std::memcpy(grown->data(), buffer_.data(), buffer_.size());
  buffer_ = std::move(grown).value();
  return true;
}

void VersionDiff::clear() noexcept {
  for (List* list : {&dropped_, &opened_, &grown_, &dead_, &pages_}) list->clear();
  calibrated_ = false;
}

Status VersionDiff::compare(const Version* older, const Version& newer,
                            std::uint32_t page_from) noexcept {
  clear();
  page_from_ = page_from;
  const std::uint32_t end =
      std::max(older == nullptr ? 0 : older->segment_end, newer.segment_end);
  const bool same_directory = older != nullptr && older->directory == newer.directory;
  for (std::uint32_t first = 0; first < end && !same_directory; first += kLeafViews) {
    const DirectoryLeaf* before = leaf_of(older, first / kLeafViews);
    const DirectoryLeaf* now = leaf_of(&newer, first / kLeafViews);
    if (before == now) continue;
    if (!compare_leaves(before, now, first)) {
      clear();
      return Status(Code::full);
    }
  }
  const Calibration* before = older == nullptr ? nullptr : older->calibration;
  calibrated_ = newer.calibration != nullptr && newer.calibration != before;
  return {};
}

bool VersionDiff::compare_leaves(const DirectoryLeaf* older, const DirectoryLeaf* newer,
                                 std::uint32_t first) noexcept {
  const SegmentView none;
  for (std::uint32_t i = 0; i < kLeafViews; ++i) {
    const SegmentView& before = older == nullptr ? none : older->views[i];
    const SegmentView& now = newer == nullptr ? none : newer->views[i];
    if (!compare_views(before, now, first + i)) return false;
  }
  return true;
}

bool VersionDiff::compare_views(const SegmentView& older, const SegmentView& newer,
                                std::uint32_t number) noexcept {
  // Both are pinned, so that a pointer means one segment.
  const bool same = older.segment == newer.segment;
  if (!same && older.segment != nullptr && !dropped_.push(number)) return false;
  if (newer.segment == nullptr) return true;
  if (!same && !opened_.push(&newer)) return false;
  const std::uint32_t rows_before = same ? older.rows : 0;
  VICINAL_ASSERT(newer.rows >= rows_before);
  if (newer.rows != rows_before && !grown_.push(Grown{&newer, rows_before})) return false;
  const LiveMap* live_before = same ? older.live : nullptr;
  return live_before == newer.live || compare_live(live_before, newer);
}

bool VersionDiff::compare_live(const LiveMap* older, const SegmentView& newer) noexcept {
  VICINAL_ASSERT(newer.live != nullptr);  // a slot once dead stays dead
  for (std::uint32_t page = 0; page < kLivePages; ++page) {
    const LivePage* before = older == nullptr ? nullptr : older->pages[page];
    const LivePage* now = newer.live->pages[page];
    if (before != now && !compare_pages(before, now, newer.segment->number(), page)) return false;
  }
  return true;
}

bool VersionDiff::compare_pages(const LivePage* older, const LivePage* newer, std::uint32_t number,
                                std::uint32_t page) noexcept {
  VICINAL_ASSERT(newer != nullptr);
  std::uint32_t died = 0;
  const auto died_of = [&](std::uint32_t word) {
    const std::uint32_t before = older == nullptr ? ~std::uint32_t{0} : older->words[word];
    VICINAL_DEBUG_ASSERT((newer->words[word] & ~before) == 0);
    return before & ~newer->words[word];
  };
  for (std::uint32_t word = 0; word < kLivePageBlocks; ++word) {
    died += static_cast<std::uint32_t>(std::popcount(died_of(word)));
  }
  if (died == 0) return true;
  if (died >= page_from_) return pages_.push(Page{number, page, newer});
  for (std::uint32_t word = 0; word < kLivePageBlocks; ++word) {
    const std::uint32_t first = (page * kLivePageBlocks + word) * simd::kBlockRows;
    for (std::uint32_t bits = died_of(word); bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(bits));
      if (!dead_.push(Slot::of(number, first + lane))) return false;
    }
  }
  return true;
}

}  // namespace vicinal::segment
