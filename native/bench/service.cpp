#include "bench/service.hpp"

#include <sys/resource.h>

#include <shared_mutex>

#include "bench/help_threads.hpp"
#include "bench/index.hpp"
#include "bench/search_pool.hpp"
#include "cli/failure.hpp"

namespace vicinal::bench {

const char* name_of(Variant variant) noexcept {
  return variant == Variant::ours ? "ours" : "locked-pool";
}

std::uint64_t involuntary_switches() noexcept {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

void Answer::clear() {
  ids.clear();
  scores.clear();
}

void Answer::append(const Hits& hits) {
  ids.insert(ids.end(), hits.ids().begin(), hits.ids().end());
  scores.insert(scores.end(), hits.scores().begin(), hits.scores().end());
}

Scanner::Scanner(const Index& index, const Question& question)
    : dim_(index.options().dim), reader_(open_reader(index)), options_(question.options) {
  if (question.allowed.empty()) return;
  filter_ =
      std::make_unique<Filter>(cli::require(kSubject, reader_.filter(question.allowed)));
  options_.compiled_filter = filter_.get();
}

void Scanner::search(std::span<const float> queries, Answer& answer) {
  answer.clear();
  if (queries.size() == dim_) {
    answer.append(cli::require(kSubject, reader_.search(queries, options_)));
    return;
  }
  const BatchHits batch = cli::require(kSubject, reader_.search_batch(queries, options_));
  for (std::size_t i = 0; i < batch.size(); ++i) answer.append(batch[i]);
}

Service::Service(Index index, Question question, Variant variant, std::size_t pool)
    : index_(std::move(index)),
      question_(std::move(question)),
      variant_(variant),
      pool_threads_(pool) {
  if (pool == 0 || variant == Variant::ours) return;
  pool_ = std::make_unique<SearchPool>(index_, question_, pool);
}

Service::~Service() = default;

void Service::open() {
  if (pool_threads_ == 0 || variant_ != Variant::ours) return;
  helpers_ = std::make_unique<HelpThreads>(index_, pool_threads_);
}

void Service::close() { helpers_.reset(); }

double Service::pool_cpu_us() const {
  if (helpers_ != nullptr) return helpers_->cpu_us();
  return pool_ == nullptr ? 0 : pool_->cpu_us();
}

Caller::Caller(Service& service) : service_(service) {
  if (service.pool_ == nullptr) scanner_.emplace(service.index_, service.question_);
}

bool Caller::search(std::span<const float> queries, Answer& answer) {
  std::shared_lock<FairLock> guard(service_.lock_, std::defer_lock);
  if (service_.variant_ == Variant::locked_pool) guard.lock();
  if (!scanner_) return service_.pool_->search(queries, answer);
  scanner_->search(queries, answer);
  return false;
}

}  // namespace vicinal::bench
