#include "bench/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>

#include "bench/measure.hpp"
#include "cli/failure.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kWarmUpCalls = 4;
constexpr std::size_t kQueryStride = 37;  // between the first queries of two callers

double us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

bool is_answer(const Answer& answer, std::span<const Answer> expected) {
  std::size_t at = 0;
  for (const Answer& one : expected) {
    if (answer.ids.size() < at + one.ids.size()) return false;
    const auto offset = static_cast<std::ptrdiff_t>(at);
    if (!std::equal(one.ids.begin(), one.ids.end(), answer.ids.begin() + offset)) return false;
    if (!std::equal(one.scores.begin(), one.scores.end(), answer.scores.begin() + offset)) {
      return false;
    }
    at += one.ids.size();
  }
  return at == answer.ids.size();
}

// One slice, as its threads see it.
class Slice {
 public:
  Slice(Service& service, const Load& load)
      : service_(service),
        load_(load),
        gate_(static_cast<std::ptrdiff_t>(load.callers + (load.writer ? 1 : 0)), Start{this}) {}

  CallFigures run();

 private:
  // When the last thread arrives, for all of them (I1).
  struct Start {
    Slice* slice;
    void operator()() noexcept {
      slice->pool_cpu_us_ = slice->service_.pool_cpu_us();
      slice->start_ = Clock::now();
      slice->end_ = Clock::time_point::max();
      if (!slice->load_.seconds) return;
      slice->end_ = slice->start_ + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(*slice->load_.seconds));
    }
  };
  struct Share {
    CallFigures figures;
    double calls = 0;  // I2
  };

  void call(std::size_t number, Share& share);
  void call_until_end(Caller& caller, std::size_t at, Share& share);
  void write(WriterFigures& figures);
  // Runs a thread's body: a failure ends the slice and is kept. A thread that fails before the
  // gate must still open it for the others.
  template <class Body>
  void guarded(const Body& body);

  Service& service_;
  const Load& load_;
  std::barrier<Start> gate_;
  std::stop_source stop_;
  double pool_cpu_us_ = 0;  // at the start
  Clock::time_point start_;
  Clock::time_point end_;
  Clock::time_point end_of_writing_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

