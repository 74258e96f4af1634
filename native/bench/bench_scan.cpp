// bench scan: what a search costs, and what the sign plane saves it.
//
// Mode `plane` is the default search, mode `full` the same index with every row's whole code
// scored; codes decide in both. With --originals, mode `rerank` is the default search of such an
// index: 4 k candidates, ranked by exact scores. They alternate query by query: whatever slows the
// machine down slows both. One thread. The queries of a mixture are 1,000, and none comes twice
// before all have come once. recall, same_top10 and rows_scored are of that first round: the whole
// of it for single searches with the first k, of `queries` of it for the others, which stop when
// their time is over. speedup is of processor time: on a busy machine long calls are interrupted,
// short ones are not.
#include <algorithm>
#include <vector>

#include "bench/bench.hpp"
#include "bench/index.hpp"
#include "bench/measure.hpp"
#include "bench/truth.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kBatchQueries = 100;
constexpr std::size_t kTop = 10;
constexpr std::size_t kWarmUpQueries = 16;
constexpr std::size_t kCallsMin = 3;
// So few rows that a search is all fixed cost.
constexpr std::uint64_t kFewRows = 64;
constexpr std::uint32_t kFewRowsDim = 768;

struct Mode {
  const char* name;
  SearchOptions options;
  Latencies latencies;
  std::size_t right = 0;
  std::size_t same = 0;
  std::uint64_t scored = 0;
  // The ids of the call just made, query by query.
  std::vector<std::vector<std::uint64_t>> found;
};
using Modes = std::vector<Mode>;

struct Setting {
  const DataSet& data;
  const Truth& truth;
  unsigned bits;
  std::size_t nq;
  std::size_t k;
  std::size_t calls_min;
};

Modes make_modes(const Options& options, std::size_t k) {
  Modes modes{Mode{"plane", search_options(options, k), {}, 0, 0, 0, {}},
              Mode{"full", search_options(options, k), {}, 0, 0, 0, {}}};
  for (Mode& mode : modes) mode.options.rerank = 0;
  modes[1].options.exhaustive = true;
  if (options.originals.value_or(Originals::none) != Originals::none) {
    modes.push_back({"rerank", search_options(options, k), {}, 0, 0, 0, {}});
  }
  return modes;
}

std::vector<std::uint64_t> ids_of(const Hits& hits) {
  return {hits.ids().begin(), hits.ids().end()};
}

Duration call(Reader& reader, const Setting& setting, std::size_t first, Mode& mode) {
  const auto queries = setting.data.query_range(first, setting.nq);
  mode.found.clear();
  if (setting.nq == 1) {
    Hits hits;
    const Duration duration =
        timed([&] { hits = cli::require(kSubject, reader.search(queries, mode.options)); });
    mode.found.push_back(ids_of(hits));
    mode.scored += hits.rows_scored;
    return duration;
  }
  BatchHits batch;
  const Duration duration =
      timed([&] { batch = cli::require(kSubject, reader.search_batch(queries, mode.options)); });
  for (std::size_t i = 0; i < batch.size(); ++i) {
    mode.found.push_back(ids_of(batch[i]));
    mode.scored += batch[i].rows_scored;
  }
  return duration;
}

std::span<const std::uint64_t> top_of(const std::vector<std::uint64_t>& ids) {
  return std::span(ids).first(std::min(kTop, ids.size()));
}

void judge(const Setting& setting, std::size_t first, Modes& modes) {
  for (Mode& mode : modes) {
    for (std::size_t i = 0; i < setting.nq; ++i) {
      mode.right += common_ids(mode.found[i], setting.truth.nearest(first + i, setting.k));
      mode.same += common_ids(top_of(mode.found[i]), top_of(modes[1].found[i]));
    }
  }
}

Row row_of(const Setting& setting, const Modes& modes, const Mode& mode, std::size_t queries) {
  const auto count = static_cast<double>(queries);
  const std::size_t n = setting.data.row_count();
  Row row{{"data", setting.data.name},
          {"n", n},
          {"dim", setting.data.dim},
          {"bits", setting.bits},
          {"nq", setting.nq},
          {"k", setting.k},
          {"mode", mode.name},
          {"us_per_query", mode.latencies.p50_us() / static_cast<double>(setting.nq)},
          {"speedup", modes[1].latencies.cpu_p50_us() / mode.latencies.cpu_p50_us()},
          {"recall", static_cast<double>(mode.right) / (count * static_cast<double>(setting.k))},
          {"same_top10", static_cast<double>(mode.same) / static_cast<double>(modes[1].same)},
          {"rows_scored", static_cast<double>(mode.scored) / count},
          {"queries", queries}};
  mode.latencies.append_to(row);
  return row;
}

