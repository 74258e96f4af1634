#include "bench/truth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "bench/cores.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/row_reader.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

// Two rows by four queries keep eight sums in registers, which hides how long an addition takes.
constexpr std::size_t kTileRows = 2;
constexpr std::size_t kTileQueries = 4;
// So many queries at 1,536 coordinates still fit a second-level cache beside the rows.
constexpr std::size_t kChunkQueries = 64;
constexpr std::size_t kBlockRows = 1024;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kSliceRows = 4096;

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Tile = std::array<std::array<float, kTileQueries>, kTileRows>;

// The build says for which instruction sets this function is worth compiling again.
VICINAL_BENCH_CLONES
void multiply_tile(const std::array<const float*, kTileRows>& rows,
                   const std::array<const float*, kTileQueries>& queries, std::size_t dim,
                   Tile& dots) {
  Lanes sums[kTileRows][kTileQueries] = {};
  std::size_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    Lanes query[kTileQueries];
    for (std::size_t q = 0; q < kTileQueries; ++q) {
      std::memcpy(&query[q], queries[q] + i, sizeof(Lanes));
    }
    for (std::size_t r = 0; r < kTileRows; ++r) {
      Lanes row;
      std::memcpy(&row, rows[r] + i, sizeof row);
      for (std::size_t q = 0; q < kTileQueries; ++q) sums[r][q] += row * query[q];
    }
  }
  for (std::size_t r = 0; r < kTileRows; ++r) {
    for (std::size_t q = 0; q < kTileQueries; ++q) {
      float sum = 0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) sum += sums[r][q][lane];
      for (std::size_t at = i; at < dim; ++at) sum += rows[r][at] * queries[q][at];
      dots[r][q] = sum;
    }
  }
}

// 1 / length of each row; 0 of a zero row, which scores 0 against everything.
std::vector<float> inverse_lengths(const DataSet& data) {
  std::vector<float> inverse(data.row_count());
  on_all_cores((inverse.size() + kBlockRows - 1) / kBlockRows, [&](std::size_t block) {
    const std::size_t end = std::min(inverse.size(), (block + 1) * kBlockRows);
    for (std::size_t row = block * kBlockRows; row < end; ++row) {
      double squares = 0;
      for (const float value : data.row_range(row, 1)) squares += double{value} * double{value};
      inverse[row] = squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f;
    }
  });
  return inverse;
}

// Scores of rows [first, end) for `count` queries from `query` on; a query's scores lie together.
// The length of a query changes no order and is left out.
void score_rows(const DataSet& data, const std::vector<float>& inverse, std::size_t first,
                std::size_t end, std::size_t query, std::size_t count,
                std::vector<float>& scores) {
  const std::size_t n = data.row_count();
  const float* const all_queries = data.queries.data();
  for (std::size_t row = first; row < end; row += kTileRows) {
    std::array<const float*, kTileRows> rows;
    for (std::size_t r = 0; r < kTileRows; ++r) {
      rows[r] = data.rows.data() + std::min(row + r, end - 1) * data.dim;
    }
    for (std::size_t q = 0; q < count; q += kTileQueries) {
      std::array<const float*, kTileQueries> queries;
      for (std::size_t j = 0; j < kTileQueries; ++j) {
        queries[j] = all_queries + (query + std::min(q + j, count - 1)) * data.dim;
      }
      Tile dots;
      multiply_tile(rows, queries, data.dim, dots);
      for (std::size_t r = 0; r < kTileRows && row + r < end; ++r) {
        for (std::size_t j = 0; j < kTileQueries && q + j < count; ++j) {
          scores[(q + j) * n + row + r] = dots[r][j] * inverse[row + r];
        }
      }
    }
  }
}

void best_rows(std::span<const float> scores, std::span<std::uint64_t> best) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto nearer = [&](std::uint32_t a, std::uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(best.size());
  if (middle != order.end()) std::nth_element(order.begin(), middle, order.end(), nearer);
  std::sort(order.begin(), middle, nearer);
  std::copy(order.begin(), middle, best.begin());
}

Truth compute_truth(const DataSet& data, std::size_t k) {
  const std::size_t n = data.row_count();
  const std::size_t width = std::min(k, n);
  const std::vector<float> inverse = inverse_lengths(data);
  std::vector<std::uint64_t> ids(data.query_count() * width);
  std::vector<float> scores(std::min(kChunkQueries, data.query_count()) * n);
  cli::Progress progress("queries answered exactly", data.query_count());
  for (std::size_t query = 0; query < data.query_count(); query += kChunkQueries) {
    cli::check_interrupted();
    const std::size_t count = std::min(kChunkQueries, data.query_count() - query);
    on_all_cores((n + kBlockRows - 1) / kBlockRows, [&](std::size_t block) {
      score_rows(data, inverse, block * kBlockRows, std::min(n, (block + 1) * kBlockRows), query,
                 count, scores);
    });
    on_all_cores(count, [&](std::size_t i) {
      best_rows(std::span(scores).subspan(i * n, n),
                std::span(ids).subspan((query + i) * width, width));
    });
    progress.show(query + count);
  }
  return {std::move(ids), width};
}

Truth read_truth(const std::string& path, const DataSet& data) {
  cli::RowReader reader(path, cli::Format::ivecs);
  std::vector<std::uint64_t> ids;
  std::vector<std::int32_t> slice;
  while (reader.read(kSliceRows, slice) > 0) {
    for (const std::int32_t id : slice) {
      if (id < 0 || static_cast<std::size_t>(id) >= data.row_count()) {
        throw cli::Failure(Code::bad_id, fmt::format("{}: row {} names the neighbour {} of {} rows",
                                                     path, ids.size() / reader.dim(), id,
                                                     data.row_count()));
      }
      ids.push_back(static_cast<std::uint64_t>(id));
    }
  }
  if (reader.rows_done() != data.query_count()) {
    throw cli::Failure(Code::bad_option,
                       fmt::format("{}: neighbours of {} queries, there are {}", path,
                                   reader.rows_done(), data.query_count()));
  }
  return {std::move(ids), reader.dim()};
}

}  // namespace

Truth find_truth(const Options& options, const DataSet& data, std::size_t k) {
  return options.truth.empty() ? compute_truth(data, k) : read_truth(options.truth, data);
}

std::size_t common_ids(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  std::vector<std::uint64_t> left(a.begin(), a.end());
  std::vector<std::uint64_t> right(b.begin(), b.end());
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::vector<std::uint64_t> common;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(common));
  return common.size();
}

}  // namespace vicinal::bench
