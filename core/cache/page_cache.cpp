#include "cache/page_cache.hpp"

#include <algorithm>
#include <new>

#include "base/assert.hpp"
#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/memory.hpp"

namespace vicinal::cache {

using sync::relaxed;
using Held = sync::ShortLock::Held;

Result<std::unique_ptr<PageCache>> PageCache::create(const PageCacheOptions& options) noexcept {
  if (options.bytes_max == 0) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::max_bytes));
  }
  const std::uint32_t partitions = options.partitions;
  if (partitions == 0 || partitions > kPartitionsMax || (partitions & (partitions - 1)) != 0) {
    return Status(Code::bad_option);
  }
  if (options.bytes_max < kPageBytes) return Status(Code::full, kPageBytes, options.bytes_max);
  const std::uint64_t frames = options.bytes_max / kPageBytes;
  if (frames > (SIZE_MAX / 2) / kPageBytes || frames >= (std::uint64_t{1} << 31)) {
    return Status(Code::full, options.bytes_max);
  }
  std::unique_ptr<PageCache> cache(new (std::nothrow) PageCache);
  if (cache == nullptr) return Status(Code::full, sizeof(PageCache));
  cache->options_ = options;
  const auto frame_count = static_cast<std::uint32_t>(frames);
  const std::size_t bytes = std::size_t{frame_count} * kPageBytes;
  cache->memory_ = static_cast<std::byte*>(platform::map_zeroed(bytes));
  if (cache->memory_ == nullptr) return Status(Code::full, bytes);
  cache->frame_count_ = frame_count;
  if (!cache->table_.create(partitions, frame_count)) {
    return Status(Code::full, std::uint64_t{frame_count} * sizeof(Frame));
  }
  auto lists = FrameLists::create(partitions, frame_count);
  if (!lists.ok()) return lists.status();
  cache->lists_ = std::move(lists).value();
  return cache;
}

PageCache::~PageCache() {
  VICINAL_ASSERT(sessions_ == nullptr);
  if (memory_ != nullptr) platform::unmap(memory_, std::size_t{frame_count_} * kPageBytes);
}

Result<std::unique_ptr<PageSession>> PageCache::session() noexcept {
  auto slot = readings_.slots().claim();
  if (!slot.ok()) return slot.status();
  std::unique_ptr<PageSession> session(new (std::nothrow) PageSession(*this, *slot));
  Status status;
  if (session == nullptr) {
    status = Status(Code::full, sizeof(PageSession));
  } else {
    const Held held(sessions_lock_);
    if (session_count_ < frame_count_) {
      ++session_count_;
      session->next_ = sessions_;
      sessions_ = session.get();
      return session;
    }
    status = Status(Code::full, (std::uint64_t{session_count_} + 1) * kPageBytes,  // I2
                    options_.bytes_max);
  }
  if (session != nullptr) {
    session->slot_number_ = PageSession::kNoSlot;
    session.reset();
  }
  readings_.slots().release_slot(*slot);
  return status;
}

PageCacheStats PageCache::stats() noexcept {
  const std::uint32_t free = lists_->count();
  const Held held(sessions_lock_);
  PageCacheStats stats = past_;
  for (PageSession* session = sessions_; session != nullptr; session = session->next_) {
    session->add_to(stats);
  }
  stats.bytes = std::uint64_t{frame_count_ - std::min(free, frame_count_)} * kPageBytes;
  stats.bytes_max = std::uint64_t{frame_count_} * kPageBytes;
  stats.sessions = session_count_;
  return stats;
}

void PageCache::retire(Frame& frame) noexcept {
  const std::uint64_t at = readings_.retire();
  {
    const Held held(retired_lock_);
    frame.retired = at;
    frame.next_retired = first_retired_;
    first_retired_ = table_.number_of(frame) + 1;
  }
  readings_.notify();
}

void PageCache::unpin(Frame& frame) noexcept {
  if (frame.header.unpin()) {
    retire(frame);
  } else {
    readings_.notify();
  }
}

void PageCache::give_frame(std::uint32_t partition, Frame& frame) noexcept {
  lists_->give(partition, table_.number_of(frame));
  readings_.notify();
}

Frame* PageCache::reclaim(std::uint32_t& others_read) noexcept {
  others_read = 0;
  std::uint32_t unread = 0;  // number + 1, of a chain
  {
    const Held held(retired_lock_);
    if (first_retired_ == 0) return nullptr;
    const std::uint64_t until = readings_.unread_until();
    for (std::uint32_t* link = &first_retired_; *link != 0;) {
      Frame& frame = table_.frame(*link - 1);
      if (frame.retired > until) {
        ++others_read;
        link = &frame.next_retired;
        continue;
      }
      const std::uint32_t number = *link;
      *link = frame.next_retired;
      frame.next_retired = unread;
      unread = number;
    }
  }
  Frame* mine = nullptr;
  while (unread != 0) {
    Frame& frame = table_.frame(unread - 1);
    unread = frame.next_retired;
    frame.header.reset();
    if (mine == nullptr) {
      mine = &frame;
    } else {
      give_frame(frame.home, frame);
    }
  }
  return mine;
}

