// An index and the way in which several callers get to it: ours, or the way that we left.
//
// `ours`: a caller searches through its own reader. No lock, nobody to wait for. With a pool, so
// many threads help long searches while the service is open.
//
// `locked-pool` is the policy of the library that we learned most from, around the same index, the
// same readers and thus the same scan: a search takes a fair reader-writer lock, hands its scan to
// the one pool of threads that all callers share, waits for it, and lets the lock go. A write
// holds the lock alone for all of its work, the encoding of its rows included. With a pool of 0
// threads the scan runs in the caller, under the lock.
// What that flatters: our engine below still publishes versions, which costs a locked search the
// few nanoseconds of its pin and a locked write its copies. What it lacks: a scan is one job, since
// ours cannot be cut in pieces from outside, so that a lone caller gains nothing from a pool.
//
// Thread safety: a Service may be used from any thread; a Caller belongs to one.
// I1: the answer of a search is copied out to its caller in every variant.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "bench/bench.hpp"
#include "bench/fair_lock.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::bench {

enum class Variant : std::uint8_t { ours, locked_pool };
[[nodiscard]] const char* name_of(Variant variant) noexcept;

// What one call found, query after query.
struct Answer {
  std::vector<std::uint64_t> ids;
  std::vector<float> scores;

  void clear();
  void append(const Hits& hits);
};

// What every search of a service is asked; `allowed` empty: all rows.
struct Question {
  SearchOptions options;
  std::vector<std::uint64_t> allowed;
};

// A reader with its own copy of the compiled filter: whoever scans has one.
class Scanner {
 public:
  Scanner(const Index& index, const Question& question);
  // One query or several, dim floats each.
  void search(std::span<const float> queries, Answer& answer);

 private:
  std::size_t dim_;
  Reader reader_;
  std::unique_ptr<Filter> filter_;
  SearchOptions options_;
};

class HelpThreads;
class SearchPool;

class Service {
 public:
  // `pool`: threads, that scan or help.
  Service(Index index, Question question, Variant variant, std::size_t pool);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  [[nodiscard]] Variant variant() const noexcept { return variant_; }
  [[nodiscard]] std::size_t pool() const noexcept { return pool_threads_; }
  [[nodiscard]] const Index& index() const noexcept { return index_; }
  // Services of one index share its helpers: those of `ours` are there between these two calls.
  void open();
  void close();
  // Processor time of the pool's threads so far.
  [[nodiscard]] double pool_cpu_us() const;

  // work(Index&) in the way in which this variant writes.
  template <class Work>
  void write(Work&& work) {
    std::unique_lock<FairLock> guard(lock_, std::defer_lock);
    if (variant_ == Variant::locked_pool) guard.lock();
    work(index_);
  }

 private:
  friend class Caller;

  Index index_;
  Question question_;
  Variant variant_;
  std::size_t pool_threads_;
  FairLock lock_;
  std::unique_ptr<SearchPool> pool_;  // none: searches run in their callers
  std::unique_ptr<HelpThreads> helpers_;
};

class Caller {
 public:
  explicit Caller(Service& service);
  // True: a thread that worked on it had to leave its core meanwhile, for another one's sake.
  [[nodiscard]] bool search(std::span<const float> queries, Answer& answer);

 private:
  Service& service_;
  std::optional<Scanner> scanner_;  // unless a pool scans
};

// How often the calling thread had to leave its core although it had work.
[[nodiscard]] std::uint64_t involuntary_switches() noexcept;

}  // namespace vicinal::bench
