// bench filtered: searches that may find only some of the rows, beside the same search of all.
//
// Of each share of allowed rows there is a scattered choice and a contiguous range, each as a list
// of ids and as a filter compiled from it beforehand. Every query is searched in every way before
// the next query, in an order that is shuffled each time, so that no way always finds the caches as
// the same other one left them.
#include <algorithm>
#include <cmath>
#include <numeric>
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

constexpr double kAllowed[] = {1, 0.5, 0.1, 0.01, 0.001};
constexpr std::size_t kWarmUpQueries = 4;

struct Way {
  double allowed = 1;
  const char* layout = "none";
  const char* filter_kind = "none";
  std::vector<std::uint64_t> ids;
  std::optional<Filter> filter;
  Value prepare_us;  // what it took to make the filter; its first search, untimed, compiles it
  SearchOptions options;
  Latencies latencies;
};

std::size_t rows_allowed(double share, std::size_t n) {
  const auto count = static_cast<std::size_t>(std::llround(share * static_cast<double>(n)));
  return std::clamp<std::size_t>(count, 1, n);
}

// Ascending, as a database would hand them over.
std::vector<std::uint64_t> scattered(std::size_t count, std::size_t n, std::mt19937_64& random) {
  std::vector<std::uint64_t> all(n);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  std::vector<std::uint64_t> chosen;
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), count, random);
  return chosen;
}

// In the middle, so that it starts and ends inside segments.
std::vector<std::uint64_t> contiguous(std::size_t count, std::size_t n) {
  std::vector<std::uint64_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), std::uint64_t{(n - count) / 2});
  return chosen;
}

Way listed(double allowed, const char* layout, std::vector<std::uint64_t> ids,
           const SearchOptions& options) {
  Way way{allowed, layout, "list", std::move(ids), {}, {}, options, {}};
  way.options.filter = way.ids;  // moving a vector leaves its ids where they are
  return way;
}

Way compiled(const Way& list, const SearchOptions& options, Reader& reader) {
  Way way{list.allowed, list.layout, "compiled", {}, {}, {}, options, {}};
  const Duration duration =
      timed([&] { way.filter = cli::require(kSubject, reader.filter(list.ids)); });
  way.prepare_us = duration.wall_us;
  return way;
}

// The first searches everything.
std::vector<Way> make_ways(const SearchOptions& options, std::size_t n, Reader& reader,
                           std::mt19937_64& random) {
  std::vector<Way> ways(1);
  ways[0].options = options;
  for (const double share : kAllowed) {
    const std::size_t count = rows_allowed(share, n);
    const double allowed = static_cast<double>(count) / static_cast<double>(n);
    ways.push_back(listed(allowed, "scattered", scattered(count, n, random), options));
    ways.push_back(compiled(ways.back(), options, reader));
    ways.push_back(listed(allowed, "contiguous", contiguous(count, n), options));
    ways.push_back(compiled(ways.back(), options, reader));
  }
  // Only now do they stay where they are.
  for (Way& way : ways) {
    if (way.filter) way.options.compiled_filter = &*way.filter;
  }
  return ways;
}

void measure(const Options& options, const DataSet& data, unsigned bits, std::size_t k,
             std::vector<Row>& rows) {
  const Index index = build_index(data, bits);
  Reader reader = open_reader(index);
  std::mt19937_64 random(options.seed);
  std::vector<Way> ways = make_ways(search_options(options, k), data.row_count(), reader, random);
  std::vector<std::size_t> order(ways.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Budget budget(options.seconds * static_cast<double>(ways.size()));
  cli::Progress progress("queries", std::nullopt);
  for (std::size_t at = 0; at <= kWarmUpQueries || !budget.spent(); ++at) {
    cli::check_interrupted();
    const auto query = data.query_range(at % data.query_count(), 1);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      const Duration duration = timed(
          [&] { (void)cli::require(kSubject, reader.search(query, ways[i].options)); });
      if (at >= kWarmUpQueries) ways[i].latencies.add(duration);
    }
    progress.show(at);
  }
  for (const Way& way : ways) {
    Row row{{"data", data.name},
            {"n", data.row_count()},
            {"dim", data.dim},
            {"bits", bits},
            {"k", k},
            {"allowed", way.allowed},
            {"layout", way.layout},
            {"filter_kind", way.filter_kind},
            {"prepare_us", way.prepare_us},
            {"ratio", way.latencies.p50_us() / ways[0].latencies.p50_us()}};
    way.latencies.append_to(row);
    rows.push_back(std::move(row));
  }
}

}  // namespace

Options filtered_defaults() {
  Options options;
  options.n = {100000};
  options.dim = {768};
  options.bits = {4};
  options.k = {10};
  options.seconds = 2.5;
  return options;
}

std::vector<Row> run_filtered(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    for (const std::size_t k : options.k) measure(options, data, bits, k, rows);
  });
  return rows;
}

}  // namespace vicinal::bench
