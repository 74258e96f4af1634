// The list of benchmarks. Each is defined in bench_NAME.cpp.
#include "bench/bench.hpp"

namespace vicinal::bench {

Options scan_defaults();
std::vector<Row> run_scan(const Options& options);
Options filtered_defaults();
std::vector<Row> run_filtered(const Options& options);
Options cliff_defaults();
std::vector<Row> run_cliff(const Options& options);
Options encode_defaults();
std::vector<Row> run_encode(const Options& options);

std::span<const Bench> benches() noexcept {
  static constexpr Bench kBenches[] = {
      {"scan", "One search and batches, the sign plane first beside every row in full",
       scan_defaults, run_scan},
      {"filtered", "Searches that may find a share of the rows, beside searches of all",
       filtered_defaults, run_filtered},
      {"cliff", "Latency as an index grows past its segments' ends", cliff_defaults, run_cliff},
      {"encode", "Rows a second that one thread encodes, and adds", encode_defaults, run_encode},
  };
  return kBenches;
}

}  // namespace vicinal::bench
