// Work that is shared out between all cores, for what a benchmark prepares and does not measure.
//
// Thread safety: one call at a time; `work` runs on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace vicinal::bench {

[[nodiscard]] inline std::size_t core_count() noexcept {
  return std::max(std::thread::hardware_concurrency(), 1u);
}

// work(i) for each i in [0, count), in no order. It must not throw.
template <class Work>
void on_all_cores(std::size_t count, const Work& work) {
  const std::size_t threads = std::min(core_count(), count);
  std::vector<std::thread> helpers;
  const auto share = [&work, count, threads](std::size_t first) {
    for (std::size_t i = first; i < count; i += threads) work(i);
  };
  for (std::size_t thread = 1; thread < threads; ++thread) helpers.emplace_back(share, thread);
  if (threads > 0) share(0);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace vicinal::bench