void warm_up(const Setting& setting, std::size_t calls, Reader& reader, Modes& modes) {
  for (std::size_t i = 0; i * setting.nq < kWarmUpQueries; ++i) {
    const std::size_t first = (calls - 1 - i % calls) * setting.nq;
    for (Mode& mode : modes) (void)call(reader, setting, first, mode);
  }
  for (Mode& mode : modes) mode.scored = 0;
}

void measure(const Options& options, const Setting& setting, Reader& reader,
             std::vector<Row>& rows) {
  Modes modes = make_modes(options, setting.k);
  // Whole batches only; what is left over of the queries goes unused.
  const std::size_t calls = setting.data.query_count() / setting.nq;
  warm_up(setting, calls, reader, modes);
  const std::size_t calls_min = std::min(setting.calls_min, calls);
  std::size_t judged = 0;
  std::vector<std::uint64_t> scored(modes.size());
  const Budget budget(static_cast<double>(modes.size()) * options.seconds);
  cli::Progress progress("calls", std::nullopt);
  for (std::size_t at = 0; at < calls_min || !budget.spent(); ++at) {
    cli::check_interrupted();
    const std::size_t first = at % calls * setting.nq;
    for (Mode& mode : modes) mode.latencies.add(call(reader, setting, first, mode));
    if (at < calls) {
      judge(setting, first, modes);
      judged += setting.nq;
      for (std::size_t i = 0; i < modes.size(); ++i) scored[i] = modes[i].scored;
    }
    progress.show(at);
  }
  for (std::size_t i = 0; i < modes.size(); ++i) {
    modes[i].scored = scored[i];
    rows.push_back(row_of(setting, modes, modes[i], judged));
  }
}

// Every k with single queries, the first k with batches as well.
void measure_index(const Options& options, const DataSet& data, const Truth& truth, unsigned bits,
                   std::vector<Row>& rows) {
  const Index index = build_index(data, bits, options.originals.value_or(Originals::none));
  Reader reader = open_reader(index);
  for (const std::size_t k : options.k) {
    if (k > truth.width()) continue;  // checked where the user named it
    const bool is_first = k == options.k.front();
    const std::size_t calls_min = is_first ? data.query_count() : kCallsMin;
    measure(options, {data, truth, bits, 1, k, calls_min}, reader, rows);
    if (!is_first || data.row_count() == kFewRows || data.query_count() < kBatchQueries) continue;
    measure(options, {data, truth, bits, kBatchQueries, k, kCallsMin}, reader, rows);
  }
}

void check_k(const Options& options, const Truth& truth) {
  const std::size_t wanted = *std::max_element(options.k.begin(), options.k.end());
  if (wanted <= truth.width() || !options.k_is_given) return;
  throw cli::usage_failure("--k " + std::to_string(wanted) + ": the truth has " +
                           std::to_string(truth.width()) + " neighbours a query");
}

void measure_data(const Options& options, std::uint64_t n, std::uint32_t dim,
                  std::vector<Row>& rows) {
  const DataSet data = make_data(options, n, dim);
  const Truth truth =
      find_truth(options, data, *std::max_element(options.k.begin(), options.k.end()));
  check_k(options, truth);
  for (const unsigned bits : options.bits) measure_index(options, data, truth, bits, rows);
}

}  // namespace

Options scan_defaults() {
  Options options;
  options.n = {100000};
  options.dim = {128, 768, 1536};
  options.bits = {4};
  options.k = {10, 1000};
  options.seconds = 1.5;
  options.originals = Originals::none;
  return options;
}

std::vector<Row> run_scan(const Options& options) {
  std::vector<Row> rows;
  for (const std::uint32_t dim : dims_of(options)) {
    for (const std::uint64_t n : counts_of(options)) measure_data(options, n, dim, rows);
  }
  const bool chosen = !options.data.empty() || options.n_is_given || options.dim_is_given;
  if (!chosen) measure_data(options, kFewRows, kFewRowsDim, rows);
  return rows;
}

}  // namespace vicinal::bench
