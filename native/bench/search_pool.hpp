// The threads that scan for all callers of a `locked-pool` service.
//
// Thread safety: search() from any thread; constructed and destroyed by one.
// I1: jobs are taken in the order in which they come, one at a time by each thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "bench/service.hpp"

namespace vicinal::bench {

class SearchPool {
 public:
  SearchPool(const Index& index, const Question& question, std::size_t threads);
  SearchPool(const SearchPool&) = delete;
  SearchPool& operator=(const SearchPool&) = delete;
  ~SearchPool();

  // Waits until one of the threads has done it. True: that thread had to leave its core meanwhile.
  [[nodiscard]] bool search(std::span<const float> queries, Answer& answer);
  [[nodiscard]] double cpu_us() const;

 private:
  struct Job {
    std::span<const float> queries;
    Answer* answer;
    bool done = false;
    bool switched = false;
    std::exception_ptr failure;
    std::condition_variable wake;
  };

  void serve(Scanner& scanner);
  void stop();

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Job*> jobs_;
  bool stopped_ = false;
  std::vector<Scanner> scanners_;
  std::vector<std::thread> threads_;
};

}  // namespace vicinal::bench
