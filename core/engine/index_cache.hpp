// The indexes that an IndexCache has open, and each thread's session.
//
// Thread safety: a SessionCore belongs to one thread at a time; of a CacheCore every method from
// any thread. What is said to be under the lock is for the lock's holder.
//
// A session has a table of its own: path, entry of the cache, the number that the entry had, and a
// reader of the entry's index. While the number is the same the reader is there, and while the
// session's mark is on the entry nobody ends it (sync/use_mark.hpp): that is a hit. Everything else
// goes under the lock, which is never held while a file is opened, read or closed, or anybody
// waits: an entry that is `waiting` for one of these stays what it is.
//
// I1: an entry's memory is the cache's until its end, and its readers' memory the entry's.
// I2: one thread opens a file; the others that want it wait, and share the outcome. An entry that
//     failed is gone when the last of them has seen why.
// I3: the sum of what open entries count for is at most the budget, but for those that grew while
//     sessions had marks on them. Nothing is ended for what has no room even so.
// I4: an entry that was dropped under a session's mark is found by nobody, counts as before, and is
//     ended by a session that looks for it: at its next miss, or its next 64th hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sync/event.hpp"
#include "sync/lock.hpp"
#include "sync/use_mark.hpp"
#include "vicinal/index_cache.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::engine {

class SessionCore;

// So many hits of one index, and its size is looked at again.
inline constexpr std::uint32_t kHitsPerLook = 64;

// A path as a key.
struct CacheKey {
  std::string_view path;
  std::uint64_t hash = 0;

  [[nodiscard]] static CacheKey of(std::string_view path) noexcept;
};

// A session's reader of an entry's index.
struct CachedReader {
  CachedReader(SessionCore* owner, Reader opened) noexcept
      : session(owner), reader(std::move(opened)) {}
  SessionCore* session;
  Reader reader;
  std::unique_ptr<CachedReader> next;  // of the same entry
};

struct CacheEntry {
  // A `leaving` one is the thread's that ends it, until that says `free`.
  enum class State : std::uint8_t { free, opening, open, failed, dropped, leaving };

  // What sessions read without the lock.
  sync::Usable usable;
  sync::Atomic<std::uint32_t> used;  // since the clock's hand was here

  // Under the lock.
  State state = State::free;
  Status error;               // of one that failed
  std::uint32_t waiting = 0;  // threads that come back to it
  std::uint64_t hash = 0;
  std::size_t path_bytes = 0;
  std::unique_ptr<char[]> path;  // ends with a 0
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;  // that has so many
  std::optional<Index> index;
  std::unique_ptr<CachedReader> readers;
  CacheEntry* next = nullptr;  // of all entries
  CacheEntry* next_leaving = nullptr;

  [[nodiscard]] bool has(const CacheKey& key) const noexcept {
    return hash == key.hash && std::string_view(path.get(), path_bytes) == key.path;
  }
};

class CacheCore {
 public:
  // Null without memory.
  [[nodiscard]] static std::shared_ptr<CacheCore> create(const CacheOptions& options) noexcept;
  explicit CacheCore(const CacheOptions& options) noexcept : options_(options) {}
  CacheCore(const CacheCore&) = delete;
  CacheCore& operator=(const CacheCore&) = delete;
  ~CacheCore();

  [[nodiscard]] const CacheOptions& options() const noexcept { return options_; }
  void enter(SessionCore& session) noexcept;
  // With every reader that it has.
  void leave(SessionCore& session) noexcept;

  // What a session's next hits need; its mark is on the entry.
  struct Got {
    CacheEntry* entry = nullptr;
    std::uint64_t number = 0;
    CachedReader* reader = nullptr;
    std::uint64_t sequence = 0;  // when it was measured
  };
  // Of a session whose mark is on nothing.
  [[nodiscard]] Result<Got> get(SessionCore& session, const CacheKey& key) noexcept;
  // By a session whose mark is on the entry: it may have grown, and others may wait to be ended.
  // False: another thread has the lock, and nothing was done.
  bool look_at(CacheEntry& entry) noexcept;
  [[nodiscard]] bool has_dropped() const noexcept { return dropped_.load(sync::relaxed) != 0; }
  bool drop(const CacheKey& key) noexcept;
  void trim() noexcept;
  [[nodiscard]] CacheStats stats() noexcept;

