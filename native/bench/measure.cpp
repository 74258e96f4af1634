#include "bench/measure.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

namespace vicinal::bench {

double percentile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double thread_cpu_us() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

void Latencies::add(Duration duration) {
  wall_us_.push_back(duration.wall_us);
  cpu_us_.push_back(duration.cpu_us);
}

double Latencies::percentile_us(double share) const { return percentile_of(wall_us_, share); }
double Latencies::mean_us() const {
  if (wall_us_.empty()) return 0;
  return std::accumulate(wall_us_.begin(), wall_us_.end(), 0.0) /
         static_cast<double>(wall_us_.size());
}
double Latencies::cpu_p50_us() const { return percentile_of(cpu_us_, 0.5); }

void Latencies::append_to(Row& row) const {
  row.push_back({"calls", count()});
  row.push_back({"p10_us", percentile_us(0.1)});
  row.push_back({"p50_us", p50_us()});
  row.push_back({"p99_us", percentile_us(0.99)});
  row.push_back({"cpu_p50_us", cpu_p50_us()});
}

}  // namespace vicinal::bench
