// Threads that help the searches of `ours`, for the time of a measurement.
//
// Thread safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <stop_token>
#include <thread>
#include <vector>

#include "vicinal/vicinal.hpp"

namespace vicinal::bench {

// Processor time that running threads have used.
[[nodiscard]] double cpu_us_of(const std::vector<std::thread>& threads);

class HelpThreads {
 public:
  HelpThreads(const Index& index, std::size_t threads);
  HelpThreads(const HelpThreads&) = delete;
  HelpThreads& operator=(const HelpThreads&) = delete;
  ~HelpThreads();

  [[nodiscard]] double cpu_us() const { return cpu_us_of(threads_); }

 private:
  void stop();

  Index index_;
  std::vector<Helper> helpers_;
  std::vector<std::thread> threads_;
  std::stop_source stop_;
};

}  // namespace vicinal::bench
