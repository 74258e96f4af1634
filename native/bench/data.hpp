// The vectors that a benchmark searches: a seeded mixture, or files.
//
// Thread safety: one thread at a time; it uses all cores.
// I1: a mixture's rows depend on the seed, the clusters, the noise and the dimension, not on how
//     many rows are wanted or how many cores there are. Its generator shares nothing with the
//     library's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/bench.hpp"

namespace vicinal::bench {

// Distinct queries of a mixture: enough that no answer is still in a cache when its query returns.
inline constexpr std::size_t kMixtureQueries = 1000;
// As a number of rows: all that a file has.
inline constexpr std::uint64_t kAllRows = ~std::uint64_t{0};

struct DataSet {
  std::string name;
  std::uint32_t dim = 0;
  std::vector<float> rows;
  std::vector<float> queries;

  [[nodiscard]] std::size_t row_count() const noexcept { return rows.size() / dim; }
  [[nodiscard]] std::size_t query_count() const noexcept { return queries.size() / dim; }
  [[nodiscard]] std::span<const float> row_range(std::size_t first, std::size_t count) const {
    return std::span(rows).subspan(first * dim, count * dim);
  }
  [[nodiscard]] std::span<const float> query_range(std::size_t first, std::size_t count) const {
    return std::span(queries).subspan(first * dim, count * dim);
  }
};

// "mixture", or the name of the file without its folder.
[[nodiscard]] std::string data_name(const Options& options);

// The dimensions to measure: those asked for, or the file's.
[[nodiscard]] std::vector<std::uint32_t> dims_of(const Options& options);

// The numbers of rows to measure. Of a file: all, unless the user said otherwise.
[[nodiscard]] std::vector<std::uint64_t> counts_of(const Options& options);

// `n` rows and the queries. A usage failure when the file has fewer rows.
[[nodiscard]] DataSet make_data(const Options& options, std::uint64_t n, std::uint32_t dim);

// Calls visit(data, bits) for every setting of rows, dimension and bits; data is made once for all
// bits.
template <class Visit>
void for_each_data(const Options& options, Visit visit) {
  for (const std::uint32_t dim : dims_of(options)) {
    for (const std::uint64_t n : counts_of(options)) {
      const DataSet data = make_data(options, n, dim);
      for (const unsigned bits : options.bits) visit(data, bits);
    }
  }
}

}  // namespace vicinal::bench
