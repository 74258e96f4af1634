// Pages of files in memory, within a budget: hits that store to nothing that others read.
//
// Thread safety: a PageSession belongs to one thread at a time, a PageHold likewise; a PageCache is
// used through them, and its own methods from any thread. Not for threads that may be ended from
// outside inside a call.
//
//   auto cache = PageCache::create({.bytes_max = 64 << 20});
//   auto session = (*cache)->session();
//   auto bytes = (*session)->get({&source, 7});   // valid until the session's next call
//
// A hit is one acquire load of the table and a comparison; the session's reading protects the page
// (readings.hpp), and is begun anew at every kGetsOfAReading-th get, which costs one store and two
// loads. The clock's bit is stored to where it is not set. Everything else goes under the lock of
// the page's partition, which is never held while a source is called or anybody waits.
//
// A miss. Under the lock the page is looked for again, then for a flight; who finds none begins
// one, takes a frame, reads into it, and under the lock again puts the frame into the table and
// pins it for each who waits: they all have the page, whatever is evicted next. A read that failed,
// or that `stale` says is not to be seen, leaves nothing in the table. Who waits has the source's
// error; after a stale call all look again, and where its owner found no frame, all others do. A
// frame comes from the lists, or is one that retired and that no reading holds, or the clock makes
// one retire: no more of them than there are threads that wait.
//
// A page that was put is dirty and another frame than before: readers have the old content or the
// new. A dirty frame is written before it is evicted, and is in the table meanwhile: where the
// write fails it stays, dirty; a source that has refused kRefusalsMax writes in a turn of the clock
// is not asked again in it. One page's calls of its source are one after the other (Flight), so an
// older content never lands on a newer.
//
// A flush goes through the frames in order. A dirty page that is put again goes to another frame,
// perhaps from one that the flush comes to yet to one where it has been: partitions count these
// (`put_again`), and a flush during which one was counted goes through the frames again. It reads
// the counts under the locks: where it saw a page out of its frame, it sees that it was counted.
// Not only those that go back: a look without the lock may see the end of one and not yet the next.
//
// What waits for what. A flight's owner waits for frames alone: in the clock it passes by pages
// that have a flight. For frames somebody waits kWaitUs at most, again until the deadline of
// `frame_wait_us_max`, and has BUSY then: what it waits for are readings of sessions, which end
// within kGetsOfAReading calls or with `leave`, holds, which are their holders', and others'
// flights. For a flight a waiter waits until its end: its owner is in the source, or in the wait
// before.
//
// I1: one read for all who miss a page at a time (reads in `stats`).
// I2: there are at least as many frames as sessions; a session that waits holds none but holds.
// I3: dirty content is in the table until it was written, or replaced, or invalidated.
// I4: what a read began before an invalidation is not in the table after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "cache/frame_lists.hpp"
#include "cache/page_table.hpp"
#include "cache/readings.hpp"

namespace vicinal::cache {

// How many pages a session looks at before it tells others that it has gone on.
inline constexpr std::uint32_t kGetsOfAReading = sync::kSimulated ? 2 : 64;
// The longest sleep before a thread looks for itself.
inline constexpr std::uint64_t kWaitUs = 20'000;
// How often a get begins anew because the page was invalidated or replaced while it was read.
inline constexpr std::uint32_t kTurnsMax = 64;
// So many writes that a source refused are enough for a turn of the clock.
inline constexpr std::uint32_t kRefusalsMax = 4;

struct PageCacheOptions {
  std::uint64_t bytes_max = 0;      // of pages
  std::uint32_t partitions = 128;   // a power of two, to 1,024
  std::uint64_t frame_wait_us_max = 1'000'000;
};

struct PageCacheStats {
  std::uint64_t hits = 0;       // gets that found the page
  std::uint64_t misses = 0;     // those that did not, whoever read it
  std::uint64_t reads = 0;      // calls of sources
  std::uint64_t writes = 0;
  std::uint64_t evictions = 0;  // pages that went for another
  std::uint64_t steals = 0;     // frames that were of another partition
  std::uint64_t waits = 0;      // for another's read or write, or a frame
  std::uint64_t bytes = 0;      // of frames in use
  std::uint64_t bytes_max = 0;  // whole pages of the budget
  std::uint64_t sessions = 0;
};

class PageCache;
class PageSession;

// A page that stays as it is until the hold's end, whatever is put, invalidated or evicted.
class PageHold {
 public:
  PageHold(PageCache& cache, Frame& frame) noexcept : cache_(&cache), frame_(&frame) {}
  PageHold(PageHold&& other) noexcept
      : cache_(other.cache_), frame_(std::exchange(other.frame_, nullptr)) {}
  PageHold& operator=(PageHold&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(frame_, other.frame_);
    return *this;
  }
  PageHold(const PageHold&) = delete;
  PageHold& operator=(const PageHold&) = delete;
  ~PageHold();

