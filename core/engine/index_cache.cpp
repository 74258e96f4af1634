#include "engine/index_cache.hpp"

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "base/checksum.hpp"

namespace vicinal::engine {
namespace {

using State = CacheEntry::State;

// Null without memory.
std::unique_ptr<char[]> copy_of(std::string_view path) noexcept {
  std::unique_ptr<char[]> copy(new (std::nothrow) char[path.size() + 1]);
  if (copy == nullptr) return nullptr;
  if (!path.empty()) std::memcpy(copy.get(), path.data(), path.size());
  copy[path.size()] = 0;
  return copy;
}

// One reader after the other: a chain of thousands must not be as many calls deep.
void destroy_chain(std::unique_ptr<CachedReader> first) noexcept {
  while (first != nullptr) first = std::move(first->next);
}

[[nodiscard]] std::uint64_t bytes_of(const Stats& stats) noexcept {
  return stats.total_bytes + stats.mapped_bytes;
}

struct Chain {
  std::unique_ptr<CachedReader> first;
  ~Chain() { destroy_chain(std::move(first)); }
};

}  // namespace

CacheKey CacheKey::of(std::string_view path) noexcept {
  return {path, checksum64(path.data(), path.size())};
}

CacheCore::Leavings::~Leavings() {
  while (first_ != nullptr) {
    CacheEntry* entry = first_;
    first_ = entry->next_leaving;
    destroy_chain(std::move(entry->readers));
    entry->index.reset();
    const sync::Lock::Held held(core_.lock_);
    entry->path.reset();
    entry->usable.renew();
    entry->state = State::free;
  }
}

void CacheCore::Leavings::add(CacheEntry& entry) noexcept {
  entry.state = State::leaving;
  entry.next_leaving = first_;
  first_ = &entry;
}

std::shared_ptr<CacheCore> CacheCore::create(const CacheOptions& options) noexcept {
  return std::shared_ptr<CacheCore>(new (std::nothrow) CacheCore(options));
}

CacheCore::~CacheCore() {
  VICINAL_ASSERT(sessions_ == nullptr);  // each keeps the cache
  while (entries_ != nullptr) {
    CacheEntry* entry = entries_;
    entries_ = entry->next;
    destroy_chain(std::move(entry->readers));
    delete entry;
  }
}

void CacheCore::enter(SessionCore& session) noexcept {
  const sync::Lock::Held held(lock_);
  session.next_ = sessions_;
  sessions_ = &session;
  ++counts_.sessions;
}

void CacheCore::leave(SessionCore& session) noexcept {
  session.mark_.clear();
  Chain left;
  Leavings leavings(*this);
  const sync::Lock::Held held(lock_);
  for (CacheEntry* entry = entries_; entry != nullptr; entry = entry->next) {
    if (entry->state == State::leaving) continue;  // another thread ends its readers now
    for (auto* link = &entry->readers; *link != nullptr;) {
      if ((*link)->session != &session) {
        link = &(*link)->next;
        continue;
      }
      std::unique_ptr<CachedReader> one = std::move(*link);
      *link = std::move(one->next);
      one->next = std::move(left.first);
      left.first = std::move(one);
    }
  }
  SessionCore** link = &sessions_;
  while (*link != &session) link = &(*link)->next_;
  *link = session.next_;
  --counts_.sessions;
  counts_.hits += session.hits_.load(sync::relaxed);
  counts_.misses += session.misses_.load(sync::relaxed);
  sweep_dropped(leavings);
}

template <class Visit>
bool CacheCore::any_mark(Visit visit) const noexcept {
  for (const SessionCore* session = sessions_; session != nullptr; session = session->next_) {
    if (visit(session->mark())) return true;
  }
  return false;
}

CacheEntry* CacheCore::find(const CacheKey& key) noexcept {
  for (CacheEntry* entry = entries_; entry != nullptr; entry = entry->next) {
    const bool is_there = entry->state == State::open || entry->state == State::opening;
    if (is_there && entry->has(key)) return entry;
  }
  return nullptr;
}

CacheEntry* CacheCore::begin_entry(const CacheKey& key) noexcept {
  std::unique_ptr<char[]> path = copy_of(key.path);
  if (path == nullptr) return nullptr;
  CacheEntry* entry = entries_;
  while (entry != nullptr && entry->state != State::free) entry = entry->next;
  if (entry == nullptr) {
    entry = new (std::nothrow) CacheEntry;
    if (entry == nullptr) return nullptr;
    entry->next = entries_;
    entries_ = entry;
  }
  entry->state = State::opening;
  entry->hash = key.hash;
  entry->path = std::move(path);
  entry->path_bytes = key.path.size();
  entry->bytes = 0;
  entry->used.store(0, sync::relaxed);  // what is asked for once goes before what is used again
  return entry;
}

Result<Index> CacheCore::open(const CacheEntry& entry) const noexcept {
  OpenOptions options;
  options.read_only = true;
  options.mapped = options_.mapped;
  options.memory_bytes_max = options_.bytes_max;
  options.files = options_.files;
  return Index::open(std::string(entry.path.get(), entry.path_bytes), options);
}

void CacheCore::await(CacheEntry& entry) noexcept {
  ++entry.waiting;
  while (entry.state == State::opening) {
    const std::uint32_t prepared = opened_.prepare();
    lock_.give_back();
    opened_.wait(prepared, sync::kLockWaitUs);
    lock_.take();
  }
  --entry.waiting;
}

Status CacheCore::settle(CacheEntry& entry, Result<Index> opened, const Result<Stats>& stats,
                         Leavings& leavings) noexcept {
  VICINAL_ASSERT(entry.state == State::opening);
  Status status = opened.status();
  if (opened.ok()) {
    ++counts_.opens;
    entry.index.emplace(std::move(opened).value());
    status = stats.status();
  }
  if (status.ok() && !make_room(bytes_of(*stats), leavings)) {
    status = Status(Code::full, bytes_ + bytes_of(*stats), options_.bytes_max);
  }
  opened_.ring();
  if (status.ok()) {
    entry.state = State::open;
    count(entry, *stats);
    ++counts_.indexes;
    return status;
  }
  ++counts_.failures;
  entry.error = status;
  entry.state = State::failed;  // I2
  entry.usable.forbid();
  return status;
}

Result<CacheCore::Got> CacheCore::give(SessionCore& session, CacheEntry& entry) noexcept {
  CachedReader* reader = entry.readers.get();
  while (reader != nullptr && reader->session != &session) reader = reader->next.get();
  if (reader == nullptr) {
    Reader opened = entry.index->reader();
    if (!opened.status().ok()) return opened.status();
    std::unique_ptr<CachedReader> made(new (std::nothrow)
                                           CachedReader(&session, std::move(opened)));
    if (made == nullptr) return Status(Code::full, sizeof(CachedReader));
    made->next = std::move(entry.readers);
    entry.readers = std::move(made);
    reader = entry.readers.get();
  }
  session.mark_.set_locked(entry.usable);
  return Got{&entry, entry.usable.number(), reader, entry.sequence};
}

Result<CacheCore::Got> CacheCore::get(SessionCore& session, const CacheKey& key) noexcept {
  Leavings leavings(*this);
  const sync::Lock::Held held(lock_);
  for (;;) {
    CacheEntry* entry = find(key);
    if (entry == nullptr) {
      entry = begin_entry(key);
      if (entry == nullptr) return Status(Code::full, sizeof(CacheEntry) + key.path.size());
      lock_.give_back();
      auto opened = open(*entry);
      const auto stats = opened.ok() ? opened->try_stats() : Result<Stats>(opened.status());
      lock_.take();
      (void)settle(*entry, std::move(opened), stats, leavings);
    } else {
      entry->used.store(1, sync::relaxed);
      if (entry->state == State::opening) await(*entry);
    }
    sweep_dropped(leavings);
    if (entry->state == State::open) return give(session, *entry);
    if (entry->state != State::failed) continue;  // dropped meanwhile
    const Status error = entry->error;
    if (entry->waiting == 0) leavings.add(*entry);
    return error;
  }
}

std::uint64_t CacheCore::idle_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const CacheEntry* entry = entries_; entry != nullptr; entry = entry->next) {
    if (entry->state != State::open || entry->waiting != 0) continue;
    if (entry->usable.is_used([this](auto visit) { return any_mark(visit); })) continue;
    bytes += entry->bytes;
  }
  return bytes;
}

