#include "cli/queries.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "cli/failure.hpp"
#include "cli/option_checks.hpp"
#include "cli/row_reader.hpp"

namespace vicinal::cli {
namespace {

constexpr std::size_t kSliceRows = 4096;

}  // namespace

void Queries::attach(CLI::App& parser, std::size_t k_min) {
  index.attach(parser);
  parser.add_option("--queries", path, "Queries: fvecs, f16vecs, bvecs or npy; - reads a pipe")
      ->required()
      ->type_name("FILE");
  add_format(parser, "--queries", format);
  parser.add_option("-k", k, "Neighbours to find for each query")
      ->check(CLI::Range(k_min, std::size_t{std::numeric_limits<std::int32_t>::max()})
                  .description(""))
      ->capture_default_str();
  parser.add_flag("--exhaustive", exhaustive, "Skip no row; the same as --certainty inf")
      ->excludes(add_certainty(parser, certainty));
  parser.add_option("--rerank", rerank,
                    "Candidates to score again by their originals, by default 4 k; 0: none")
      ->check(whole_number());
}

std::vector<float> Queries::read(std::uint32_t dim) const {
  RowReader reader(path, vector_format(path, format));
  if (reader.dim() != dim) {
    throw Failure(Code::dimension, fmt::format("{}: queries of {} coordinates, the index has {}",
                                               reader.name(), reader.dim(), dim));
  }
  std::vector<float> queries;
  std::vector<float> slice;
  while (reader.read(kSliceRows, slice) > 0) {
    queries.insert(queries.end(), slice.begin(), slice.end());
  }
  return queries;
}

SearchOptions Queries::search_options(const IndexOptions& of) const {
  if (rerank.value_or(0) > 0 && of.originals == Originals::none) {
    throw Failure(Code::bad_option, fmt::format("--rerank {}: {} stores no originals to score by",
                                                *rerank, index.path));
  }
  SearchOptions options;
  options.rerank = rerank;
  options.k = k;
  options.certainty = certainty;
  options.exhaustive = exhaustive;
  return options;
}

Hits search_one(Reader& reader, std::span<const float> query, std::size_t row,
                const SearchOptions& options, const std::string& name) {
  auto found = reader.search(query, options);
  if (found.code() == Code::not_finite) {
    throw status_failure(name, Status(Code::not_finite, row, found.status().b()));
  }
  return require(fmt::format("{}: query {}", name, row), std::move(found));
}

}  // namespace vicinal::cli
