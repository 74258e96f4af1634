#include "bench/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "bench/cores.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/row_reader.hpp"

namespace vicinal::bench {
namespace {

// Rows that share one generator: a new one costs more than a row.
constexpr std::size_t kBlockRows = 1024;
constexpr std::size_t kSliceRows = 4096;

enum class Stream : std::uint32_t { centres = 1, rows = 2, queries = 3 };

std::mt19937_64 generator(std::uint64_t seed, Stream stream, std::size_t block) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(block)};
  return std::mt19937_64(words);
}

std::vector<float> make_centres(const Options& options, std::uint32_t dim) {
  std::mt19937_64 random = generator(options.seed, Stream::centres, 0);
  std::normal_distribution<float> normal;
  std::vector<float> centres(std::size_t{options.clusters} * dim);
  for (float& value : centres) value = normal(random);
  return centres;
}

// Each row: the centre of a cluster, plus noise of its own.
std::vector<float> scatter(const Options& options, const std::vector<float>& centres,
                           Stream stream, std::size_t count, std::uint32_t dim) {
  std::vector<float> rows(count * dim);
  const auto noise = static_cast<float>(options.noise);
  on_all_cores((count + kBlockRows - 1) / kBlockRows, [&](std::size_t block) {
    std::mt19937_64 random = generator(options.seed, stream, block);
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<std::uint32_t> cluster(0, options.clusters - 1);
    const std::size_t end = std::min(count, (block + 1) * kBlockRows);
    for (std::size_t row = block * kBlockRows; row < end; ++row) {
      const float* centre = centres.data() + std::size_t{cluster(random)} * dim;
      float* values = rows.data() + row * dim;
      for (std::uint32_t i = 0; i < dim; ++i) values[i] = centre[i] + noise * normal(random);
    }
  });
  return rows;
}

cli::RowReader open_rows(const std::string& path) {
  return {path, cli::vector_format(path, "")};
}

std::vector<float> read_rows(cli::RowReader& reader, std::uint64_t rows_max) {
  std::vector<float> rows;
  std::vector<float> slice;
  std::uint64_t left = rows_max;
  while (left > 0) {
    cli::check_interrupted();
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, kSliceRows));
    const std::size_t count = reader.read(wanted, slice);
    if (count == 0) break;
    rows.insert(rows.end(), slice.begin(),
                slice.begin() + static_cast<std::ptrdiff_t>(count * reader.dim()));
    left -= count;
  }
  return rows;
}

DataSet read_data(const Options& options, std::uint64_t n) {
  cli::RowReader rows = open_rows(options.data);
  cli::RowReader queries = open_rows(options.queries);
  if (queries.dim() != rows.dim()) {
    throw cli::Failure(Code::dimension,
                       fmt::format("{}: queries of {} coordinates, {} has rows of {}",
                                   options.queries, queries.dim(), options.data, rows.dim()));
  }
  DataSet data{data_name(options), rows.dim(), read_rows(rows, n), read_rows(queries, kAllRows)};
  if (n != kAllRows && data.row_count() < n) {
    throw cli::usage_failure(
        fmt::format("--n {}: {} has {} rows", n, options.data, data.row_count()));
  }
  return data;
}

}  // namespace

std::string data_name(const Options& options) {
  if (options.data.empty()) return "mixture";
  return options.data.substr(options.data.find_last_of('/') + 1);
}

std::vector<std::uint32_t> dims_of(const Options& options) {
  if (options.data.empty()) return options.dim;
  return {open_rows(options.data).dim()};
}

std::vector<std::uint64_t> counts_of(const Options& options) {
  if (options.data.empty() || options.n_is_given) return options.n;
  return {kAllRows};
}

DataSet make_data(const Options& options, std::uint64_t n, std::uint32_t dim) {
  if (!options.data.empty()) return read_data(options, n);
  cli::check_interrupted();
  const std::vector<float> centres = make_centres(options, dim);
  return {data_name(options), dim, scatter(options, centres, Stream::rows, n, dim),
          scatter(options, centres, Stream::queries, kMixtureQueries, dim)};
}

}  // namespace vicinal::bench
