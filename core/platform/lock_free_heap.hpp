// A heap over one fixed range of memory that no thread ever locks.
//
// It is what malloc and segments live on in shared WebAssembly memory. There a lock may not be
// waited for on a page's main thread, and a worker can be terminated at any instruction, so that a
// lock would stay taken for ever. It depends on no target, so that it is tested where sanitizers
// run.
//
// Thread safety: every method from any thread, as for malloc; a block may be freed by another
// thread. A heap object is a view: any number of them over the same range are the same heap.
// I1: all-zero bookkeeping is an empty heap, so fresh memory needs no start-up.
// I2: a thread that stops for ever inside a method leaks what it was allocating or freeing (a small
//     block's allocation may be making a slab of kSlabPages); nothing else is lost and nobody
//     waits.
// I3: a page belongs to whoever set its bit in `taken_`; a word of the bookkeeping that belongs to
//     a page is stored to by the page's owner only.
// I4: `next` words of a slab are never used for anything else, so reading one that is out of date
//     is harmless: the head's tag has changed and the exchange fails.
// I5: a page outside `dirty_` has never been handed out and reads as zero, if the range did at
//     first.
//
// Sizes up to kBlockBytesMax come from slabs, each cut into blocks of one size class; the free
// blocks of a class form one stack whose head is {node, tag}. The tag counts pops: an exchange
// could only succeed wrongly after exactly 2^32 pops between a thread's read and its exchange, with
// the same block on top. A slab stays with its class. Larger sizes are runs of pages, claimed bit
// by bit; what was freed joins its neighbours without further work.
//
// Rejected: dlmalloc with a lock (above); a list inside the blocks (their next owner's plain stores
// would race with a late reader's load); headers before blocks (a page-aligned segment would cost
// one page more).
//
// Atomic operations here are the compiler's own, behind named functions: sync/atomic.hpp, the only
// file that includes <atomic>, belongs to a layer above this one, and its counters and simulator
// must not see the allocator's traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"

