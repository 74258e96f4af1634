// Frames, and the table that finds them by page id.
//
// Thread safety: `find` by a session in a reading (readings.hpp); everything else under the lock of
// the page's partition, unless it says otherwise.
//
// A bucket is a chain of frames, the newest first. Its head is stored with release and loaded with
// acquire [mapped]: whoever loads a head has what was stored to its frame before, and to the older
// ones behind it, since each was in its place before the next one came. So links are relaxed. A
// reader on a frame that was just taken out goes on behind it: what it meets there was in the chain
// when its reading began, or retired after, and is held. It may overlook a page that was put in
// meanwhile; then it looks again under the lock.
//
// I1: a frame in the table is found under one page, and keeps it, until it is out and retired; who
//     finds a frame compares the whole page id with it: a bucket is no proof.
// I2: what lies in a frame does not change while it is in the table, or held: new content of a page
//     is another frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.hpp"
#include "cache/buffer_header.hpp"
#include "cache/page_source.hpp"
#include "sync/atomic.hpp"
#include "sync/event.hpp"
#include "sync/short_lock.hpp"

namespace vicinal::cache {

// In the simulator all pages of a partition are one chain.
inline constexpr std::uint32_t kBucketsMin = sync::kSimulated ? 1 : 8;
inline constexpr std::uint32_t kBucketsOfAFrame = sync::kSimulated ? 0 : 2;

struct alignas(64) Frame {
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  sync::Plain<std::uint64_t> page;          // I1
  sync::Plain<PageSource*> source;          // I1
  BufferHeader header;
  sync::Atomic<std::uint32_t> next;         // in the chain: number + 1, or 0
  sync::Atomic<std::uint32_t> used;         // since the clock's hand was here
  // Where it is in the table: stored under that partition's lock, a hint without it.
  sync::Atomic<std::uint32_t> partition{kNowhere};
  bool dirty = false;                       // of its partition's lock
  // Of the lock of the frames that retired.
  std::uint32_t home = 0;                   // the partition that gets it back
  std::uint32_t next_retired = 0;
  std::uint64_t retired = 0;                // at which generation

  [[nodiscard]] bool has(const PageId& id) const noexcept {
    return page == id.page && source == id.source;
  }
};

// Somebody who waits for another's call of a source. What it is told is stored under the lock.
struct Waiter {
  Waiter* next = nullptr;
  Frame* frame = nullptr;  // pinned for the waiter; null: an error, or look again
  Status status;
  bool done = false;
};

// A call of a source that is under way: one a page at a time.
struct Flight {
  PageId id;
  bool writing = false;
  bool stale = false;  // what it reads is not what the page is any more
  Waiter* waiters = nullptr;
  Flight* next = nullptr;
};

class PageTable {
 public:
  struct alignas(128) Partition {
    sync::ShortLock lock;
    sync::EventCount done;  // a flight that somebody waited for
    Flight* flights = nullptr;
    std::uint64_t put_again = 0;  // of dirty pages
  };

  // Of each partition: a power of two.
  [[nodiscard]] static constexpr std::uint64_t buckets_of(std::uint32_t partitions,
                                                          std::uint32_t frames) noexcept {
    std::uint64_t each = kBucketsMin;
    while (each * partitions < std::uint64_t{frames} * kBucketsOfAFrame) each *= 2;
    return each;
  }

  // `partitions` a power of two. False without memory.
  [[nodiscard]] bool create(std::uint32_t partitions, std::uint32_t frames) noexcept {
    partition_mask_ = partitions - 1;
    bucket_mask_ = static_cast<std::size_t>(buckets_of(partitions, frames) * partitions) - 1;
    frames_.reset(new (std::nothrow) Frame[frames]);
    partitions_.reset(new (std::nothrow) Partition[partitions]);
    buckets_.reset(new (std::nothrow) sync::Atomic<std::uint32_t>[bucket_mask_ + 1]);
    return frames_ != nullptr && partitions_ != nullptr && buckets_ != nullptr;
  }

