#include "bench/help_threads.hpp"

#include <pthread.h>

#include <ctime>

#include "bench/index.hpp"
#include "cli/failure.hpp"

namespace vicinal::bench {
namespace {

constexpr std::uint64_t kWaitUs = 100'000;

}  // namespace

double cpu_us_of(const std::vector<std::thread>& threads) {
  double total = 0;
  for (const std::thread& thread : threads) {
    clockid_t clock{};
    timespec used{};
    if (::pthread_getcpuclockid(const_cast<std::thread&>(thread).native_handle(), &clock) != 0 ||
        ::clock_gettime(clock, &used) != 0) {
      continue;
    }
    total += static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) * 1e-3;
  }
  return total;
}

HelpThreads::HelpThreads(const Index& index, std::size_t threads) : index_(index.share()) {
  for (std::size_t i = 0; i < threads; ++i) {
    helpers_.push_back(cli::require(kSubject, index_.helper()));
  }
  try {
    for (Helper& helper : helpers_) {
      threads_.emplace_back([&helper, stop = stop_.get_token()] {
        while (!stop.stop_requested()) helper.help(kWaitUs);
      });
    }
  } catch (...) {
    stop();
    throw;
  }
}

HelpThreads::~HelpThreads() { stop(); }

void HelpThreads::stop() {
  stop_.request_stop();
  index_.wake_helpers();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace vicinal::bench
