#include "bench/contest.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kSlices = 5;

}  // namespace

void Tally::add(const Tally& other) noexcept {
  calls += other.calls;
  retries += other.retries;
  failures += other.failures;
  steals += other.steals;
  sum += other.sum;
  cpu_ns += other.cpu_ns;
  calls_per_s += other.calls_per_s;
}

double Contender::cpu_ns_per_call() const {
  std::vector<double> values;
  for (const Tally& slice : slices) {
    values.push_back(slice.cpu_ns / static_cast<double>(std::max<std::uint64_t>(slice.calls, 1)));
  }
  return percentile_of(values, 0.5);
}

double Contender::calls_per_s() const {
  std::vector<double> values;
  for (const Tally& slice : slices) values.push_back(slice.calls_per_s);
  return percentile_of(values, 0.5);
}

std::uint64_t Contender::total(std::uint64_t Tally::*what) const {
  std::uint64_t total = 0;
  for (const Tally& slice : slices) total += slice.*what;
  return total;
}

void hold_contest(std::vector<Contender>& contenders, double seconds, std::uint64_t seed) {
  const auto slice = std::chrono::nanoseconds(
      static_cast<std::int64_t>(seconds * 1e9 / static_cast<double>(kSlices)));
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  cli::Progress progress("slices", contenders.size() * kSlices);
  std::uint64_t done = 0;
  for (std::size_t round = 0; round < kSlices; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      cli::check_interrupted();
      contenders[i].slices.push_back(contenders[i].run(slice));
      progress.show(++done);
    }
  }
}

}  // namespace vicinal::bench
