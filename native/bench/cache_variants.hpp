// Ways to find one of many open indexes by its name, each behind the same two calls: `at(thread)`
// is a thread's own part, `get(name)` of it a reader that is valid until the thread's next `get`.
//
// Thread safety: a part belongs to one thread; parts of the same variant may be used at once.
// I1: all have the same indexes open, and a reader for each thread and index, which the thread
//     makes. They differ in what a look-up does, nothing else.
// I2: shared_rmw is how many read-modify-writes of memory that threads share a look-up does: a lock
//     and its release are one each, so are the copy and the end of a shared pointer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/index.hpp"
#include "cli/failure.hpp"
#include "vicinal/index_cache.hpp"

namespace vicinal::bench {

// What the rivals' tables lead to.
struct OpenIndex {
  Index index;
  std::vector<std::unique_ptr<Reader>> readers;  // a thread each
  alignas(128) std::uint64_t last_use = 0;       // of the clock of those who keep one
};
using Shared = std::shared_ptr<OpenIndex>;

struct PathHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view path) const noexcept {
    return std::hash<std::string_view>()(path);
  }
};
template <class Value>
using ByPath = std::unordered_map<std::string, Value, PathHash, std::equal_to<>>;

[[nodiscard]] inline Shared open_shared(const std::string& path, std::size_t threads) {
  OpenOptions options;
  options.read_only = true;
  auto open = std::make_shared<OpenIndex>(
      OpenIndex{cli::require(path, Index::open(path, options)), {}});
  open->readers.resize(threads);
  return open;
}

// By the thread itself.
template <class Map>
void open_readers(Map& map, std::size_t thread) {
  for (auto& [path, open] : map) {
    open->readers[thread] = std::make_unique<Reader>(open_reader(open->index));
  }
}

// A map behind one lock, and a count of uses behind another.
class MutexCache {
 public:
  static constexpr const char* kName = "mutex";
  static constexpr std::uint64_t kSharedRmw = 6;

  MutexCache(std::span<const std::string> paths, std::size_t threads) {
    for (const std::string& path : paths) map_.emplace(path, open_shared(path, threads));
  }
  class Part {
   public:
    Part(MutexCache& cache, std::size_t thread) : cache_(cache), thread_(thread) {
      open_readers(cache.map_, thread);
    }
    Reader& get(std::string_view path) {
      Shared found;
      {
        const std::scoped_lock held(cache_.map_lock_);
        found = cache_.map_.find(path)->second;
      }
      {
        const std::scoped_lock held(cache_.use_lock_);
        found->last_use = ++cache_.clock_;
      }
      last_ = std::move(found);
      return *last_->readers[thread_];
    }

   private:
    MutexCache& cache_;
    std::size_t thread_;
    Shared last_;
  };
  Part at(std::size_t thread) { return {*this, thread}; }

 private:
  std::mutex map_lock_;
  ByPath<Shared> map_;
  std::mutex use_lock_;
  std::uint64_t clock_ = 0;
};

// Maps for parts of the names, each with its count of uses behind its lock.
class ShardedCache {
 public:
  static constexpr const char* kName = "sharded";
  static constexpr std::uint64_t kSharedRmw = 4;

  ShardedCache(std::span<const std::string> paths, std::size_t threads) {
    for (const std::string& path : paths) {
      shard_of(path).map.emplace(path, open_shared(path, threads));
    }
  }
  class Part {
   public:
    Part(ShardedCache& cache, std::size_t thread) : cache_(cache), thread_(thread) {
      for (Shard& shard : cache.shards_) open_readers(shard.map, thread);
    }
    Reader& get(std::string_view path) {
      Shard& shard = cache_.shard_of(path);
      Shared found;
      {
        const std::scoped_lock held(shard.lock);
        found = shard.map.find(path)->second;
        found->last_use = ++shard.clock;
      }
      last_ = std::move(found);
      return *last_->readers[thread_];
    }

   private:
    ShardedCache& cache_;
    std::size_t thread_;
    Shared last_;
  };
  Part at(std::size_t thread) { return {*this, thread}; }

 private:
  struct alignas(128) Shard {
    std::mutex lock;
    ByPath<Shared> map;
    std::uint64_t clock = 0;
  };
  Shard& shard_of(std::string_view path) {
    return shards_[PathHash()(path) % shards_.size()];
  }
  std::array<Shard, 16> shards_;
};

// A map behind a reader-writer lock. Uses are not counted, which is less than it would have to do.
class RwlockCache {
 public:
  static constexpr const char* kName = "rwlock";
  static constexpr std::uint64_t kSharedRmw = 4;

  RwlockCache(std::span<const std::string> paths, std::size_t threads) {
    for (const std::string& path : paths) map_.emplace(path, open_shared(path, threads));
  }
  class Part {
   public:
    Part(RwlockCache& cache, std::size_t thread) : cache_(cache), thread_(thread) {
      open_readers(cache.map_, thread);
    }
    Reader& get(std::string_view path) {
      Shared found;
      {
        const std::shared_lock held(cache_.lock_);
        found = cache_.map_.find(path)->second;
      }
      last_ = std::move(found);
      return *last_->readers[thread_];
    }

   private:
    RwlockCache& cache_;
    std::size_t thread_;
    Shared last_;
  };
  Part at(std::size_t thread) { return {*this, thread}; }

 private:
  std::shared_mutex lock_;
  ByPath<Shared> map_;
};

// No cache at all: a map of each thread's own, in which nothing ever changes.
class NolockCache {
 public:
  static constexpr const char* kName = "nolock";
  static constexpr std::uint64_t kSharedRmw = 0;

  NolockCache(std::span<const std::string> paths, std::size_t threads) {
    for (const std::string& path : paths) open_.emplace(path, open_shared(path, threads));
  }
  class Part {
   public:
    Part(NolockCache& cache, std::size_t thread) {
      open_readers(cache.open_, thread);
      for (auto& [path, open] : cache.open_) readers_.emplace(path, open->readers[thread].get());
    }
    Reader& get(std::string_view path) { return *readers_.find(path)->second; }

   private:
    ByPath<Reader*> readers_;
  };
  Part at(std::size_t thread) { return {*this, thread}; }

 private:
  ByPath<Shared> open_;
};

// vicinal's. That it does none of them is counted by its test.
class OurCache {
 public:
  static constexpr const char* kName = "ours";
  static constexpr std::uint64_t kSharedRmw = 0;

  OurCache(std::span<const std::string>, std::size_t) : cache_(std::uint64_t{1} << 40) {}
  class Part {
   public:
    explicit Part(IndexCache::Session session) : session_(std::move(session)) {}
    Reader& get(std::string_view path) {
      auto reader = session_.get(path);
      if (!reader.ok()) cli::require(kSubject, reader.status());
      return *reader;
    }

   private:
    IndexCache::Session session_;
  };
  Part at(std::size_t) { return Part(cache_.session()); }

 private:
  IndexCache cache_;
};

}  // namespace vicinal::bench
