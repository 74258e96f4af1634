// Taking times: wall clock and the thread's own processor time, side by side.
//
// Thread safety: one thread at a time; a Latencies belongs to the thread that measures.
// I1: the processor's clock is read outside the wall clock's span: reading it is a system call.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "bench/bench.hpp"

namespace vicinal::bench {

// Of the calling thread; not what the machine's other guests took from it.
[[nodiscard]] double thread_cpu_us() noexcept;

// The smallest value that `share` of the values do not exceed; 0 without values.
[[nodiscard]] double percentile_of(std::vector<double> values, double share);

// Absent where there is nothing to compare with.
[[nodiscard]] inline Value ratio_of(double value, double other) {
  return other > 0 ? Value(value / other) : Value();
}

struct Duration {
  double wall_us = 0;
  double cpu_us = 0;
};

template <class Work>
[[nodiscard]] Duration timed(Work&& work) {
  using Clock = std::chrono::steady_clock;
  const double cpu_started_us = thread_cpu_us();
  const auto started = Clock::now();
  work();
  const std::chrono::duration<double, std::micro> wall = Clock::now() - started;
  return {wall.count(), thread_cpu_us() - cpu_started_us};
}

// The times of many equal calls.
class Latencies {
 public:
  void add(Duration duration);

  [[nodiscard]] std::size_t count() const noexcept { return wall_us_.size(); }
  // The smallest wall time that `share` of the calls did not exceed; 0 without calls.
  [[nodiscard]] double percentile_us(double share) const;
  [[nodiscard]] double p50_us() const { return percentile_us(0.5); }
  [[nodiscard]] double mean_us() const;
  // The median call's; the mean would count each interruption.
  [[nodiscard]] double cpu_p50_us() const;

  // calls, p10_us, p50_us, p99_us and cpu_p50_us.
  void append_to(Row& row) const;

 private:
  std::vector<double> wall_us_;
  std::vector<double> cpu_us_;
};

// Time to spend, from now on.
class Budget {
 public:
  explicit Budget(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(seconds))) {}
  [[nodiscard]] bool spent() const { return Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

}  // namespace vicinal::bench
