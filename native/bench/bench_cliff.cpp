// bench cliff: whether the latency of a search has a step anywhere as an index grows.
//
// One index grows in batches that are small enough for its segments to end where those of an index
// that is fed row by row end: at the powers of two up to 32,768, then at its multiples. At each
// size a snapshot stays behind. Then every size is searched in turn, in an order that is shuffled
// each round, with the same queries: what slows the machine down for a while cannot look like a
// step. Before the timed searches of a size comes an untimed one with another query, so that each
// finds its rows in the caches as a size that is searched alone would.
#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "bench/bench.hpp"
#include "bench/index.hpp"
#include "bench/measure.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kTimedSearches = 3;
// Between the two sizes of a pair.
constexpr std::uint64_t kPairRows = 64;
// The smallest segment: no batch of a growing index makes its segments larger than it would anyway.
constexpr std::size_t kBatchRows = 128;

struct Size {
  std::uint64_t n;
  Snapshot snapshot;
  Latencies latencies;
};

std::vector<std::uint64_t> sizes_of(const Options& options, std::uint64_t rows) {
  std::vector<std::uint64_t> sizes = options.n;
  if (!options.n_is_given && !options.data.empty()) {
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(),
                               [rows](std::uint64_t size) { return size > rows; }),
                sizes.end());
    sizes.push_back(rows);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<Size> grow(Index& index, const DataSet& data,
                       const std::vector<std::uint64_t>& wanted) {
  std::vector<Size> sizes;
  Reader reader = open_reader(index);
  std::size_t present = 0;
  for (const std::uint64_t n : wanted) {
    while (present < n) {
      const std::size_t batch =
          std::min<std::size_t>(std::max(kBatchRows, present / 2), n - present);
      add_rows(index, data, present, batch);
      present += batch;
    }
    sizes.push_back({n, reader.snapshot(), {}});
    cli::require(kSubject, sizes.back().snapshot.status());
  }
  return sizes;
}

void search_all(const Options& options, const DataSet& data, std::size_t k,
                std::vector<Size>& sizes) {
  const SearchOptions search = search_options(options, k);
  std::mt19937_64 random(options.seed);
  std::vector<Size*> order;
  for (Size& size : sizes) order.push_back(&size);
  const Budget budget(options.seconds * static_cast<double>(sizes.size()));
  cli::Progress progress("rounds", std::nullopt);
  for (std::size_t round = 0; round == 0 || !budget.spent(); ++round) {
    cli::check_interrupted();
    std::shuffle(order.begin(), order.end(), random);
    for (Size* size : order) {
      for (std::size_t i = 0; i <= kTimedSearches; ++i) {
        const std::size_t at = round * (kTimedSearches + 1) + i;
        const auto query = data.query_range(at % data.query_count(), 1);
        const Duration duration = timed(
            [&] { (void)cli::require(kSubject, size->snapshot.search(query, search)); });
        if (i > 0) size->latencies.add(duration);
      }
    }
    progress.show(round);
  }
}

// How much longer than with 64 rows less, where that was measured.
Value step_of(const std::vector<Size>& sizes, const Size& size) {
  for (const Size& other : sizes) {
    if (other.n + kPairRows != size.n) continue;
    return size.latencies.p50_us() / other.latencies.p50_us();
  }
  return {};
}

void measure(const Options& options, const DataSet& data, unsigned bits, std::size_t k,
             std::vector<Row>& rows) {
  Index index = make_index(data.dim, bits);
  std::vector<Size> sizes = grow(index, data, sizes_of(options, data.row_count()));
  search_all(options, data, k, sizes);
  for (const Size& size : sizes) {
    Row row{{"data", data.name},
            {"n", size.n},
            {"dim", data.dim},
            {"bits", bits},
            {"k", k},
            {"ns_per_row", size.latencies.p50_us() * 1e3 / static_cast<double>(size.n)},
            {"step", step_of(sizes, size)}};
    size.latencies.append_to(row);
    rows.push_back(std::move(row));
  }
}

}  // namespace

Options cliff_defaults() {
  Options options;
  options.n = {8128,  8160,  8192,  8224,  8256,   16384,  32704,  32768,  32832,  33000,
               65472, 65536, 65600, 98240, 98304,  98368,  104000, 262080, 262144, 262208};
  options.dim = {128};
  options.bits = {4};
  options.k = {10};
  options.seconds = 3;
  return options;
}

std::vector<Row> run_cliff(const Options& options) {
  const bool whole_file = !options.data.empty() && !options.n_is_given;
  const std::uint64_t most =
      whole_file ? kAllRows : *std::max_element(options.n.begin(), options.n.end());
  std::vector<Row> rows;
  for (const std::uint32_t dim : dims_of(options)) {
    const DataSet data = make_data(options, most, dim);
    for (const unsigned bits : options.bits) {
      for (const std::size_t k : options.k) measure(options, data, bits, k, rows);
    }
  }
  return rows;
}

}  // namespace vicinal::bench
