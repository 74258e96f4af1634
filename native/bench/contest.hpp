// Variants of one small operation, each called by several threads for a slice of time, in turns.
//
// Thread safety: a contest belongs to one thread; it starts its own and joins them.
// I1: the clock of a slice starts when every thread is ready.
// I2: variants take their slices in an order that is drawn anew for each round, so that none has a
//     quieter machine than the others.
#pragma once

#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "bench/bench.hpp"
#include "bench/measure.hpp"

namespace vicinal::bench {

// What one thread did in a slice, or all of them.
struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t retries = 0;   // attempts that were for nothing
  std::uint64_t failures = 0;  // calls that had no answer, or a wrong one
  std::uint64_t steals = 0;
  std::uint64_t sum = 0;       // of what was read, so that it is read
  double cpu_ns = 0;
  double calls_per_s = 0;

  void add(const Tally& other) noexcept;
};

struct Contender {
  Row head;  // the fields that say which it is
  std::function<Tally(std::chrono::nanoseconds slice)> run;
  std::vector<Tally> slices;

  [[nodiscard]] double cpu_ns_per_call() const;
  [[nodiscard]] double calls_per_s() const;
  [[nodiscard]] std::uint64_t total(std::uint64_t Tally::*what) const;
};

// Every contender has `seconds`, in several slices.
void hold_contest(std::vector<Contender>& contenders, double seconds, std::uint64_t seed);

// `make(i)` is the i-th thread's part: called with a Tally again and again until the slice is over.
template <class Make>
[[nodiscard]] Tally race(std::size_t threads, std::chrono::nanoseconds slice, Make make) {
  using Clock = std::chrono::steady_clock;
  std::vector<Tally> tallies(threads);
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  const auto play = [&](std::size_t i) {
    auto part = make(i);
    Tally tally;
    together.arrive_and_wait();
    const double cpu_us = thread_cpu_us();
    const auto started = Clock::now();
    auto now = started;
    do {
      part(tally);
      now = Clock::now();
    } while (now - started < slice);
    tally.cpu_ns = (thread_cpu_us() - cpu_us) * 1000;
    const double seconds = std::chrono::duration<double>(now - started).count();
    tally.calls_per_s = static_cast<double>(tally.calls) / seconds;
    tallies[i] = tally;
  };
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) running.emplace_back(play, i);
  for (std::thread& thread : running) thread.join();
  Tally all;
  for (const Tally& tally : tallies) all.add(tally);
  return all;
}

// Numbers in no order that anything could guess, at a cost of a few cycles.
class QuickRandom {
 public:
  explicit QuickRandom(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(((state_ >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace vicinal::bench