template <class Body>
void Slice::guarded(const Body& body) {
  bool waited = false;
  try {
    body([this, &waited] {
      waited = true;
      gate_.arrive_and_wait();
    });
  } catch (...) {
    const std::scoped_lock guard(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stop_.request_stop();
  }
  if (!waited) gate_.arrive_and_drop();
}

void Slice::call(std::size_t number, Share& share) {
  guarded([&](const auto& wait) {
    Caller caller(service_);
    const std::size_t first = number * kQueryStride;
    Answer answer;
    const std::size_t calls = load_.data->query_count() / load_.nq;
    for (std::size_t i = 0; i < kWarmUpCalls; ++i) {
      const std::size_t at = (first + calls - 1 - i % calls) % calls;
      (void)caller.search(load_.data->query_range(at * load_.nq, load_.nq), answer);
    }
    wait();
    const double cpu_us = thread_cpu_us();
    const std::uint64_t switches = involuntary_switches();
    call_until_end(caller, first, share);
    share.figures.cpu_us = thread_cpu_us() - cpu_us;
    share.figures.involuntary = involuntary_switches() - switches;
  });
}

void Slice::call_until_end(Caller& caller, std::size_t at, Share& share) {
  CallFigures& figures = share.figures;
  const std::size_t calls = load_.data->query_count() / load_.nq;
  Answer answer;
  std::uint64_t switches = involuntary_switches();
  Clock::time_point now = start_;
  while ((now < end_ && !stop_.stop_requested()) || figures.wall_us.empty()) {
    const std::size_t first = at++ % calls * load_.nq;
    const auto queries = load_.data->query_range(first, load_.nq);
    const Clock::time_point began = Clock::now();
    const bool switched = caller.search(queries, answer);
    now = Clock::now();
    const double wall_us = us_between(began, now);
    const double late_us = std::clamp(us_between(end_, now), 0.0, wall_us);
    figures.wall_us.push_back(wall_us);
    share.calls += 1 - (wall_us > 0 ? late_us / wall_us : 0);
    const std::uint64_t after = involuntary_switches();
    if (!switched && after == switches) figures.calm_us.push_back(wall_us);
    switches = after;
    if (!load_.expected.empty()) {
      figures.unequal += is_answer(answer, load_.expected.subspan(first, load_.nq)) ? 0 : 1;
    }
  }
}

void Slice::write(WriterFigures& figures) {
  guarded([&](const auto& wait) {
    wait();
    const double cpu_us = thread_cpu_us();
    if (!stop_.stop_requested()) load_.writer(service_, end_, figures);
    figures.cpu_us = thread_cpu_us() - cpu_us;
    if (!load_.seconds) {
      end_of_writing_ = Clock::now();
      stop_.request_stop();
    }
  });
}

CallFigures Slice::run() {
  std::vector<Share> shares(load_.callers);
  WriterFigures written;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < load_.callers; ++i) {
    threads.emplace_back([this, i, &shares] { call(i, shares[i]); });
  }
  if (load_.writer) threads.emplace_back([this, &written] { write(written); });
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);

  CallFigures all;
  double calls = 0;
  for (Share& share : shares) {
    calls += share.calls;
    all.merge(std::move(share.figures));
  }
  all.cpu_us += service_.pool_cpu_us() - pool_cpu_us_;
  all.written = std::move(written);
  all.slices = 1;
  all.seconds = us_between(start_, load_.seconds ? end_ : end_of_writing_) * 1e-6;
  all.calls_per_s = {calls / all.seconds};
  all.longest_us = {*std::max_element(all.wall_us.begin(), all.wall_us.end())};
  return all;
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Answer> lone_answers(const Index& index, const Question& question,
                                 const DataSet& data) {
  Scanner scanner(index, question);
  std::vector<Answer> answers(data.query_count());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scanner.search(data.query_range(i, 1), answers[i]);
  }
  return answers;
}

CallFigures run_slice(Service& service, const Load& load) {
  if (load.data->query_count() < load.nq) {
    throw cli::usage_failure(fmt::format("calls of {} queries need as many queries, not {}",
                                         load.nq, load.data->query_count()));
  }
  return Slice(service, load).run();
}

void CallFigures::merge(CallFigures&& other) {
  append(wall_us, other.wall_us);
  append(calm_us, other.calm_us);
  append(calls_per_s, other.calls_per_s);
  append(longest_us, other.longest_us);
  slices += other.slices;
  cpu_us += other.cpu_us;
  involuntary += other.involuntary;
  unequal += other.unequal;
  seconds += other.seconds;
  written.writes += other.written.writes;
  written.cpu_us += other.written.cpu_us;
  append(written.wall_us, other.written.wall_us);
}

double CallFigures::rate() const { return percentile_of(calls_per_s, 0.5); }

double CallFigures::cpu_us_per_call() const {
  return wall_us.empty() ? 0 : cpu_us / static_cast<double>(wall_us.size());
}

Value CallFigures::calm_percentile(double share) const {
  return calm_us.empty() ? Value() : Value(percentile_of(calm_us, share));
}

void CallFigures::append_to(Row& row) const {
  row.push_back({"calls", wall_us.size()});
  row.push_back({"p50_us", percentile_of(wall_us, 0.5)});
  row.push_back({"p99_us", percentile_of(wall_us, 0.99)});
  row.push_back({"p999_us", percentile_of(wall_us, 0.999)});
  row.push_back({"calm_p99_us", calm_percentile(0.99)});
  row.push_back({"calm_p999_us", calm_percentile(0.999)});
  row.push_back({"cpu_us", cpu_us_per_call()});
  row.push_back({"involuntary", involuntary});
  row.push_back({"unequal", unequal});
}

}  // namespace vicinal::bench