  [[nodiscard]] PageBytes bytes() const noexcept;

 private:
  PageCache* cache_;
  Frame* frame_;
};

class PageCache {
 public:
  // BAD_OPTION: max_bytes where the budget is 0, none where partitions is no power of two to 1,024.
  // FULL(a page, bytes_max) where it is less than a page; FULL(bytes, 0) without memory.
  [[nodiscard]] static Result<std::unique_ptr<PageCache>> create(
      const PageCacheOptions& options) noexcept;
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;
  // Its sessions and holds have ended. What is dirty is not written: see PageSession::flush.
  ~PageCache();

  // FULL(bytes of a page each, bytes_max): the budget has no page for another session. FULL(bytes,
  // 0), or BUSY at 4,096 of them.
  [[nodiscard]] Result<std::unique_ptr<PageSession>> session() noexcept;
  [[nodiscard]] PageCacheStats stats() noexcept;
  [[nodiscard]] std::uint32_t frame_count() const noexcept { return frame_count_; }

 private:
  friend class PageHold;
  friend class PageSession;
  using Partition = PageTable::Partition;
  // What the clock did with a frame.
  enum class Step : std::uint8_t { passed, evicted, failed };
  // A turn of the clock.
  struct Sweep {
    Status error;  // the first
    PageSource* refusing = nullptr;  // the last that refused a write,
    std::uint32_t refusals = 0;      // and how often in a row

    [[nodiscard]] bool may_write(const PageSource* source) const noexcept {
      return source != refusing || refusals < kRefusalsMax;
    }
    void refused(PageSource* source, Status status) noexcept {
      if (error.ok()) error = status;
      refusals = source == refusing ? refusals + 1 : 1;
      refusing = source;
    }
  };

  PageCache() = default;
  [[nodiscard]] std::byte* room_of(const Frame& frame) noexcept {
    return memory_ + std::size_t{table_.number_of(frame)} * kPageBytes;
  }
  // Whether 16 KiB from there on would be of its memory.
  [[nodiscard]] bool has(const std::byte* bytes) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes);
    const auto first = reinterpret_cast<std::uintptr_t>(memory_);
    return at + kPageBytes > first && at < first + std::size_t{frame_count_} * kPageBytes;
  }
  [[nodiscard]] PageRoom page_room(const Frame& frame) noexcept {
    return PageRoom(room_of(frame), kPageBytes);
  }

  // The page's frame, pinned. By a session without a reading.
  [[nodiscard]] Result<Frame*> obtain(PageSession& session, const PageId& id) noexcept;
  // One turn of it: null to look again.
  [[nodiscard]] Result<Frame*> try_obtain(PageSession& session, const PageId& id) noexcept;
  [[nodiscard]] Result<Frame*> read(PageSession& session, Partition& partition,
                                    Flight& flight) noexcept;
  // A frame that is nobody's. BUSY, WOULD_BLOCK, or what the write of a dirty page answered.
  [[nodiscard]] Result<Frame*> take_frame(PageSession& session, std::uint32_t partition) noexcept;
  [[nodiscard]] Result<Frame*> await_frame(PageSession& session, std::uint32_t partition) noexcept;
  // A frame to the lists that was never in the table since it was taken.
  void give_frame(std::uint32_t partition, Frame& frame) noexcept;
  // Retired ones that no reading holds: one of them, the others to the lists. Null: none. Tells
  // how many others readings hold.
  [[nodiscard]] Frame* reclaim(std::uint32_t& others_read) noexcept;
  // Whether the clock has made a frame retire; else perhaps an error.
  [[nodiscard]] bool evict(PageSession& session, Status& error) noexcept;
  [[nodiscard]] Step evict_one(PageSession& session, Frame& frame, Sweep& sweep) noexcept;
  // Of a frame whose flight has begun and which is pinned for it.
  Status write(PageSession& session, Partition& partition, Flight& flight, Frame& frame) noexcept;

  // Under the partition's lock. True: somebody has to be woken, by `done`.
  static bool end_flight(Partition& partition, Flight& flight, Frame* frame,
                         Status status) noexcept;
  // How often a dirty page was put again.
  [[nodiscard]] std::uint64_t count_put_again() noexcept;
  void await(PageSession& session, Partition& partition, const Waiter& waiter) noexcept;
  // A frame that is out of the table, and that nobody holds.
  void retire(Frame& frame) noexcept;
  void unpin(Frame& frame) noexcept;

  PageTable table_;
  std::byte* memory_ = nullptr;
  std::uint32_t frame_count_ = 0;
  PageCacheOptions options_;
  std::unique_ptr<FrameLists> lists_;
  Readings readings_;
  alignas(128) sync::Atomic<std::uint32_t> hand_;  // of the clock

  alignas(128) sync::ShortLock retired_lock_;
  std::uint32_t first_retired_ = 0;  // number + 1

  alignas(128) sync::ShortLock sessions_lock_;
  PageSession* sessions_ = nullptr;
  std::uint32_t session_count_ = 0;
  PageCacheStats past_;  // of sessions that have ended
};