  [[nodiscard]] std::uint32_t partition_of(const PageId& id) const noexcept {
    return static_cast<std::uint32_t>(id.hash()) & partition_mask_;
  }
  [[nodiscard]] Partition& partition(std::uint32_t number) noexcept { return partitions_[number]; }
  [[nodiscard]] Frame& frame(std::uint32_t number) noexcept { return frames_[number]; }
  [[nodiscard]] std::uint32_t number_of(const Frame& frame) const noexcept {
    return static_cast<std::uint32_t>(&frame - frames_.get());
  }

  // Null: not there, or overlooked.
  [[nodiscard]] Frame* find(const PageId& id) noexcept {
    return walk(id, head_of(id).load(sync::acquire));  // [mapped]
  }
  [[nodiscard]] Frame* find_locked(const PageId& id) noexcept {
    return walk(id, head_of(id).load(sync::relaxed));
  }

  // A frame that nobody else knows; its content is there.
  void insert(Frame& frame, const PageId& id, bool dirty) noexcept {
    sync::Atomic<std::uint32_t>& head = head_of(id);
    frame.page = id.page;
    frame.source = id.source;
    frame.dirty = dirty;
    frame.used.store(1, sync::relaxed);
    frame.partition.store(partition_of(id), sync::relaxed);
    frame.next.store(head.load(sync::relaxed), sync::relaxed);
    head.store(number_of(frame) + 1, sync::release);  // [mapped]
  }
  void remove(Frame& frame) noexcept {
    const PageId id{frame.source, frame.page};
    sync::Atomic<std::uint32_t>& head = head_of(id);
    const std::uint32_t number = number_of(frame) + 1;
    const std::uint32_t behind = frame.next.load(sync::relaxed);
    std::uint32_t at = head.load(sync::relaxed);
    if (at == number) {
      head.store(behind, sync::release);  // [mapped]
    } else {
      while (frames_[at - 1].next.load(sync::relaxed) != number) {
        at = frames_[at - 1].next.load(sync::relaxed);
        VICINAL_ASSERT(at != 0);
      }
      frames_[at - 1].next.store(behind, sync::relaxed);
    }
    frame.home = frame.partition.load(sync::relaxed);
    frame.partition.store(Frame::kNowhere, sync::relaxed);
  }

  [[nodiscard]] static Flight* find_flight(Partition& partition, const PageId& id) noexcept {
    Flight* flight = partition.flights;
    while (flight != nullptr && (flight->id.page != id.page || flight->id.source != id.source)) {
      flight = flight->next;
    }
    return flight;
  }
  static void begin(Partition& partition, Flight& flight) noexcept {
    VICINAL_ASSERT(find_flight(partition, flight.id) == nullptr);
    flight.next = partition.flights;
    partition.flights = &flight;
  }
  static void end(Partition& partition, Flight& flight) noexcept {
    Flight** link = &partition.flights;
    while (*link != &flight) link = &(*link)->next;
    *link = flight.next;
  }

 private:
  // The lowest bits are the partition's.
  [[nodiscard]] sync::Atomic<std::uint32_t>& head_of(const PageId& id) noexcept {
    return buckets_[static_cast<std::size_t>(id.hash()) & bucket_mask_];
  }
  [[nodiscard]] Frame* walk(const PageId& id, std::uint32_t at) noexcept {
    while (at != 0) {
      Frame& frame = frames_[at - 1];
      if (frame.has(id)) return &frame;
      at = frame.next.load(sync::relaxed);
    }
    return nullptr;
  }

  std::unique_ptr<Frame[]> frames_;
  std::unique_ptr<Partition[]> partitions_;
  std::unique_ptr<sync::Atomic<std::uint32_t>[]> buckets_;
  std::size_t bucket_mask_ = 0;
  std::uint32_t partition_mask_ = 0;
};

}  // namespace vicinal::cache
