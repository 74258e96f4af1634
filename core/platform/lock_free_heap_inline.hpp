// The algorithm of lock_free_heap.hpp, which includes this file; nobody else does.
//
// Thread safety and invariants: see there.
#pragma once

#include "platform/lock_free_heap.hpp"

namespace vicinal::platform {

template <class Steps>
LockFreeHeap<Steps>::LockFreeHeap(void* base, std::uint64_t bytes) noexcept {
  // All in 64 bits: a range may end at 4 GiB, which a 32-bit address cannot name.
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(base);
  const std::uint64_t words_at = round_up(begin, kHeapLine);
  const std::uint64_t end = begin + bytes;
  std::uint64_t pages = words_at < end ? (end - words_at) / kHeapPageBytes : 0;
  if (pages > kHeapPagesMax) pages = kHeapPagesMax;
  const std::uint64_t words = divide_up(pages, 64);
  const std::uint64_t heads_at = words_at + 2 * 8 * words;
  const std::uint64_t entries_at = heads_at + kBlockClasses * kHeapLine;
  const std::uint64_t pages_at = round_up(entries_at + 4 * pages, kHeapPageBytes);
  const std::uint64_t fit = pages_at < end ? (end - pages_at) / kHeapPageBytes : 0;
  pages_ = static_cast<std::uint32_t>(fit < pages ? fit : pages);
  if (pages_ == 0) return;
  auto* bytes_at = static_cast<std::byte*>(base) + (words_at - begin);
  taken_ = reinterpret_cast<std::uint64_t*>(bytes_at);
  dirty_ = taken_ + words;
  heads_ = dirty_ + words;
  entries_ = reinterpret_cast<std::uint32_t*>(bytes_at + (entries_at - words_at));
  first_page_ = bytes_at + (pages_at - words_at);
}

template <class Steps>
void* LockFreeHeap<Steps>::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  VICINAL_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
  const std::uint32_t size_class = class_for(bytes, alignment);
  if (size_class == kNone) {
    const std::uint32_t page = allocate_run(bytes, alignment, Content::any);
    return page == kNone ? nullptr : page_address(page);
  }
  void* block = allocate_block(size_class);
  if (block == nullptr || alignment <= kBlockAlignment) return block;
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(block);
  return static_cast<std::byte*>(block) + (round_up(address, alignment) - address);
}

template <class Steps>
void* LockFreeHeap<Steps>::allocate_zeroed(std::uint64_t bytes, std::uint64_t alignment) {
  VICINAL_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
  if (class_for(bytes, alignment) != kNone) {
    void* block = allocate(bytes, alignment);
    if (block != nullptr) std::memset(block, 0, static_cast<std::size_t>(bytes));
    return block;
  }
  const std::uint32_t page = allocate_run(bytes, alignment, Content::zero);
  return page == kNone ? nullptr : page_address(page);
}

template <class Steps>
void LockFreeHeap<Steps>::free(void* memory) {
  if (memory == nullptr) return;
  const std::uint32_t page = page_of(memory);
  const std::uint32_t entry = entry_of(page);
  if ((entry & 3) == kSlab) {
    const Place place = place_of(memory, page, entry);
    push(place.size_class, place.block, place.block);
    return;
  }
  VICINAL_ASSERT((entry & 3) == kRun && memory == page_address(page));  // else a double free
  Steps::step();
  heap_word::store_relaxed(entries_ + page, std::uint32_t{0});
  give_back(page, entry >> 2);
}

template <class Steps>
std::uint64_t LockFreeHeap<Steps>::usable_bytes(const void* memory) const {
  const std::uint32_t page = page_of(memory);
  const std::uint32_t entry = entry_of(page);
  if ((entry & 3) == kRun) return std::uint64_t{entry >> 2} * kHeapPageBytes;
  const Place place = place_of(memory, page, entry);
  const std::byte* end =
      block_address(place.size_class, place.block) + kBlockBytes[place.size_class];
  return static_cast<std::uint64_t>(end - static_cast<const std::byte*>(memory));
}

template <class Steps>
std::uint32_t LockFreeHeap<Steps>::pages_taken() const noexcept {
  std::uint32_t total = 0;
  for (std::uint32_t word = 0; word < divide_up(pages_, 64); ++word) {
    total += static_cast<std::uint32_t>(
        __builtin_popcountll(heap_word::load_relaxed(taken_ + word)));
  }
  return total;
}

template <class Steps>
std::uint32_t LockFreeHeap<Steps>::page_of(const void* memory) const noexcept {
  // As numbers: a difference of pointers is signed, and the range may be larger than 2 GiB.
  const std::uint64_t at = reinterpret_cast<std::uintptr_t>(memory);
  const std::uint64_t first = reinterpret_cast<std::uintptr_t>(first_page_);
  VICINAL_ASSERT(pages_ != 0 && at >= first);
  const std::uint64_t page = (at - first) / kHeapPageBytes;
  VICINAL_ASSERT(page < pages_);
  return static_cast<std::uint32_t>(page);
}

