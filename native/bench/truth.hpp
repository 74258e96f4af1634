// The exact neighbours of a benchmark's queries, and what a search is worth against them.
//
// Thread safety: find_truth uses all cores, from one thread at a time; a Truth is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/data.hpp"

namespace vicinal::bench {

// The nearest rows of each query, best first.
class Truth {
 public:
  Truth() = default;
  Truth(std::vector<std::uint64_t> ids, std::size_t width)
      : ids_(std::move(ids)), width_(width) {}

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::span<const std::uint64_t> nearest(std::size_t query, std::size_t k) const {
    return std::span(ids_).subspan(query * width_, k);
  }

 private:
  std::vector<std::uint64_t> ids_;
  std::size_t width_ = 0;  // neighbours a query
};

// Up to `k` neighbours a query: of the --truth file, else by the cosine with every row, in floats,
// ties to the lower row. BAD_OPTION for a file that does not fit the queries, BAD_ID for one that
// names a row which is not there.
[[nodiscard]] Truth find_truth(const Options& options, const DataSet& data, std::size_t k);

// How many ids are in both.
[[nodiscard]] std::size_t common_ids(std::span<const std::uint64_t> a,
                                     std::span<const std::uint64_t> b);

}  // namespace vicinal::bench