Status PageCache::write(PageSession& session, Partition& partition, Flight& flight,
                        Frame& frame) noexcept {
  PageSession::count(session.writes_);
  sync::note_read(room_of(frame));
  const Status status = flight.id.source->write(flight.id.page, page_room(frame));
  bool wake = false;
  {
    const Held held(partition.lock);
    if (status.ok()) frame.dirty = false;
    wake = end_flight(partition, flight, nullptr, Status());
  }
  if (wake) partition.done.ring();
  unpin(frame);
  return status;
}

PageCache::Step PageCache::evict_one(PageSession& session, Frame& frame, Sweep& sweep) noexcept {
  // Once to find it dirty, and once to find it clean.
  for (int turn = 0; turn < 2; ++turn) {
    const std::uint32_t number = frame.partition.load(relaxed);
    if (number == Frame::kNowhere) return Step::passed;
    Partition& partition = table_.partition(number);
    Flight flight;
    {
      const Held held(partition.lock);
      if (frame.partition.load(relaxed) != number) return Step::passed;
      if (!frame.dirty) {
        if (!frame.header.evict()) return Step::passed;
        table_.remove(frame);
        PageSession::count(session.evictions_);
        break;
      }
      flight.id = {frame.source, frame.page};
      if (PageTable::find_flight(partition, flight.id) != nullptr) return Step::passed;
      if (turn != 0 || frame.header.pins() != 0) return Step::passed;
      if (!sweep.may_write(frame.source)) return Step::passed;
      flight.writing = true;
      PageTable::begin(partition, flight);
      frame.header.pin_certainly(1);
    }
    const Status written = write(session, partition, flight, frame);
    if (!written.ok()) {
      sweep.refused(flight.id.source, written);
      return Step::failed;
    }
  }
  retire(frame);
  return Step::evicted;
}

bool PageCache::evict(PageSession& session, Status& error) noexcept {
  Sweep sweep;
  // Once round to forget uses, and once to find what was not used.
  for (std::uint64_t step = 0; step < 2 * std::uint64_t{frame_count_} + 1; ++step) {
    Frame& frame = table_.frame(hand_.fetch_add(1, relaxed) % frame_count_);
    if (frame.used.load(relaxed) != 0) {
      frame.used.store(0, relaxed);
      continue;
    }
    const Step done = evict_one(session, frame, sweep);
    if (done == Step::evicted) return true;
    if (done == Step::failed) frame.used.store(1, relaxed);  // once a turn
  }
  error = sweep.error;
  return false;
}

Result<Frame*> PageCache::take_frame(PageSession& session, std::uint32_t partition) noexcept {
  std::uint64_t steals = 0;
  const std::uint32_t number = lists_->try_take(partition, steals);
  if (steals != 0) PageSession::count(session.steals_);
  if (number != FrameLists::kNone) return &table_.frame(number);
  std::uint32_t others_read = 0;
  if (Frame* frame = reclaim(others_read)) return frame;
  Status error;
  if (others_read != 0) return await_frame(session, partition);
  if (evict(session, error)) {
    if (Frame* frame = reclaim(others_read)) return frame;
  } else if (!error.ok()) {
    return error;
  }
  return await_frame(session, partition);
}

Result<Frame*> PageCache::await_frame(PageSession& session, std::uint32_t partition) noexcept {
  const std::uint64_t started_ns = platform::monotonic_ns();
  const std::uint64_t wait_ns_max = ~std::uint64_t{0} - started_ns;
  const std::uint64_t deadline_ns =
      started_ns + (options_.frame_wait_us_max > wait_ns_max / 1000
                        ? wait_ns_max
                        : options_.frame_wait_us_max * 1000);
  Readings::Waiting waiting(readings_);
  for (;;) {
    const std::uint32_t prepared = waiting.prepare();
    std::uint32_t others_read = 0;
    if (Frame* frame = reclaim(others_read)) return frame;
    std::uint64_t steals = 0;
    const std::uint32_t number = lists_->take(partition, steals);
    if (steals != 0) PageSession::count(session.steals_);
    if (number != FrameLists::kNone) return &table_.frame(number);
    // Where one has retired already for each who waits, it is enough to wait for these.
    Status error;
    if (others_read < waiting.count() && evict(session, error)) {
      if (Frame* frame = reclaim(others_read)) return frame;
    } else if (!error.ok()) {
      return error;
    }
    if (!platform::may_wait()) return Status(Code::would_block);
    if (platform::monotonic_ns() >= deadline_ns) {
      return Status(Code::busy, frame_count_, frame_count_);
    }
    PageSession::count(session.waits_);
    waiting.wait(prepared, std::min(kWaitUs, options_.frame_wait_us_max));
  }
}