// Relaxed is enough: whoever owns a block of the page got it after its entry was stored (the head's
// acquire, or whatever brought the pointer here from the thread that allocated).
template <class Steps>
std::uint32_t LockFreeHeap<Steps>::entry_of(std::uint32_t page) const {
  Steps::step();
  return heap_word::load_relaxed(entries_ + page);
}

template <class Steps>
typename LockFreeHeap<Steps>::Place LockFreeHeap<Steps>::place_of(const void* memory,
                                                                  std::uint32_t page,
                                                                  std::uint32_t entry) const {
  VICINAL_ASSERT((entry & 3) == kSlab);
  const std::uint32_t size_class = entry >> 4;
  const std::uint32_t first = page - (entry >> 2 & 3);
  VICINAL_ASSERT(size_class < kBlockClasses);
  const std::uint32_t count = blocks_of_class(size_class);
  const auto offset =
      static_cast<std::uint32_t>(static_cast<const std::byte*>(memory) - page_address(first));
  VICINAL_ASSERT(offset >= block_offset(count));
  // An over-aligned block's address lies inside it; the division finds its start.
  const std::uint32_t place = (offset - block_offset(count)) / kBlockBytes[size_class];
  VICINAL_ASSERT(place < count);
  return {size_class, {first, place}};
}

template <class Steps>
std::uint32_t LockFreeHeap<Steps>::class_for(std::uint64_t bytes,
                                             std::uint64_t alignment) noexcept {
  // A page-aligned block of less than a page is still a run of one.
  if (bytes > kBlockBytesMax || alignment >= kHeapPageBytes) return kNone;
  // An address of 0 bytes must lie in its block too, or it would be the next one's.
  if (bytes == 0) bytes = 1;
  const std::uint64_t whole_pages = round_up(bytes, kHeapPageBytes);
  for (std::uint32_t c = 0; c < kBlockClasses; ++c) {
    const std::uint64_t size = kBlockBytes[c];
    if (size < bytes) continue;
    if (size > whole_pages) return kNone;
    if (alignment <= kBlockAlignment) return c;
    if (alignment <= kHeapLine && size % alignment == 0 && size % kHeapLine == 0) return c;
    if (size >= bytes + alignment - kBlockAlignment) return c;
  }
  return kNone;
}

template <class Steps>
void* LockFreeHeap<Steps>::allocate_block(std::uint32_t size_class) {
  if (pages_ == 0) return nullptr;
  std::uint32_t node = pop(size_class);
  if (node == 0) node = make_slab(size_class);
  return node == 0 ? nullptr : block_address(size_class, Block::of(node));
}

// A new slab: its first block for the caller, the others onto the stack. Several threads that find
// the stack empty each make one.
template <class Steps>
std::uint32_t LockFreeHeap<Steps>::make_slab(std::uint32_t size_class) {
  const std::uint32_t page = claim_run(kSlabPages, kHeapPageBytes);
  // Another thread's slab may have taken the last pages: its blocks are on the stack.
  if (page == kNone) return pop(size_class);
  mark_dirty(page, kSlabPages);
  const std::uint32_t count = blocks_of_class(size_class);
  for (std::uint32_t place = 1; place + 1 < count; ++place) {
    heap_word::store_relaxed(next_of({page, place}), Block{page, place + 1}.node());
  }
  for (std::uint32_t i = 0; i < kSlabPages; ++i) {
    Steps::step();
    heap_word::store_relaxed(entries_ + page + i, size_class << 4 | i << 2 | kSlab);
  }
  push(size_class, {page, 1}, {page, count - 1});
  return Block{page, 0}.node();
}

// Puts the chain first .. last on the stack. Release: the links and entries, and what the block's
// owner did before freeing it, come before the pop that acquires.
template <class Steps>
void LockFreeHeap<Steps>::push(std::uint32_t size_class, Block first, Block last) {
  Steps::step();
  std::uint64_t seen = heap_word::load_relaxed(head_of(size_class));
  for (;;) {
    Steps::step();
    heap_word::store_relaxed(next_of(last), static_cast<std::uint32_t>(seen));
    const std::uint64_t head = (seen >> 32 << 32) | first.node();
    Steps::step();
    if (heap_word::exchange_release(head_of(size_class), seen, head)) return;
  }
}

// 0 when the stack is empty. Acquire: pairs with the push of this block; the exchanges in between
// are read-modify-writes, so they continue its release sequence.
template <class Steps>
std::uint32_t LockFreeHeap<Steps>::pop(std::uint32_t size_class) {
  Steps::step();
  std::uint64_t seen = heap_word::load_acquire(head_of(size_class));
  for (;;) {
    const auto node = static_cast<std::uint32_t>(seen);
    if (node == 0) return 0;
    Steps::step();
    const std::uint32_t next = heap_word::load_relaxed(next_of(Block::of(node)));  // I4
    const std::uint64_t head = ((seen + Steps::kTagStep) >> 32 << 32) | next;
    Steps::step();
    if (heap_word::exchange_acquire(head_of(size_class), seen, head)) return node;
  }
}

