// Many index files behind one budget: opened when they are first asked for, and closed by a clock
// when others need the room.
//
// Thread safety: an IndexCache may be used from any number of threads at once; a Session from one
// thread at a time. A Session keeps the cache alive.
//
// A hit is a look-up in the session's own table, stores to the session's own line and two loads: no
// lock, no count that others share, no allocation. Each index follows whoever writes to its file
// (OpenOptions::read_only): a search answers from the newest commit, which it hears of by one load.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "vicinal/status.hpp"

namespace vicinal {

namespace engine {
class CacheCore;
class SessionCore;
}  // namespace engine
namespace platform {
class FileSystem;
}  // namespace platform
class Reader;

struct CacheOptions {
  // What all open indexes may hold together: their memory and what is mapped of their files, not
  // the readers of sessions. One that is being opened is beside it until it has been measured.
  std::uint64_t bytes_max = 0;
  bool mapped = true;                     // as OpenOptions::mapped
  platform::FileSystem* files = nullptr;  // null: the operating system's. It outlives the cache.
};

struct CacheStats {
  std::uint64_t hits = 0;       // of gets: the session had a reader of it
  std::uint64_t misses = 0;     // all others
  std::uint64_t opens = 0;      // files that were opened
  std::uint64_t failures = 0;   // that could not be, or had no room
  std::uint64_t evictions = 0;  // indexes that were closed to make room
  std::uint64_t bytes = 0;      // of the open ones, as last measured
  std::uint64_t bytes_max = 0;
  std::uint32_t indexes = 0;    // open ones
  std::uint32_t sessions = 0;
};

class IndexCache {
 public:
  class Session {
   public:
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    // Its last reader is the cache's again.
    ~Session();

    // FULL when there was no memory for it, BAD_OPTION(max_bytes) for a budget of 0: every `get`
    // answers with it.
    [[nodiscard]] Status status() const noexcept;
    // A reader of the index in the file at `path`, valid until this session's next `get`; the index
    // cannot be evicted before. Opens the file if no session has; who asks for one that is being
    // opened waits for that one opening and shares its outcome, which is not remembered when it is
    // an error. Errors of Index::open and Index::reader; FULL(bytes, budget) for an index that has
    // no room beside those that are in use. The path is taken as it is: two names of one file are
    // two indexes.
    [[nodiscard]] Result<Reader&> get(std::string_view path);

   private:
    friend class IndexCache;
    Session(std::unique_ptr<engine::SessionCore> core, Status status) noexcept;
    std::unique_ptr<engine::SessionCore> core_;
    Status status_;
  };

  // Opens nothing. A budget of 0 is an error of every session.
  explicit IndexCache(std::uint64_t bytes_max);
  explicit IndexCache(const CacheOptions& options);
  IndexCache(IndexCache&&) noexcept;
  IndexCache& operator=(IndexCache&&) noexcept;
  ~IndexCache();

  // One for each thread; a cold call.
  [[nodiscard]] Session session();
  // The next `get` of this path opens the file anew: for files that were replaced by something
  // other than a writer of this library, which tells those who follow. Whoever has a reader of the
  // old one keeps it until the next `get`. Whether it was open; waits for one that is being opened.
  bool drop(std::string_view path);
  // Indexes that grew count for what they were when a session last looked, at its first get of it
  // and at every 64th; this looks at all of them, and evicts what is too much.
  void trim();
  [[nodiscard]] CacheStats stats() const;

 private:
  std::shared_ptr<engine::CacheCore> core_;
};

}  // namespace vicinal
