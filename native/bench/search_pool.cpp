#include "bench/search_pool.hpp"

#include "bench/help_threads.hpp"

namespace vicinal::bench {

SearchPool::SearchPool(const Index& index, const Question& question, std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) scanners_.emplace_back(index, question);
  try {
    for (Scanner& scanner : scanners_) {
      threads_.emplace_back([this, &scanner] { serve(scanner); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

SearchPool::~SearchPool() { stop(); }

void SearchPool::stop() {
  {
    const std::scoped_lock guard(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool SearchPool::search(std::span<const float> queries, Answer& answer) {
  Job job{queries, &answer, false, false, nullptr, {}};
  std::unique_lock guard(mutex_);
  jobs_.push_back(&job);
  work_.notify_one();
  job.wake.wait(guard, [&job] { return job.done; });
  if (job.failure) std::rethrow_exception(job.failure);
  return job.switched;
}

void SearchPool::serve(Scanner& scanner) {
  std::unique_lock guard(mutex_);
  for (;;) {
    work_.wait(guard, [this] { return stopped_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job* job = jobs_.front();
    jobs_.pop_front();
    guard.unlock();
    const std::uint64_t switches = involuntary_switches();
    try {
      scanner.search(job->queries, *job->answer);
    } catch (...) {
      job->failure = std::current_exception();
    }
    job->switched = involuntary_switches() != switches;
    guard.lock();
    job->done = true;
    job->wake.notify_one();  // under the mutex: the job is gone as soon as its caller has it
  }
}

double SearchPool::cpu_us() const { return cpu_us_of(threads_); }

}  // namespace vicinal::bench
