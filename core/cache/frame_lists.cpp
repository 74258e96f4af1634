#include "cache/frame_lists.hpp"

#include <new>

#include "base/assert.hpp"

namespace vicinal::cache {

using sync::relaxed;

Result<std::unique_ptr<FrameLists>> FrameLists::create(std::uint32_t partitions,
                                                       std::uint32_t frames) noexcept {
  VICINAL_ASSERT(partitions > 0 && partitions <= kPartitionsMax && frames < kNone);
  std::unique_ptr<FrameLists> made(new (std::nothrow) FrameLists);
  if (made == nullptr) return Status(Code::full, sizeof(FrameLists));
  made->partitions_ = partitions;
  made->lists_.reset(new (std::nothrow) List[partitions]);
  made->next_.reset(new (std::nothrow) std::uint32_t[frames]);
  if (made->lists_ == nullptr || made->next_ == nullptr) {
    return Status(Code::full, partitions * sizeof(List) + frames * sizeof(std::uint32_t));
  }
  for (std::uint32_t frame = frames; frame-- > 0;) made->give(frame % partitions, frame);
  return made;
}

void FrameLists::give(std::uint32_t partition, std::uint32_t frame) noexcept {
  VICINAL_ASSERT(partition < partitions_);
  List& list = lists_[partition];
  const sync::ShortLock::Held held(list.lock);
  next_[frame] = list.first;
  list.first = frame;
  ++list.given;
  if (list.count++ == 0) {
    filled_[partition / 64].fetch_or(std::uint64_t{1} << partition % 64, relaxed);  // I2
  }
}

std::uint32_t FrameLists::pop(std::uint32_t partition) noexcept {
  List& list = lists_[partition];
  const sync::ShortLock::Held held(list.lock);
  const std::uint32_t frame = list.first;
  if (frame == kNone) return kNone;
  list.first = next_[frame];
  if (--list.count == 0) {
    filled_[partition / 64].fetch_and(~(std::uint64_t{1} << partition % 64), relaxed);  // I2
  }
  VICINAL_ASSERT((list.first == kNone) == (list.count == 0));
  return frame;
}

std::uint32_t FrameLists::take_filled(std::uint32_t partition, std::uint64_t& steals) noexcept {
  const std::uint32_t words = (partitions_ + 63) / 64;
  const std::uint32_t start = partition / 64;
  // The first word twice: its bits above the partition's own, and at last those below.
  for (std::uint32_t i = 0; i <= words; ++i) {
    const std::uint32_t word = (start + i) % words;
    std::uint64_t filled = filled_[word].load(relaxed);
    if (i == 0) filled &= ~std::uint64_t{0} << partition % 64;
    for (; filled != 0; filled &= filled - 1) {
      const std::uint32_t other = word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(filled));
      const std::uint32_t frame = pop(other);
      if (frame == kNone) continue;
      steals += other != partition ? 1 : 0;
      return frame;
    }
  }
  return kNone;
}

std::uint32_t FrameLists::try_take(std::uint32_t partition, std::uint64_t& steals) noexcept {
  VICINAL_ASSERT(partition < partitions_);
  const std::uint32_t frame = pop(partition);
  return frame != kNone ? frame : take_filled(partition, steals);
}

std::uint32_t FrameLists::look(std::uint32_t partition, std::uint64_t& given,
                               std::uint64_t& steals) noexcept {
  given = 0;
  for (std::uint32_t i = 0; i < partitions_; ++i) {
    const std::uint32_t other = (partition + i) % partitions_;
    {
      const sync::ShortLock::Held held(lists_[other].lock);
      if (lists_[other].first == kNone) {
        given += lists_[other].given;
        continue;
      }
    }
    const std::uint32_t frame = pop(other);
    if (frame != kNone) {
      steals += other != partition ? 1 : 0;
      return frame;
    }
    given = ~std::uint64_t{0};  // it came and went: no sum is like this one
    return kNone;
  }
  return kNone;
}

std::uint32_t FrameLists::take(std::uint32_t partition, std::uint64_t& steals) noexcept {
  const std::uint32_t quick = try_take(partition, steals);
  if (quick != kNone) return quick;
  for (std::uint64_t before = ~std::uint64_t{0};;) {
    std::uint64_t given = 0;
    const std::uint32_t frame = look(partition, given, steals);
    if (frame != kNone) return frame;
    const bool same = given == before && given != ~std::uint64_t{0};
    if (same) return kNone;
    before = given;
  }
}

std::uint32_t FrameLists::count() noexcept {
  std::uint32_t total = 0;
  for (std::uint32_t i = 0; i < partitions_; ++i) {
    const sync::ShortLock::Held held(lists_[i].lock);
    total += lists_[i].count;
  }
  return total;
}

}  // namespace vicinal::cache
