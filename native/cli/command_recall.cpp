// vicinal recall: the share of the true neighbours that a search finds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <unordered_set>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/queries.hpp"
#include "cli/row_reader.hpp"
#include "cli/terminal.hpp"

namespace vicinal::cli {
namespace {

struct RecallOptions {
  Queries queries;
  std::string truth;
};

constexpr std::size_t kSliceRows = 4096;

struct Truth {
  std::vector<std::int32_t> ids;
  std::size_t width = 0;

  [[nodiscard]] std::unordered_set<std::uint64_t> nearest(std::size_t query, std::size_t k) const {
    std::unordered_set<std::uint64_t> nearest;
    for (std::size_t i = 0; i < k; ++i) {
      nearest.insert(static_cast<std::uint64_t>(ids[query * width + i]));
    }
    return nearest;
  }
};

Truth read_truth(const RecallOptions& options, std::size_t queries) {
  const std::size_t k = options.queries.k;
  RowReader reader(options.truth, Format::ivecs);
  Truth truth;
  truth.width = reader.dim();
  if (truth.width < k) {
    throw Failure(Code::bad_option, fmt::format("{}: {} neighbours a query are too few for -k {}",
                                                options.truth, truth.width, k));
  }
  std::vector<std::int32_t> slice;
  while (reader.read(kSliceRows, slice) > 0) {
    for (std::size_t i = 0; i < slice.size(); ++i) {
      if (slice[i] >= 0) continue;
      throw Failure(Code::bad_id, fmt::format("{}: row {} names the neighbour {}", options.truth,
                                              (truth.ids.size() + i) / truth.width, slice[i]));
    }
    truth.ids.insert(truth.ids.end(), slice.begin(), slice.end());
  }
  if (reader.rows_done() != queries) {
    throw Failure(Code::bad_option, fmt::format("{}: neighbours of {} queries, {} has {}",
                                                options.truth, reader.rows_done(),
                                                options.queries.path, queries));
  }
  return truth;
}

Report recall(const RecallOptions& options) {
  const Index index = options.queries.index.open_to_read();
  if (index.options().ids == IdKind::string) {
    throw Failure(Code::unsupported,
                  fmt::format("{}: ids are strings, and a file of truth has numbers",
                              options.queries.index.path));
  }
  const std::size_t dim = index.options().dim;
  const std::vector<float> queries = options.queries.read(index.options().dim);
  const std::size_t count = queries.size() / dim;
  const Truth truth = read_truth(options, count);
  const SearchOptions search = options.queries.search_options(index.options());
  Reader reader = open_reader(index, options.queries.index.path);

  std::uint64_t right = 0;
  Progress progress("queries", count);
  for (std::size_t query = 0; query < count; ++query) {
    check_interrupted();
    const auto vector = std::span(queries).subspan(query * dim, dim);
    const Hits hits = search_one(reader, vector, query, search, options.queries.path);
    const auto nearest = truth.nearest(query, options.queries.k);
    for (const std::uint64_t id : hits.ids()) right += nearest.count(id);
    progress.show(query + 1);
  }
  const double wanted = static_cast<double>(count) * static_cast<double>(options.queries.k);
  const double recall = static_cast<double>(right) / wanted;
  Report report;
  report.json = {{"k", options.queries.k}, {"queries", count}, {"recall", recall}};
  report.text = fmt::format("recall@{} {:.4f} over {} queries\n", options.queries.k, recall, count);
  return report;
}

}  // namespace

Run attach_recall(CLI::App& parser) {
  auto options = std::make_shared<RecallOptions>();
  options->queries.attach(parser, 1);
  parser.add_option("--truth", options->truth,
                    "ivecs: the ids of each query's neighbours, nearest first")
      ->required()
      ->type_name("FILE");
  return [options] { return recall(*options); };
}

}  // namespace vicinal::cli
