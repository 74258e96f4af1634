// vicinal search: the nearest rows of each query, and how long each search took.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "cli/command.hpp"
#include "cli/failure.hpp"
#include "cli/id_list.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/queries.hpp"
#include "cli/terminal.hpp"

namespace vicinal::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

// Untimed searches beforehand: the first ones fault memory in and grow the reader's buffers.
constexpr std::size_t kWarmUpQueries = 64;

struct SearchCall {
  Queries queries;
  std::string output;
};

struct Found {
  IdList ids;
  std::vector<float> scores;
  std::vector<std::size_t> ends;
  std::vector<double> us;

  [[nodiscard]] std::size_t first(std::size_t query) const {
    return query == 0 ? 0 : ends[query - 1];
  }
};

Found search_all(Reader& reader, const std::vector<float>& queries, const IndexOptions& index,
                 const Queries& options) {
  const SearchOptions search = options.search_options(index);
  const std::size_t dim = index.dim;
  const std::size_t count = queries.size() / dim;
  const auto query = [&](std::size_t i) { return std::span(queries).subspan(i * dim, dim); };
  for (std::size_t i = 0; i < std::min(count, kWarmUpQueries); ++i) {
    check_interrupted();
    (void)search_one(reader, query(i), i, search, options.path);
  }
  Found found;
  Progress progress("queries", count);
  for (std::size_t i = 0; i < count; ++i) {
    check_interrupted();
    const auto started = Clock::now();
    const Hits hits = search_one(reader, query(i), i, search, options.path);
    found.us.push_back(Microseconds(Clock::now() - started).count());
    found.ids.numbers.insert(found.ids.numbers.end(), hits.ids().begin(), hits.ids().end());
    for (std::size_t hit = 0; hit < hits.string_ids().size(); ++hit) {
      found.ids.texts.emplace_back(hits.string_ids()[hit]);
    }
    found.scores.insert(found.scores.end(), hits.scores().begin(), hits.scores().end());
    found.ends.push_back(found.ids.size());
    progress.show(i + 1);
  }
  return found;
}

// The smallest latency that `share` of the searches did not exceed.
double percentile(std::vector<double> us, double share) {
  if (us.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(us.size())));
  const auto at = us.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(us.begin(), at, us.end());
  return *at;
}

void write_ivecs(const std::string& path, const Found& found) {
  constexpr std::uint64_t kIdMax = std::numeric_limits<std::int32_t>::max();
  OutputFile file(path);
  std::vector<std::int32_t> row;
  for (std::size_t query = 0; query < found.ends.size(); ++query) {
    row.assign(1, static_cast<std::int32_t>(found.ends[query] - found.first(query)));
    for (std::size_t i = found.first(query); i < found.ends[query]; ++i) {
      const std::uint64_t id = found.ids.numbers[i];
      if (id > kIdMax) {
        throw Failure(Code::bad_id,
                      fmt::format("{}: id {} does not fit the 32 bits of ivecs; use --json", path,
                                  id));
      }
      row.push_back(static_cast<std::int32_t>(id));
    }
    file.write(std::as_bytes(std::span(row)));
  }
  file.commit();
}

nlohmann::ordered_json results_of(const Found& found) {
  auto results = nlohmann::ordered_json::array();
  for (std::size_t query = 0; query < found.ends.size(); ++query) {
    auto ids = nlohmann::ordered_json::array();
    auto scores = nlohmann::ordered_json::array();
    for (std::size_t i = found.first(query); i < found.ends[query]; ++i) {
      if (found.ids.texts.empty()) {
        ids.push_back(found.ids.numbers[i]);
      } else {
        ids.push_back(found.ids.texts[i]);
      }
      scores.push_back(found.scores[i]);
    }
    results.push_back({{"ids", std::move(ids)}, {"scores", std::move(scores)}});
  }
  return results;
}

// What would end a field or a line, and the backslash, with a backslash before a letter.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char byte : text) {
    switch (byte) {
      case '\t': line += "\\t"; break;
      case '\n': line += "\\n"; break;
      case '\r': line += "\\r"; break;
      case '\0': line += "\\0"; break;
      case '\\': line += "\\\\"; break;
      default: line += byte;
    }
  }
  return line;
}

// One line a hit, for other programs to read.
std::string table_of(const Found& found) {
  fmt::memory_buffer text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "query\trank\tid\tscore\n");
  for (std::size_t query = 0; query < found.ends.size(); ++query) {
    const std::size_t first = found.first(query);
    for (std::size_t i = first; i < found.ends[query]; ++i) {
      const std::string id = found.ids.texts.empty() ? std::to_string(found.ids.numbers[i])
                                                     : one_line(found.ids.texts[i]);
      fmt::format_to(out, "{}\t{}\t{}\t{}\n", query, i - first + 1, id, found.scores[i]);
    }
  }
  return fmt::to_string(text);
}

Report search(const SearchCall& options) {
  if (!options.output.empty()) check_output(options.output);
  const Index index = options.queries.index.open_to_read();
  if (index.options().ids == IdKind::string && !options.output.empty()) {
    throw Failure(Code::unsupported, fmt::format("{}: ids are strings, and ivecs has numbers; use "
                                                 "--json", options.queries.index.path));
  }
  const std::vector<float> queries = options.queries.read(index.options().dim);
  Reader reader = open_reader(index, options.queries.index.path);
  const Found found = search_all(reader, queries, index.options(), options.queries);
  if (!options.output.empty()) write_ivecs(options.output, found);

  const double all_us = std::accumulate(found.us.begin(), found.us.end(), 0.0);
  const double p50_us = percentile(found.us, 0.5);
  const double p99_us = percentile(found.us, 0.99);
  const double rate = all_us > 0 ? static_cast<double>(found.us.size()) * 1e6 / all_us : 0;
  Report report;
  report.json = {{"k", options.queries.k},
                 {"queries", found.us.size()},
                 {"results", results_of(found)},
                 {"p50_us", p50_us},
                 {"p99_us", p99_us},
                 {"searches_per_s", rate}};
  if (options.output.empty()) {
    report.text = table_of(found);
  } else {
    report.text = fmt::format("{}: {} queries, p50 {:.1f} us, p99 {:.1f} us, {:.0f} searches/s\n",
                              options.output, found.us.size(), p50_us, p99_us, rate);
  }
  return report;
}

}  // namespace

Run attach_search(CLI::App& parser) {
  auto options = std::make_shared<SearchCall>();
  options->queries.attach(parser, 0);
  parser.add_option("--output", options->output, "Write the ids found to this ivecs file")
      ->type_name("FILE");
  return [options] { return search(*options); };
}

}  // namespace vicinal::cli