class alignas(128) PageSession {
 public:
  PageSession(const PageSession&) = delete;
  PageSession& operator=(const PageSession&) = delete;
  ~PageSession();

  // The page, 16 KiB, until the session's next call. An error of the source, BUSY or WOULD_BLOCK as
  // PageCache says, BUSY(kTurnsMax) for a page that is invalidated faster than it can be read.
  [[nodiscard]] Result<const std::byte*> get(const PageId& id) noexcept {
    const std::byte* bytes = find(id);
    if (bytes != nullptr) return bytes;
    return fetch(id);
  }
  // The same without a read or a wait: WOULD_BLOCK where the page is not there.
  [[nodiscard]] Result<const std::byte*> lookup(const PageId& id) noexcept {
    const std::byte* bytes = find(id);
    if (bytes == nullptr) return Status(Code::would_block);
    return bytes;
  }
  // The same; null.
  [[nodiscard]] const std::byte* find(const PageId& id) noexcept {
    if (gets_left_ == 0) begin_reading();
    --gets_left_;
    Frame* frame = cache_.table_.find(id);
    if (frame == nullptr) return nullptr;
    if (frame->used.load(sync::relaxed) == 0) frame->used.store(1, sync::relaxed);
    count(hits_);
    return cache_.room_of(*frame);
  }
  // Nothing is looked at any more: for a session that is not used for a while.
  void leave() noexcept;

  // As get, for as long as the hold.
  [[nodiscard]] Result<PageHold> hold(const PageId& id) noexcept;
  // The page's new content, to be written when it goes or by flush. Errors as of get. `bytes` are
  // the caller's: not in the cache's own memory, where a get's end with this call.
  Status put(const PageId& id, PageBytes bytes) noexcept;
  // The source's page is another than what the cache has: forgets that, and what was put.
  void invalidate(const PageId& id) noexcept;
  // Writes every page that was put before. The first error; such pages stay dirty.
  // BUSY(kTurnsMax) where pages are put again faster than they can be written.
  Status flush() noexcept;

 private:
  friend class PageCache;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  PageSession(PageCache& cache, std::uint32_t slot) noexcept
      : cache_(cache), slot_number_(slot), slot_(cache.readings_.slots().slot(slot)) {}
  void begin_reading() noexcept;
  [[nodiscard]] Result<const std::byte*> fetch(const PageId& id) noexcept;
  Status flush_frame(Frame& frame) noexcept;
  // Once through the frames.
  Status flush_frames() noexcept;
  void add_to(PageCacheStats& stats) const noexcept;
  static void count(sync::Atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(sync::relaxed) + 1, sync::relaxed);  // the owner's alone
  }

  PageCache& cache_;
  std::uint32_t slot_number_;
  sync::ReaderSlot& slot_;
  std::uint32_t gets_left_ = 0;  // 0: no reading, or it has to be begun anew
  bool reading_ = false;
  PageSession* next_ = nullptr;  // the cache's
  // Read by whoever asks for figures.
  sync::Atomic<std::uint64_t> hits_, misses_;
  sync::Atomic<std::uint64_t> reads_, writes_;
  sync::Atomic<std::uint64_t> evictions_, steals_, waits_;
};

}  // namespace vicinal::cache
