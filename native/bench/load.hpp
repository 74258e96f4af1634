// Callers that search at once for a while, perhaps beside a writer, and what became of each call.
//
// Thread safety: one load at a time; it starts its own threads and joins them.
// I1: the clock starts when every thread is ready, its reader opened and warmed up by searches that
//     are not counted.
// I2: a call that the end cuts counts for the part of it that lay before, so that more callers, of
//     which more are cut, do not look slower.
// I3: every answer is compared with that of a lone reader, outside the time that is measured.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bench/bench.hpp"
#include "bench/data.hpp"
#include "bench/service.hpp"

namespace vicinal::bench {

using Clock = std::chrono::steady_clock;

// The answers of a lone reader to each query of the data; they must not depend on what is written.
[[nodiscard]] std::vector<Answer> lone_answers(const Index& index, const Question& question,
                                               const DataSet& data);

struct WriterFigures {
  std::uint64_t writes = 0;
  double cpu_us = 0;
  std::vector<double> wall_us;  // of each write
};

// Writes until `end`, or until it has no more to do.
using Writer = std::function<void(Service&, Clock::time_point end, WriterFigures&)>;

struct Load {
  const DataSet* data = nullptr;
  // Empty: answers are not compared.
  std::span<const Answer> expected;
  std::size_t callers = 1;
  std::size_t nq = 1;  // queries a call
  // None: until the writer has done its work.
  std::optional<double> seconds;
  Writer writer;
};

// What the calls of one slice of time, or of several, came to.
struct CallFigures {
  std::vector<double> wall_us;
  std::vector<double> calm_us;      // calls in which nobody was taken from a core
  std::vector<double> calls_per_s;  // a figure a slice
  std::vector<double> longest_us;   // a figure a slice
  std::uint64_t slices = 0;
  double cpu_us = 0;  // of the callers and of the pool
  std::uint64_t involuntary = 0;
  std::uint64_t unequal = 0;
  // Of the slices together.
  double seconds = 0;
  WriterFigures written;

  void merge(CallFigures&& other);
  // Calls a second, the median of the slices.
  [[nodiscard]] double rate() const;
  // Processor time a call.
  [[nodiscard]] double cpu_us_per_call() const;
  // Of the undisturbed calls; absent without any.
  [[nodiscard]] Value calm_percentile(double share) const;
  // calls, p50_us, p99_us, p999_us, calm_p99_us, calm_p999_us, cpu_us, involuntary and unequal.
  void append_to(Row& row) const;
};

// A usage failure when the data has fewer queries than one call takes.
[[nodiscard]] CallFigures run_slice(Service& service, const Load& load);

}  // namespace vicinal::bench