bool CacheCore::make_room(std::uint64_t more, Leavings& leavings) noexcept {
  const auto fits = [&](std::uint64_t bytes) {
    return bytes <= options_.bytes_max && more <= options_.bytes_max - bytes;
  };
  if (fits(bytes_)) return true;
  if (more != 0 && !fits(bytes_ - idle_bytes())) return false;
  std::uint64_t steps = 2;  // each entry's use is forgotten once, and then it goes
  for (CacheEntry* entry = entries_; entry != nullptr; entry = entry->next) steps += 2;
  for (; steps > 0 && !fits(bytes_); --steps) {
    hand_ = hand_ == nullptr || hand_->next == nullptr ? entries_ : hand_->next;
    if (hand_ == nullptr) break;
    CacheEntry& entry = *hand_;
    if (entry.state != State::open || entry.waiting != 0) continue;
    if (entry.used.load(sync::relaxed) != 0) {
      entry.used.store(0, sync::relaxed);
      continue;
    }
    if (!entry.usable.withdraw([this](auto visit) { return any_mark(visit); })) continue;
    ++counts_.evictions;
    --counts_.indexes;
    bytes_ -= entry.bytes;
    leavings.add(entry);
  }
  return fits(bytes_);
}

void CacheCore::sweep_dropped(Leavings& leavings) noexcept {
  if (!has_dropped()) return;
  for (CacheEntry* entry = entries_; entry != nullptr; entry = entry->next) {
    if (entry->state != State::dropped || entry->waiting != 0) continue;
    if (entry->usable.is_used([this](auto visit) { return any_mark(visit); })) continue;
    dropped_.store(dropped_.load(sync::relaxed) - 1, sync::relaxed);
    bytes_ -= entry->bytes;
    leavings.add(*entry);
  }
}

