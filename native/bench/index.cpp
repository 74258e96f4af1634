#include "bench/index.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cli/failure.hpp"
#include "cli/interrupt.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kBatchRows = 8192;

}  // namespace

Index make_index(std::uint32_t dim, unsigned bits, Originals originals) {
  IndexOptions options;
  options.dim = dim;
  options.bits = static_cast<std::uint8_t>(bits);
  options.originals = originals;
  options.partitions.mode = Partitions::Mode::none;
  return cli::require(kSubject, Index::create(options));
}

void add_rows(Index& index, const DataSet& data, std::size_t first, std::size_t count) {
  cli::check_interrupted();
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), std::uint64_t{first});
  (void)cli::require(kSubject, index.add(ids, data.row_range(first, count)));
}

Index build_index(const DataSet& data, unsigned bits, Originals originals) {
  Index index = make_index(data.dim, bits, originals);
  for (std::size_t first = 0; first < data.row_count(); first += kBatchRows) {
    add_rows(index, data, first, std::min(kBatchRows, data.row_count() - first));
  }
  return index;
}

Reader open_reader(const Index& index) {
  Reader reader = index.reader();
  cli::require(kSubject, reader.status());
  return reader;
}

SearchOptions search_options(const Options& options, std::size_t k) {
  SearchOptions search;
  search.k = k;
  search.certainty = options.certainty;
  return search;
}

}  // namespace vicinal::bench