template <class Steps>
std::uint32_t LockFreeHeap<Steps>::allocate_run(std::uint64_t bytes, std::uint64_t alignment,
                                                 Content content) {
  if (bytes > std::uint64_t{pages_} * kHeapPageBytes || pages_ == 0) return kNone;
  const auto pages =
      static_cast<std::uint32_t>(divide_up(bytes == 0 ? 1 : bytes, kHeapPageBytes));
  const std::uint32_t page = claim_run(pages, alignment);
  if (page == kNone) return kNone;
  if (content == Content::zero) clear_dirty_pages(page, bytes);
  mark_dirty(page, pages);
  Steps::step();
  heap_word::store_relaxed(entries_ + page, pages << 2 | kRun);
  return page;
}

// First fit. A pass that failed only because of another thread's claim is repeated, a bounded
// number of times: that claim may have been rolled back.
template <class Steps>
std::uint32_t LockFreeHeap<Steps>::claim_run(std::uint32_t count, std::uint64_t alignment) {
  VICINAL_ASSERT(count != 0);
  for (std::uint32_t pass = 0; pass < kPassesMax; ++pass) {
    bool disturbed = false;
    std::uint32_t from = 0;
    for (;;) {
      const std::uint32_t first = find_run(from, count, alignment);
      if (first == kNone) break;
      if (try_claim(first, count)) return first;
      disturbed = true;
      from = first + 1;
    }
    if (!disturbed) return kNone;
  }
  return kNone;
}

template <class Steps>
std::uint32_t LockFreeHeap<Steps>::find_run(std::uint32_t from, std::uint32_t count,
                                            std::uint64_t alignment) const {
  for (;;) {
    std::uint32_t first = find_bit(from, pages_, false);
    if (first >= pages_) return kNone;
    if (alignment > kHeapPageBytes) {
      const std::uint64_t address = reinterpret_cast<std::uintptr_t>(page_address(first));
      const std::uint64_t skip = (round_up(address, alignment) - address) / kHeapPageBytes;
      if (skip > pages_ - first) return kNone;
      first += static_cast<std::uint32_t>(skip);
    }
    if (count > pages_ - first) return kNone;
    const std::uint32_t end = find_bit(first, first + count, true);
    if (end == first + count) return first;
    from = end + 1;
  }
}

// The first page from `from` on whose bit is `taken`, or `end`.
template <class Steps>
std::uint32_t LockFreeHeap<Steps>::find_bit(std::uint32_t from, std::uint32_t end,
                                            bool taken) const {
  while (from < end) {
    const std::uint64_t word = heap_word::load_relaxed(taken_ + from / 64);
    const std::uint64_t wanted = (taken ? word : ~word) >> from % 64;
    if (wanted != 0) {
      const std::uint32_t found = from + static_cast<std::uint32_t>(__builtin_ctzll(wanted));
      return found < end ? found : end;
    }
    from = (from / 64 + 1) * 64;
  }
  return end;
}

// Acquire: what the pages' last owner did comes before what this one does.
template <class Steps>
bool LockFreeHeap<Steps>::try_claim(std::uint32_t first, std::uint32_t count) {
  std::uint32_t claimed = 0;
  const bool whole = for_words(first, count, [&](std::uint32_t word, std::uint64_t mask) {
    Steps::step();
    std::uint64_t seen = heap_word::load_relaxed(taken_ + word);
    do {
      if ((seen & mask) != 0) return false;
      Steps::step();
    } while (!heap_word::exchange_acquire(taken_ + word, seen, seen | mask));
    claimed += static_cast<std::uint32_t>(__builtin_popcountll(mask));
    return true;
  });
  if (!whole) give_back(first, claimed);
  return whole;
}

template <class Steps>
void LockFreeHeap<Steps>::give_back(std::uint32_t first, std::uint32_t count) {
  for_words(first, count, [&](std::uint32_t word, std::uint64_t mask) {
    Steps::step();
    heap_word::clear_bits_release(taken_ + word, mask);
    return true;
  });
}

template <class Steps>
void LockFreeHeap<Steps>::mark_dirty(std::uint32_t first, std::uint32_t count) {
  for_words(first, count, [&](std::uint32_t word, std::uint64_t mask) {
    Steps::step();
    // Usually set already: then the line need not be written.
    if ((heap_word::load_relaxed(dirty_ + word) & mask) != mask) {
      heap_word::set_bits_relaxed(dirty_ + word, mask);
    }
    return true;
  });
}

// Clears what earlier owners of these pages may have left (I5); untouched pages stay untouched, so
// that they cost no resident memory.
template <class Steps>
void LockFreeHeap<Steps>::clear_dirty_pages(std::uint32_t first, std::uint64_t bytes) {
  for (std::uint32_t page = first; bytes != 0; ++page) {
    const std::uint64_t here = bytes < kHeapPageBytes ? bytes : kHeapPageBytes;
    Steps::step();
    if ((heap_word::load_relaxed(dirty_ + page / 64) >> page % 64 & 1) != 0) {
      std::memset(page_address(page), 0, static_cast<std::size_t>(here));
    }
    bytes -= here;
  }
}

}  // namespace vicinal::platform