 private:
  // Entries that were withdrawn under the lock, whose readers and indexes end without it.
  class Leavings {
   public:
    explicit Leavings(CacheCore& core) noexcept : core_(core) {}
    Leavings(const Leavings&) = delete;
    Leavings& operator=(const Leavings&) = delete;
    ~Leavings();  // not under the lock
    void add(CacheEntry& entry) noexcept;

   private:
    CacheCore& core_;
    CacheEntry* first_ = nullptr;
  };

  // All of these under the lock.
  [[nodiscard]] CacheEntry* find(const CacheKey& key) noexcept;
  // A free one for this key, in the state `opening`; null without memory.
  [[nodiscard]] CacheEntry* begin_entry(const CacheKey& key) noexcept;
  // I2. FULL where there is no room.
  Status settle(CacheEntry& entry, Result<Index> opened, const Result<Stats>& stats,
                Leavings& leavings) noexcept;
  [[nodiscard]] Result<Got> give(SessionCore& session, CacheEntry& entry) noexcept;
  // Evicts until `more` bytes fit, or nothing where they cannot; of what is open (`more` 0) as much
  // as can be. Whether they do.
  bool make_room(std::uint64_t more, Leavings& leavings) noexcept;
  // Bytes of what could go now.
  [[nodiscard]] std::uint64_t idle_bytes() const noexcept;
  void sweep_dropped(Leavings& leavings) noexcept;
  void count(CacheEntry& entry, const Stats& stats) noexcept;
  template <class Visit>
  [[nodiscard]] bool any_mark(Visit visit) const noexcept;
  // Waits for the end of an opening, without the lock meanwhile; the entry stays what it is.
  void await(CacheEntry& entry) noexcept;

  // Without the lock.
  [[nodiscard]] Result<Index> open(const CacheEntry& entry) const noexcept;

  CacheOptions options_;
  sync::Lock lock_;
  sync::EventCount opened_;  // an opening ended
  CacheEntry* entries_ = nullptr;
  CacheEntry* hand_ = nullptr;  // of the clock; null: at the first
  SessionCore* sessions_ = nullptr;
  std::uint64_t bytes_ = 0;
  sync::Atomic<std::uint32_t> dropped_;  // entries in that state
  CacheStats counts_;          // of sessions that are over, and what is counted here
};

class SessionCore {
 public:
  explicit SessionCore(std::shared_ptr<CacheCore> cache) noexcept;
  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;
  ~SessionCore();

  // IndexCache::Session::get.
  [[nodiscard]] Result<Reader&> get(std::string_view path) noexcept;

  [[nodiscard]] const sync::UseMark& mark() const noexcept { return mark_; }

 private:
  friend class CacheCore;

  struct Record {
    std::uint64_t hash = 0;
    std::size_t path_bytes = 0;
    std::unique_ptr<char[]> path;  // null: none
    CacheCore::Got got;
    std::uint32_t hits_left = 0;  // until the next look
  };

  [[nodiscard]] Record* find(const CacheKey& key) const noexcept;
  [[nodiscard]] Result<Reader&> get_slowly(const CacheKey& key) noexcept;
  // Of the record that the mark is on: whether there is something to be told to the cache.
  void look(Record& record) noexcept;
  // Room for one more, without records of entries that are gone. FULL.
  Status reserve() noexcept;
  Status keep(const CacheKey& key, const CacheCore::Got& got) noexcept;
  static void count(sync::Atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(sync::relaxed) + 1, sync::relaxed);  // the owner's alone
  }

  sync::UseMark mark_;
  // Read by whoever asks for figures; a line of the session's own.
  sync::Atomic<std::uint64_t> hits_;
  sync::Atomic<std::uint64_t> misses_;
  std::shared_ptr<CacheCore> cache_;
  std::unique_ptr<Record[]> records_;  // a power of two, half of it free at least
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  SessionCore* next_ = nullptr;  // the cache's, under the lock
};

}  // namespace vicinal::engine
