// bench encode: rows a second that one thread encodes, and that it adds to an index.
//
// `encode` validates, normalises, rotates, quantises and packs rows into a write that is never
// submitted; `add` is Index::add of the same rows, which does that and makes them visible. Slices
// of the two alternate, so that what else the machine does falls on both.
#include <algorithm>
#include <vector>

#include "bench/bench.hpp"
#include "bench/index.hpp"
#include "bench/measure.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kSliceRows = 1024;

Row row_of(const DataSet& data, unsigned bits, const char* mode, std::size_t slice,
           const Latencies& latencies) {
  const auto rows = static_cast<double>(slice);
  Row row{{"data", data.name},
          {"n", data.row_count()},
          {"dim", data.dim},
          {"bits", bits},
          {"mode", mode},
          {"batch", slice},
          {"rows_per_s", rows * 1e6 / latencies.p50_us()},
          {"rows_per_cpu_s", rows * 1e6 / latencies.cpu_p50_us()}};
  latencies.append_to(row);
  return row;
}

void measure(const Options& options, const DataSet& data, unsigned bits, std::vector<Row>& rows) {
  const std::size_t slice = std::min(kSliceRows, data.row_count());
  Index index = make_index(data.dim, bits);
  WriteQueue queue = index.write_queue();
  Latencies encoded;
  Latencies added;
  const Budget budget(2 * options.seconds);
  for (std::size_t first = 0; added.count() == 0 || !budget.spent(); first += slice) {
    cli::check_interrupted();
    if (first + slice > data.row_count()) {
      first = 0;
      (void)cli::require(kSubject, index.clear());
    }
    PendingWrite write = cli::require(kSubject, queue.make(WriteKind::add, slice));
    const auto vectors = data.row_range(first, slice);
    encoded.add(timed([&] { cli::require(kSubject, write.encode(0, vectors)); }));
    added.add(timed([&] { add_rows(index, data, first, slice); }));
  }
  rows.push_back(row_of(data, bits, "encode", slice, encoded));
  rows.push_back(row_of(data, bits, "add", slice, added));
}

}  // namespace

Options encode_defaults() {
  Options options;
  options.n = {32768};
  options.dim = {128, 768, 1536};
  options.bits = {4};
  options.k = {10};
  options.seconds = 3;
  return options;
}

std::vector<Row> run_encode(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    measure(options, data, bits, rows);
  });
  return rows;
}

}  // namespace vicinal::bench
