// bench bulk-stall: the longest search beside one large batch of new rows, ours beside a
// reader-writer lock (the `locked-pool` of service.hpp with searches in their caller).
//
// One reader searches without a pause: first alone, then for as long as another thread adds 50,000
// rows (half as many as the index has, where that is less). The variants take turns, each time
// with an index loaded from the same image.
#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/bench.hpp"
#include "bench/index.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kRounds = 5;
constexpr std::size_t kBatchRows = 50000;
constexpr Variant kVariants[] = {Variant::ours, Variant::locked_pool};

struct Contender {
  Variant variant;
  CallFigures before;
  CallFigures during;
  std::uint64_t rows_after = 0;
};

class Measurement {
 public:
  // The last `batch` rows of the data are those that come later.
  Measurement(const Options& options, const DataSet& data, std::size_t batch, unsigned bits,
              std::size_t k)
      : options_(options), data_(data), batch_(batch), bits_(bits), k_(k) {
    question_.options = search_options(options, k);
    Index index = make_index(data.dim, bits);
    constexpr std::size_t kSliceRows = 8192;
    for (std::size_t first = 0; first < rows(); first += kSliceRows) {
      add_rows(index, data, first, std::min(kSliceRows, rows() - first));
    }
    image_ = cli::require(kSubject, index.to_bytes());
  }

  void run(std::vector<Row>& out) {
    std::vector<Contender> all;
    for (const Variant variant : kVariants) all.push_back({variant, {}, {}, 0});
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (Contender& one : all) run_one(one);
      std::reverse(all.begin(), all.end());
    }
    for (const Variant variant : kVariants) {
      for (const Contender& one : all) {
        if (one.variant != variant) continue;
        out.push_back(row_of(one, "before", one.before));
        out.push_back(row_of(one, "during", one.during));
      }
    }
  }

 private:
  [[nodiscard]] std::size_t rows() const noexcept { return data_.row_count() - batch_; }

  void run_one(Contender& one) {
    cli::check_interrupted();
    Index index = cli::require(kSubject, Index::from_bytes(image_));
    Service service(index.share(), question_, one.variant, 0);
    Load load{&data_, {}, 1, 1, options_.seconds / kRounds, {}};
    one.before.merge(run_slice(service, load));
    load.seconds = std::nullopt;
    load.writer = [this](Service& at, Clock::time_point, WriterFigures& figures) {
      std::vector<std::uint64_t> ids(batch_);
      std::iota(ids.begin(), ids.end(), std::uint64_t{rows()});
      const auto vectors = data_.row_range(rows(), batch_);
      const Duration duration = timed([&] {
        at.write([&](Index& written) {
          (void)cli::require(kSubject, written.add(ids, vectors));
        });
      });
      figures.wall_us.push_back(duration.wall_us);
      ++figures.writes;
    };
    one.during.merge(run_slice(service, load));
    one.rows_after = index.stats().rows;
    progress_.show(++done_);
  }

  Row row_of(const Contender& one, const char* phase, const CallFigures& figures) const {
    const std::vector<double>& adds = figures.written.wall_us;
    const double quiet_us = percentile_of(one.before.wall_us, 0.999);
    const double longest_us = percentile_of(figures.longest_us, 0.5);
    const auto calm = std::max_element(figures.calm_us.begin(), figures.calm_us.end());
    Row row{{"data", data_.name},
            {"n", rows()},
            {"dim", data_.dim},
            {"bits", bits_},
            {"k", k_},
            {"variant", name_of(one.variant)},
            {"phase", phase},
            // The median of the rounds; of all, the longest, and the longest undisturbed one.
            {"max_us", longest_us},
            {"worst_us", percentile_of(figures.longest_us, 1)},
            {"calm_max_us", calm == figures.calm_us.end() ? Value() : Value(*calm)},
            {"stall", ratio_of(longest_us, quiet_us)},
            {"add_ms", adds.empty() ? Value() : Value(percentile_of(adds, 0.5) * 1e-3)},
            {"added", figures.written.writes * batch_},
            {"rows_after", one.rows_after}};
    figures.append_to(row);
    return row;
  }

  const Options& options_;
  const DataSet& data_;
  std::size_t batch_;
  unsigned bits_;
  std::size_t k_;
  Question question_;
  std::vector<std::byte> image_;
  cli::Progress progress_{"slices", std::nullopt};
  std::uint64_t done_ = 0;
};

}  // namespace

Options bulk_stall_defaults() {
  Options options;
  options.n = {1000000};
  options.dim = {128};
  options.bits = {4};
  options.k = {10};
  options.seconds = 5;
  return options;
}

std::vector<Row> run_bulk_stall(const Options& options) {
  std::vector<Row> out;
  for (const std::uint32_t dim : dims_of(options)) {
    for (const std::uint64_t n : counts_of(options)) {
      const auto batch_of = [](std::uint64_t rows) {
        return static_cast<std::size_t>(std::min<std::uint64_t>(kBatchRows, rows / 2));
      };
      const bool whole_file = n == kAllRows;
      const DataSet data = make_data(options, whole_file ? n : n + batch_of(n), dim);
      const std::size_t batch =
          whole_file ? batch_of(data.row_count() * 2 / 3) : data.row_count() - n;
      for (const unsigned bits : options.bits) {
        for (const std::size_t k : options.k) {
          Measurement(options, data, batch, bits, k).run(out);
        }
      }
    }
  }
  return out;
}

}  // namespace vicinal::bench
