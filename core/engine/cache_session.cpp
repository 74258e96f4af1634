// A session's table, and the public cache over the engine's.
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "engine/index_cache.hpp"

namespace vicinal {
namespace engine {
namespace {

constexpr std::size_t kRecordsMin = 16;

}  // namespace

SessionCore::SessionCore(std::shared_ptr<CacheCore> cache) noexcept : cache_(std::move(cache)) {
  cache_->enter(*this);
}

SessionCore::~SessionCore() { cache_->leave(*this); }

SessionCore::Record* SessionCore::find(const CacheKey& key) const noexcept {
  if (capacity_ == 0) return nullptr;
  for (std::size_t i = key.hash & (capacity_ - 1);; i = (i + 1) & (capacity_ - 1)) {
    Record& record = records_[i];
    if (record.path == nullptr) return nullptr;
    if (record.hash == key.hash && record.path_bytes == key.path.size() &&
        std::memcmp(record.path.get(), key.path.data(), key.path.size()) == 0) {
      return &record;
    }
  }
}

Result<Reader&> SessionCore::get(std::string_view path) noexcept {
  const CacheKey key = CacheKey::of(path);
  Record* record = find(key);
  if (record == nullptr) return get_slowly(key);
  const CacheCore::Got& got = record->got;
  const sync::Usable& usable = got.entry->usable;
  const bool there = mark_.has(usable) ? usable.is(got.number) : mark_.set(usable, got.number);
  if (!there) return get_slowly(key);
  if (got.entry->used.load(sync::relaxed) == 0) got.entry->used.store(1, sync::relaxed);
  count(hits_);
  Reader& reader = got.reader->reader;
  if (--record->hits_left == 0) {
    record->hits_left = kHitsPerLook;
    look(*record);
  }
  return reader;
}

Result<Reader&> SessionCore::get_slowly(const CacheKey& key) noexcept {
  count(misses_);
  mark_.clear();
  if (key.path.empty() || key.path.find('\0') != std::string_view::npos) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::path));
  }
  if (Status room = reserve(); !room.ok()) return room;
  auto got = cache_->get(*this, key);
  if (!got.ok()) return got.status();
  if (Status kept = keep(key, *got); !kept.ok()) {
    mark_.clear();
    return kept;
  }
  look(*find(key));
  return got->reader->reader;
}

void SessionCore::look(Record& record) noexcept {
  const std::uint64_t sequence = record.got.reader->reader.sequence();
  if (sequence == record.got.sequence && !cache_->has_dropped()) return;
  if (cache_->look_at(*record.got.entry)) record.got.sequence = sequence;
}

Status SessionCore::reserve() noexcept {
  if ((count_ + 1) * 2 <= capacity_) return {};
  const auto is_there = [](const Record& record) {
    return record.path != nullptr && record.got.entry->usable.is(record.got.number);
  };
  std::size_t left = 0;
  for (std::size_t i = 0; i < capacity_; ++i) left += is_there(records_[i]) ? 1 : 0;
  std::size_t capacity = kRecordsMin;
  while (capacity < (left + 1) * 4) capacity *= 2;
  std::unique_ptr<Record[]> records(new (std::nothrow) Record[capacity]);
  if (records == nullptr) return Status(Code::full, capacity * sizeof(Record));
  for (std::size_t i = 0; i < capacity_; ++i) {
    if (!is_there(records_[i])) continue;
    std::size_t at = records_[i].hash & (capacity - 1);
    while (records[at].path != nullptr) at = (at + 1) & (capacity - 1);
    records[at] = std::move(records_[i]);
  }
  records_ = std::move(records);
  capacity_ = capacity;
  count_ = left;
  return {};
}

Status SessionCore::keep(const CacheKey& key, const CacheCore::Got& got) noexcept {
  Record* record = find(key);
  if (record == nullptr) {
    VICINAL_ASSERT((count_ + 1) * 2 <= capacity_);  // reserved
    std::unique_ptr<char[]> path(new (std::nothrow) char[key.path.size()]);
    if (path == nullptr) return Status(Code::full, key.path.size());
    std::memcpy(path.get(), key.path.data(), key.path.size());
    std::size_t at = key.hash & (capacity_ - 1);
    while (records_[at].path != nullptr) at = (at + 1) & (capacity_ - 1);
    record = &records_[at];
    record->hash = key.hash;
    record->path_bytes = key.path.size();
    record->path = std::move(path);
    ++count_;
  }
  record->got = got;
  record->hits_left = kHitsPerLook;
  return {};
}

}  // namespace engine

IndexCache::Session::Session(std::unique_ptr<engine::SessionCore> core, Status status) noexcept
    : core_(std::move(core)), status_(status) {}
IndexCache::Session::Session(Session&&) noexcept = default;
IndexCache::Session& IndexCache::Session::operator=(Session&&) noexcept = default;
IndexCache::Session::~Session() = default;

Status IndexCache::Session::status() const noexcept {
  return core_ == nullptr && status_.ok() ? Status(Code::closed) : status_;
}

Result<Reader&> IndexCache::Session::get(std::string_view path) {
  if (core_ == nullptr) return status();
  return core_->get(path);
}

IndexCache::IndexCache(std::uint64_t bytes_max) : IndexCache(CacheOptions{bytes_max}) {}
IndexCache::IndexCache(const CacheOptions& options) : core_(engine::CacheCore::create(options)) {}
IndexCache::IndexCache(IndexCache&&) noexcept = default;
IndexCache& IndexCache::operator=(IndexCache&&) noexcept = default;
IndexCache::~IndexCache() = default;

IndexCache::Session IndexCache::session() {
  if (core_ == nullptr) return {nullptr, Status(Code::full, sizeof(engine::CacheCore))};
  if (core_->options().bytes_max == 0) {
    return {nullptr, Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::max_bytes))};
  }
  std::unique_ptr<engine::SessionCore> session(new (std::nothrow) engine::SessionCore(core_));
  if (session == nullptr) return {nullptr, Status(Code::full, sizeof(engine::SessionCore))};
  return {std::move(session), Status()};
}

bool IndexCache::drop(std::string_view path) {
  return core_ != nullptr && core_->drop(engine::CacheKey::of(path));
}

void IndexCache::trim() {
  if (core_ != nullptr) core_->trim();
}

CacheStats IndexCache::stats() const {
  return core_ == nullptr ? CacheStats{} : core_->stats();
}

}  // namespace vicinal
