// What one version has that an older one has not: what a commit record says.
//
// Thread safety: a VersionDiff belongs to one thread; both versions are pinned by its user while
// they are compared and for as long as the spans are used.
// I1: the cost follows what differs, beside one pointer for sixteen segments: directory leaves,
//     live maps and live pages that both versions share are not looked at.
// I2: numbers ascend in every list; a number whose segment was dropped and given to another one is
//     in `dropped` and in `opened`. Applied in the order dropped, origin, opened, grown, dead,
//     pages to the older version, they make the newer one (replay.hpp), whatever happened between.
// I3: memory grows by need and is kept: comparing what was compared before allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"

namespace vicinal::segment {

class VersionDiff {
 public:
  // A segment with more rows than before; one that was opened had none.
  struct Grown {
    const SegmentView* view;  // of the newer version; never null
    std::uint32_t rows_before;
  };
  struct Page {
    std::uint32_t number;
    std::uint32_t page;
    const LivePage* words;
  };
  // A page of live bits takes as much room in a record as so many slots.
  static constexpr std::uint32_t kPageSlots = kLivePageBlocks + 2;

  // `older` null: there was nothing. Rows of one live page that died are listed one by one when
  // they are fewer than `page_from`, else as the whole page; 0: always as pages. FULL: nothing is
  // known.
  Status compare(const Version* older, const Version& newer,
                 std::uint32_t page_from = kPageSlots) noexcept;

  [[nodiscard]] std::span<const std::uint32_t> dropped() const noexcept {
    return dropped_.span<std::uint32_t>();
  }
  [[nodiscard]] std::span<const SegmentView* const> opened() const noexcept {
    return opened_.span<const SegmentView*>();
  }
  [[nodiscard]] std::span<const Grown> grown() const noexcept { return grown_.span<Grown>(); }
  [[nodiscard]] std::span<const Slot> dead() const noexcept { return dead_.span<Slot>(); }
  [[nodiscard]] std::span<const Page> pages() const noexcept { return pages_.span<Page>(); }
  // Whether the newer version has an origin that the older one has not.
  [[nodiscard]] bool calibrated() const noexcept { return calibrated_; }

 private:
  // An array that grows by half, or says that it cannot.
  class List {
   public:
    void clear() noexcept { count_ = 0; }
    template <class T>
    [[nodiscard]] bool push(const T& value) noexcept {
      if ((count_ + 1) * sizeof(T) > buffer_.size() && !grow(sizeof(T))) return false;
      buffer_.as<T>()[count_++] = value;
      return true;
    }
    template <class T>
    [[nodiscard]] std::span<const T> span() const noexcept {
      return {buffer_.as<T>(), count_};
    }

   private:
    [[nodiscard]] bool grow(std::size_t item_bytes) noexcept;
    AlignedBuffer buffer_;
    std::size_t count_ = 0;
  };

  void clear() noexcept;
  [[nodiscard]] bool compare_leaves(const DirectoryLeaf* older, const DirectoryLeaf* newer,
                                    std::uint32_t first) noexcept;
  [[nodiscard]] bool compare_views(const SegmentView& older, const SegmentView& newer,
                                   std::uint32_t number) noexcept;
  [[nodiscard]] bool compare_live(const LiveMap* older, const SegmentView& newer) noexcept;
  [[nodiscard]] bool compare_pages(const LivePage* older, const LivePage* newer,
                                   std::uint32_t number, std::uint32_t page) noexcept;

  std::uint32_t page_from_ = kPageSlots;
  bool calibrated_ = false;
  List dropped_;
  List opened_;
  List grown_;
  List dead_;
  List pages_;
};

}  // namespace vicinal::segment
