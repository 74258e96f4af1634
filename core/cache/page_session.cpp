// A session's calls, but for its hits.
#include <cstring>

#include "base/assert.hpp"
#include "cache/page_cache.hpp"

namespace vicinal::cache {

using sync::relaxed;
using Held = sync::ShortLock::Held;

PageSession::~PageSession() {
  if (slot_number_ == kNoSlot) return;
  leave();
  {
    const Held held(cache_.sessions_lock_);
    PageSession** link = &cache_.sessions_;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
    --cache_.session_count_;
    add_to(cache_.past_);
  }
  cache_.readings_.slots().release_slot(slot_number_);
}

void PageSession::add_to(PageCacheStats& stats) const noexcept {
  stats.hits += hits_.load(relaxed);
  stats.misses += misses_.load(relaxed);
  stats.reads += reads_.load(relaxed);
  stats.writes += writes_.load(relaxed);
  stats.evictions += evictions_.load(relaxed);
  stats.steals += steals_.load(relaxed);
  stats.waits += waits_.load(relaxed);
}

void PageSession::begin_reading() noexcept {
  cache_.readings_.begin(slot_);
  reading_ = true;
  gets_left_ = kGetsOfAReading;
}

void PageSession::leave() noexcept {
  gets_left_ = 0;
  if (!reading_) return;
  reading_ = false;
  cache_.readings_.end(slot_);
}

Result<const std::byte*> PageSession::fetch(const PageId& id) noexcept {
  leave();
  count(misses_);
  const auto frame = cache_.obtain(*this, id);
  if (!frame.ok()) return frame.status();
  // The pin is given back in a reading: what retires from here on is held by that.
  begin_reading();
  --gets_left_;
  cache_.unpin(**frame);
  return static_cast<const std::byte*>(cache_.room_of(**frame));
}

Result<PageHold> PageSession::hold(const PageId& id) noexcept {
  if (gets_left_ == 0) begin_reading();
  --gets_left_;
  if (Frame* frame = cache_.table_.find(id)) {
    const Pinned pinned = frame->header.pin();
    if (pinned == Pinned::last) cache_.retire(*frame);
    if (pinned == Pinned::yes) {
      if (frame->used.load(relaxed) == 0) frame->used.store(1, relaxed);
      count(hits_);
      leave();
      return PageHold(cache_, *frame);
    }
  }
  leave();
  count(misses_);
  const auto frame = cache_.obtain(*this, id);
  if (!frame.ok()) return frame.status();
  return PageHold(cache_, **frame);
}

Status PageSession::put(const PageId& id, PageBytes bytes) noexcept {
  leave();
  VICINAL_ASSERT(!cache_.has(bytes.data()));
  const std::uint32_t number = cache_.table_.partition_of(id);
  const auto frame = cache_.take_frame(*this, number);
  if (!frame.ok()) return frame.status();
  sync::note_write(cache_.room_of(**frame));
  std::memcpy(cache_.room_of(**frame), bytes.data(), kPageBytes);
  PageCache::Partition& partition = cache_.table_.partition(number);
  Frame* old = nullptr;
  bool unheld = false;
  {
    const Held held(partition.lock);
    Flight* flight = PageTable::find_flight(partition, id);
    if (flight != nullptr) flight->stale = true;  // I4: what is put is newer
    old = cache_.table_.find_locked(id);
    if (old != nullptr) {
      if (old->dirty) ++partition.put_again;
      cache_.table_.remove(*old);
      unheld = old->header.detach();
    }
    cache_.table_.insert(**frame, id, true);
  }
  if (unheld) cache_.retire(*old);
  cache_.readings_.notify();
  return {};
}

void PageSession::invalidate(const PageId& id) noexcept {
  leave();
  PageCache::Partition& partition = cache_.table_.partition(cache_.table_.partition_of(id));
  Frame* old = nullptr;
  bool unheld = false;
  Waiter waiter;
  bool waits = false;
  {
    const Held held(partition.lock);
    Flight* flight = PageTable::find_flight(partition, id);
    if (flight != nullptr) {
      flight->stale = true;  // I4
      // A write lands before this is over, or it would hide what the source has by then.
      waits = flight->writing;
      if (waits) {
        waiter.next = flight->waiters;
        flight->waiters = &waiter;
      }
    }
    old = cache_.table_.find_locked(id);
    if (old != nullptr) {
      cache_.table_.remove(*old);
      unheld = old->header.detach();
    }
  }
  if (unheld) cache_.retire(*old);
  if (waits) cache_.await(*this, partition, waiter);
}

Status PageSession::flush_frame(Frame& frame) noexcept {
  // Each turn but the last waits for a flight of the page that was there, another's.
  for (std::uint32_t turn = 0; turn < kTurnsMax; ++turn) {
    const std::uint32_t number = frame.partition.load(relaxed);
    if (number == Frame::kNowhere) return {};
    PageCache::Partition& partition = cache_.table_.partition(number);
    Flight mine;
    Waiter waiter;
    bool waits = false;
    {
      const Held held(partition.lock);
      if (frame.partition.load(relaxed) != number) continue;
      if (!frame.dirty) return {};
      mine.id = {frame.source, frame.page};
      Flight* flight = PageTable::find_flight(partition, mine.id);
      waits = flight != nullptr;
      if (waits) {
        waiter.next = flight->waiters;
        flight->waiters = &waiter;
      } else {
        mine.writing = true;
        PageTable::begin(partition, mine);
        frame.header.pin_certainly(1);
      }
    }
    if (!waits) return cache_.write(*this, partition, mine, frame);
    cache_.await(*this, partition, waiter);
  }
  return Status(Code::busy, kTurnsMax, kTurnsMax);
}

Status PageSession::flush_frames() noexcept {
  Status first;
  for (std::uint32_t i = 0; i < cache_.frame_count_; ++i) {
    const Status status = flush_frame(cache_.table_.frame(i));
    if (first.ok()) first = status;
  }
  return first;
}

Status PageSession::flush() noexcept {
  leave();
  std::uint64_t before = cache_.count_put_again();
  for (std::uint32_t turn = 0; turn < kTurnsMax; ++turn) {
    const Status status = flush_frames();
    if (!status.ok()) return status;
    const std::uint64_t after = cache_.count_put_again();
    if (after == before) return {};
    before = after;
  }
  return Status(Code::busy, kTurnsMax, kTurnsMax);
}

}  // namespace vicinal::cache