namespace vicinal::platform {

namespace heap_word {

template <class Word>
[[nodiscard]] inline Word load_relaxed(const Word* word) noexcept {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
template <class Word>
[[nodiscard]] inline Word load_acquire(const Word* word) noexcept {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
template <class Word>
inline void store_relaxed(Word* word, Word value) noexcept {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
// On failure `seen` holds the newer value, read with acquire too.
[[nodiscard]] inline bool exchange_acquire(std::uint64_t* word, std::uint64_t& seen,
                                           std::uint64_t value) noexcept {
  return __atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
}
[[nodiscard]] inline bool exchange_release(std::uint64_t* word, std::uint64_t& seen,
                                           std::uint64_t value) noexcept {
  return __atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
inline void set_bits_relaxed(std::uint64_t* word, std::uint64_t bits) noexcept {
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}
inline void clear_bits_release(std::uint64_t* word, std::uint64_t bits) noexcept {
  __atomic_fetch_and(word, ~bits, __ATOMIC_RELEASE);
}

}  // namespace heap_word

inline constexpr std::uint32_t kHeapPageBytes = 4096;
inline constexpr std::uint32_t kSlabPages = 4;
inline constexpr std::uint32_t kSlabBytes = kSlabPages * kHeapPageBytes;
inline constexpr std::uint32_t kHeapLine = 64;
inline constexpr std::uint32_t kHeapPagesMax = 1u << 20;  // 4 GiB

// About four steps per doubling; those above 1,024 divide a slab's blocks evenly. Every size from
// 64 on that is a multiple of 64 gives blocks on 64-byte boundaries.
inline constexpr std::uint32_t kBlockBytes[] = {
    16,   32,   48,   64,   80,   96,   112,  128,  160,  192,  224,  256,
    320,  384,  448,  512,  640,  768,  896,  1024, 1280, 1472, 1600, 1792,
    1984, 2304, 2688, 3264, 4032, 5440, 8128};
inline constexpr std::uint32_t kBlockClasses = sizeof kBlockBytes / sizeof kBlockBytes[0];
inline constexpr std::uint32_t kBlockBytesMax = kBlockBytes[kBlockClasses - 1];

// A slab: next[block_count] in 32-bit words, then the blocks.
[[nodiscard]] constexpr std::uint32_t block_offset(std::uint32_t block_count) noexcept {
  return static_cast<std::uint32_t>(round_up(4 * block_count, kHeapLine));
}
[[nodiscard]] constexpr std::uint32_t blocks_of_class(std::uint32_t size_class) noexcept {
  std::uint32_t count = kSlabBytes / (kBlockBytes[size_class] + 4);
  while (block_offset(count) + count * kBlockBytes[size_class] > kSlabBytes) --count;
  return count;
}
static_assert(blocks_of_class(0) < 1024 && blocks_of_class(kBlockClasses - 1) == 2);

// What happens before every access to shared bookkeeping: nothing. Tests put other steps here, stop
// a thread there, or leave out the tag.
struct HeapSteps {
  static void step() noexcept {}
  static constexpr std::uint64_t kTagStep = std::uint64_t{1} << 32;
};

template <class Steps = HeapSteps>
class LockFreeHeap {
 public:
  // The heap in `bytes` bytes at `base`, which were zero when the first view over them was made.
  LockFreeHeap(void* base, std::uint64_t bytes) noexcept;

  // Null when the budget has no such block left; `alignment` is a power of two. 0 bytes are served
  // as 1.
  [[nodiscard]] void* allocate(std::uint64_t bytes, std::uint64_t alignment);
  [[nodiscard]] void* allocate_zeroed(std::uint64_t bytes, std::uint64_t alignment);
  void free(void* memory);
  // Bytes from `memory`, a block in use, to the end of its block.
  [[nodiscard]] std::uint64_t usable_bytes(const void* memory) const;

  [[nodiscard]] std::uint32_t pages() const noexcept { return pages_; }
  // A figure: other threads may change it meanwhile.
  [[nodiscard]] std::uint32_t pages_taken() const noexcept;

 private:
  // A page's entry: kind in the low two bits, then the run's length in pages, or the slab's class
  // and the page's place in the slab.
  static constexpr std::uint32_t kRun = 1;
  static constexpr std::uint32_t kSlab = 2;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kPassesMax = 16;
  static constexpr std::uint64_t kBlockAlignment = 16;
  enum class Content : std::uint8_t { any, zero };

  // A block as one number: slab's first page and place in the slab, plus 1.
  struct Block {
    std::uint32_t page;
    std::uint32_t place;
    [[nodiscard]] std::uint32_t node() const noexcept { return (page << 10 | place) + 1; }
    [[nodiscard]] static Block of(std::uint32_t node) noexcept {
      return {(node - 1) >> 10, (node - 1) & 1023};
    }
  };
  struct Place {
    std::uint32_t size_class;
    Block block;
  };

  [[nodiscard]] std::byte* page_address(std::uint32_t page) const noexcept {
    return first_page_ + std::uint64_t{page} * kHeapPageBytes;
  }
  [[nodiscard]] std::byte* block_address(std::uint32_t size_class, Block block) const noexcept {
    return page_address(block.page) + block_offset(blocks_of_class(size_class)) +
           block.place * kBlockBytes[size_class];
  }
  [[nodiscard]] std::uint32_t* next_of(Block block) const noexcept {
    return reinterpret_cast<std::uint32_t*>(page_address(block.page)) + block.place;
  }
  [[nodiscard]] std::uint64_t* head_of(std::uint32_t size_class) const noexcept {
    return heads_ + size_class * (kHeapLine / 8);
  }
  [[nodiscard]] std::uint32_t page_of(const void* memory) const noexcept;
  [[nodiscard]] std::uint32_t entry_of(std::uint32_t page) const;
  [[nodiscard]] Place place_of(const void* memory, std::uint32_t page, std::uint32_t entry) const;

  // Size class for a block of `bytes` at `alignment`, or kNone where a run is right.
  [[nodiscard]] static std::uint32_t class_for(std::uint64_t bytes,
                                               std::uint64_t alignment) noexcept;
  [[nodiscard]] void* allocate_block(std::uint32_t size_class);
  [[nodiscard]] std::uint32_t make_slab(std::uint32_t size_class);
  void push(std::uint32_t size_class, Block first, Block last);
  [[nodiscard]] std::uint32_t pop(std::uint32_t size_class);

  [[nodiscard]] std::uint32_t allocate_run(std::uint64_t bytes, std::uint64_t alignment,
                                           Content content);
  [[nodiscard]] std::uint32_t claim_run(std::uint32_t count, std::uint64_t alignment);
  [[nodiscard]] std::uint32_t find_run(std::uint32_t from, std::uint32_t count,
                                       std::uint64_t alignment) const;
  [[nodiscard]] std::uint32_t find_bit(std::uint32_t from, std::uint32_t end, bool taken) const;
  [[nodiscard]] bool try_claim(std::uint32_t first, std::uint32_t count);
  void give_back(std::uint32_t first, std::uint32_t count);
  void mark_dirty(std::uint32_t first, std::uint32_t count);
  void clear_dirty_pages(std::uint32_t first, std::uint64_t bytes);

  // Calls use(word, mask) for the bits first .. first + count - 1.
  template <class Use>
  static bool for_words(std::uint32_t first, std::uint32_t count, Use use) {
    while (count != 0) {
      const std::uint32_t bit = first % 64;
      const std::uint32_t here = count < 64 - bit ? count : 64 - bit;
      const std::uint64_t ones = ~std::uint64_t{0} >> (64 - here);
      const std::uint64_t mask = ones << bit;
      if (!use(first / 64, mask)) return false;
      first += here;
      count -= here;
    }
    return true;
  }

  std::uint64_t* taken_ = nullptr;
  std::uint64_t* dirty_ = nullptr;
  std::uint64_t* heads_ = nullptr;
  std::uint32_t* entries_ = nullptr;
  std::byte* first_page_ = nullptr;
  std::uint32_t pages_ = 0;
};

}  // namespace vicinal::platform

#include "platform/lock_free_heap_inline.hpp"