void CacheCore::count(CacheEntry& entry, const Stats& stats) noexcept {
  bytes_ += bytes_of(stats) - entry.bytes;
  entry.bytes = bytes_of(stats);
  entry.sequence = stats.sequence;
}

bool CacheCore::look_at(CacheEntry& entry) noexcept {
  const auto stats = entry.index->try_stats();  // no slot is free: it counts for what it was
  Leavings leavings(*this);
  if (!lock_.try_take()) return false;
  if (stats.ok() && entry.state == State::open) count(entry, *stats);
  sweep_dropped(leavings);
  (void)make_room(0, leavings);
  lock_.give_back();
  return true;
}

bool CacheCore::drop(const CacheKey& key) noexcept {
  Leavings leavings(*this);
  const sync::Lock::Held held(lock_);
  CacheEntry* entry = find(key);
  if (entry != nullptr && entry->state == State::opening) {
    await(*entry);
    if (entry->state == State::failed && entry->waiting == 0) leavings.add(*entry);
  }
  const bool found = entry != nullptr && entry->state == State::open;
  if (found) {
    entry->usable.forbid();
    entry->state = State::dropped;
    dropped_.store(dropped_.load(sync::relaxed) + 1, sync::relaxed);
    --counts_.indexes;
  }
  sweep_dropped(leavings);
  return found;
}

void CacheCore::trim() noexcept {
  Leavings leavings(*this);
  const sync::Lock::Held held(lock_);
  for (CacheEntry* entry = entries_; entry != nullptr; entry = entry->next) {
    if (entry->state != State::open) continue;
    ++entry->waiting;
    lock_.give_back();
    const auto stats = entry->index->try_stats();
    lock_.take();
    --entry->waiting;
    if (stats.ok()) count(*entry, *stats);
  }
  sweep_dropped(leavings);
  (void)make_room(0, leavings);
}

CacheStats CacheCore::stats() noexcept {
  const sync::Lock::Held held(lock_);
  CacheStats stats = counts_;
  for (const SessionCore* session = sessions_; session != nullptr; session = session->next_) {
    stats.hits += session->hits_.load(sync::relaxed);
    stats.misses += session->misses_.load(sync::relaxed);
  }
  stats.bytes = bytes_;
  stats.bytes_max = options_.bytes_max;
  return stats;
}

}  // namespace vicinal::engine
