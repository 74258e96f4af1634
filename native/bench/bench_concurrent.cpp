// bench concurrent: how searches scale with the threads that search, ours beside a lock and a pool
// (service.hpp says what that stands for).
//
// For each number of callers, each batch size and each filter the variants take turns, slice of
// time by slice, in an order that is shuffled each round; a row's rate is the median of its slices.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "bench/bench.hpp"
#include "bench/cores.hpp"
#include "bench/index.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kBatchSizes[] = {1, 8};
constexpr double kAllowed[] = {0, 0.1};  // 0: no filter
constexpr std::size_t kSlices = 4;

struct Contender {
  std::unique_ptr<Service> service;
  CallFigures figures;
};

std::vector<std::uint64_t> scattered(double share, std::size_t n, std::uint64_t seed) {
  std::vector<std::uint64_t> all(n);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  std::vector<std::uint64_t> chosen;
  std::mt19937_64 random(seed);
  const auto count = static_cast<std::size_t>(std::ceil(share * static_cast<double>(n)));
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), count, random);
  return chosen;
}

// Ours and the lock, with pools of 0, 1, 2 and as many threads as there are cores. Ours without a
// pool comes first: the others are compared with it.
std::vector<Contender> contenders(const Index& index, const Question& question) {
  std::vector<Contender> all;
  const auto enter = [&](Variant variant, std::size_t pool) {
    all.push_back({std::make_unique<Service>(index.share(), question, variant, pool), {}});
  };
  std::vector<std::size_t> pools{0, 1, 2, core_count()};
  std::sort(pools.begin(), pools.end());
  pools.erase(std::unique(pools.begin(), pools.end()), pools.end());
  for (const Variant variant : {Variant::ours, Variant::locked_pool}) {
    for (const std::size_t pool : pools) enter(variant, pool);
  }
  return all;
}

void take_turns(std::vector<Contender>& all, const Load& load, std::mt19937_64& random) {
  std::vector<Contender*> order;
  for (Contender& one : all) {
    one.figures = {};
    order.push_back(&one);
  }
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    std::shuffle(order.begin(), order.end(), random);
    for (Contender* one : order) {
      cli::check_interrupted();
      one->service->open();
      one->figures.merge(run_slice(*one->service, load));
      one->service->close();
    }
  }
}

class Measurement {
 public:
  Measurement(const Options& options, const DataSet& data, unsigned bits, std::size_t k)
      : options_(options), data_(data), bits_(bits), k_(k), random_(options.seed) {}

  void run(std::vector<Row>& rows) {
    const Index index = build_index(data_, bits_);
    for (const double allowed : kAllowed) {
      Question question{search_options(options_, k_), {}};
      if (allowed > 0) {
        question.allowed = scattered(allowed, data_.row_count(), options_.seed);
      }
      const std::vector<Answer> expected = lone_answers(index, question, data_);
      std::vector<Contender> all = contenders(index, question);
      for (const std::size_t nq : kBatchSizes) {
        CallFigures alone;
        for (const std::size_t threads : options_.threads) {
          take_turns(all, load(expected, threads, nq), random_);
          progress_.show(++done_);
          if (threads == 1) alone = all.front().figures;
          for (const Contender& one : all) {
            rows.push_back(row_of(one, allowed, threads, nq, alone));
          }
        }
      }
    }
  }

 private:
  Load load(const std::vector<Answer>& expected, std::size_t threads, std::size_t nq) const {
    return {&data_, expected, threads, nq, options_.seconds / kSlices, {}};
  }

  // `alone`: what one caller of ours reached; without calls: not measured yet.
  Row row_of(const Contender& one, double allowed, std::size_t threads, std::size_t nq,
             const CallFigures& alone) const {
    const double rate = one.figures.rate();
    const auto useful = static_cast<double>(std::min(threads, core_count()));
    Row row{{"data", data_.name},
            {"n", data_.row_count()},
            {"dim", data_.dim},
            {"bits", bits_},
            {"k", k_},
            {"threads", threads},
            {"nq", nq},
            {"filter", allowed},
            {"pool", one.service->pool()},
            {"variant", name_of(one.service->variant())},
            {"searches_per_s", rate * static_cast<double>(nq)},
            {"scaling", ratio_of(rate, useful * alone.rate())},
            {"cpu_share", one.figures.cpu_us * 1e-6 / (useful * one.figures.seconds)},
            {"cpu_ratio", ratio_of(one.figures.cpu_us_per_call(), alone.cpu_us_per_call())}};
    one.figures.append_to(row);
    return row;
  }

  const Options& options_;
  const DataSet& data_;
  unsigned bits_;
  std::size_t k_;
  std::mt19937_64 random_;
  cli::Progress progress_{"settings", std::nullopt};
  std::uint64_t done_ = 0;
};

}  // namespace

Options concurrent_defaults() {
  Options options;
  options.n = {200000};
  options.dim = {128};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8, 14};
  options.seconds = 1;
  return options;
}

std::vector<Row> run_concurrent(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    for (const std::size_t k : options.k) Measurement(options, data, bits, k).run(rows);
  });
  return rows;
}

}  // namespace vicinal::bench