bool PageCache::end_flight(Partition& partition, Flight& flight, Frame* frame,
                           Status status) noexcept {
  PageTable::end(partition, flight);
  for (Waiter* waiter = flight.waiters; waiter != nullptr;) {
    Waiter* next = waiter->next;  // a waiter that is done may be gone
    waiter->frame = frame;
    waiter->status = status;
    waiter->done = true;
    waiter = next;
  }
  return flight.waiters != nullptr;
}

std::uint64_t PageCache::count_put_again() noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < options_.partitions; ++i) {
    Partition& partition = table_.partition(i);
    const Held held(partition.lock);
    sum += partition.put_again;
  }
  return sum;
}

void PageCache::await(PageSession& session, Partition& partition, const Waiter& waiter) noexcept {
  PageSession::count(session.waits_);
  for (;;) {
    const std::uint32_t prepared = partition.done.prepare();
    {
      const Held held(partition.lock);
      if (waiter.done) return;
    }
    partition.done.wait(prepared, kWaitUs);
  }
}

Result<Frame*> PageCache::read(PageSession& session, Partition& partition,
                               Flight& flight) noexcept {
  const PageId id = flight.id;
  const std::uint32_t number = table_.partition_of(id);
  const auto taken = take_frame(session, number);
  Frame* frame = taken.ok() ? *taken : nullptr;
  Status status;
  if (frame != nullptr) {
    PageSession::count(session.reads_);
    sync::note_write(room_of(*frame));
    status = id.source->read(id.page, page_room(*frame));
  }
  Frame* found = nullptr;
  bool wake = false;
  {
    const Held held(partition.lock);
    // What was found before an invalidation, an error too, is not for those who came after it. That
    // there was no frame says nothing of the page: who waits looks for one.
    if (flight.stale) status = Status();
    if (frame != nullptr && status.ok() && !flight.stale) {
      VICINAL_ASSERT(table_.find_locked(id) == nullptr);  // I1
      std::uint32_t pins = 1;
      for (Waiter* waiter = flight.waiters; waiter != nullptr; waiter = waiter->next) ++pins;
      frame->header.pin_certainly(pins);
      table_.insert(*frame, id, false);
      found = frame;
    }
    wake = end_flight(partition, flight, found, status);
  }
  if (wake) partition.done.ring();
  if (!taken.ok()) {
    readings_.notify();  // the clock passes by pages that have a flight
    return taken.status();
  }
  if (found == nullptr) give_frame(number, *frame);
  if (!status.ok()) return status;
  return found;
}

Result<Frame*> PageCache::try_obtain(PageSession& session, const PageId& id) noexcept {
  Partition& partition = table_.partition(table_.partition_of(id));
  Flight mine;
  mine.id = id;
  Waiter waiter;
  bool waits = false;
  {
    const Held held(partition.lock);
    if (Frame* frame = table_.find_locked(id)) {
      frame->header.pin_certainly(1);
      frame->used.store(1, relaxed);
      return frame;
    }
    Flight* flight = PageTable::find_flight(partition, id);
    waits = flight != nullptr;
    if (!waits) {
      PageTable::begin(partition, mine);
    } else if (!platform::may_wait()) {
      return Status(Code::would_block);
    } else {
      waiter.next = flight->waiters;
      flight->waiters = &waiter;
    }
  }
  if (!waits) return read(session, partition, mine);
  await(session, partition, waiter);
  if (!waiter.status.ok()) return waiter.status;
  return waiter.frame;
}

Result<Frame*> PageCache::obtain(PageSession& session, const PageId& id) noexcept {
  VICINAL_ASSERT(!session.reading_);
  for (std::uint32_t turn = 0; turn < kTurnsMax; ++turn) {
    auto frame = try_obtain(session, id);
    if (!frame.ok() || *frame != nullptr) return frame;
  }
  return Status(Code::busy, kTurnsMax, kTurnsMax);
}

PageHold::~PageHold() {
  if (frame_ != nullptr) cache_->unpin(*frame_);
}

PageBytes PageHold::bytes() const noexcept { return cache_->page_room(*frame_); }

}  // namespace vicinal::cache
