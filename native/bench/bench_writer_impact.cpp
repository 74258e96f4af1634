// bench writer-impact: what searches notice of a writer, ours beside a reader-writer lock (the
// `locked-pool` of service.hpp with searches in their callers).
//
// A write is the upsert of one row. The ids go round a ring of the index's first rows, each with
// the vector that it has already: the live rows stay the same, and so do all answers, which are
// compared. What was replaced stays behind as dead rows until a compaction, in blocks that a scan
// skips when the whole block is dead; so that these do not add up, every slice of time has an index
// of its own, loaded from the same image. A paced writer makes 4,000 writes a second; a flat one
// makes the next as soon as the last is done.
#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "bench/bench.hpp"
#include "bench/cores.hpp"
#include "bench/index.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kSlices = 4;
constexpr std::size_t kRingRows = 1024;
constexpr std::chrono::nanoseconds kPace = std::chrono::microseconds(250);

enum class Pace : std::uint8_t { off, paced, flat };
constexpr Pace kPaces[] = {Pace::off, Pace::paced, Pace::flat};
constexpr Variant kVariants[] = {Variant::ours, Variant::locked_pool};

const char* name_of(Pace pace) {
  switch (pace) {
    case Pace::off: break;
    case Pace::paced: return "paced";
    case Pace::flat: return "flat";
  }
  return "off";
}

struct Contender {
  Pace pace;
  Variant variant;
  CallFigures figures;
  std::uint64_t rows_after = 0;  // of the last slice's index
  std::uint64_t versions = 0;    // that the writes and compactions made
};

void write_ring(Service& service, const DataSet& data, Pace pace, Clock::time_point end,
                WriterFigures& figures) {
  const std::size_t ring = std::min(kRingRows, data.row_count());
  Clock::time_point due = Clock::now();
  for (std::uint64_t id = 0; Clock::now() < end; id = (id + 1) % ring) {
    if (pace == Pace::paced) {
      due += kPace;
      if (due >= end) return;
      std::this_thread::sleep_until(due);
    }
    const Clock::time_point began = Clock::now();
    std::uint64_t rows = 0;
    service.write([&](Index& index) {
      rows = cli::require(kSubject, index.upsert(std::span(&id, 1), data.row_range(id, 1))).count;
    });
    const std::chrono::duration<double, std::micro> wall = Clock::now() - began;
    figures.wall_us.push_back(wall.count());
    figures.writes += rows;
  }
}

class Measurement {
 public:
  Measurement(const Options& options, const DataSet& data, unsigned bits, std::size_t k)
      : options_(options), data_(data), bits_(bits), k_(k), random_(options.seed) {
    const Index index = build_index(data, bits);
    question_.options = search_options(options, k);
    expected_ = lone_answers(index, question_, data);
    image_ = cli::require(kSubject, index.to_bytes());
  }

  void run(std::vector<Row>& rows) {
    for (const std::size_t readers : options_.threads) {
      std::vector<Contender> all;
      for (const Pace pace : kPaces) {
        for (const Variant variant : kVariants) all.push_back({pace, variant, {}});
      }
      take_turns(all, readers);
      for (const Contender& one : all) {
        rows.push_back(row_of(one, *quiet(all, one.variant), readers));
      }
    }
  }

 private:
  void take_turns(std::vector<Contender>& all, std::size_t readers) {
    std::vector<Contender*> order;
    for (Contender& one : all) order.push_back(&one);
    for (std::size_t slice = 0; slice < kSlices; ++slice) {
      std::shuffle(order.begin(), order.end(), random_);
      for (Contender* one : order) run_one(*one, readers);
    }
  }

  void run_one(Contender& one, std::size_t readers) {
    cli::check_interrupted();
    Index index = cli::require(kSubject, Index::from_bytes(image_));
    Service service(index.share(), question_, one.variant, 0);
    Load load{&data_, expected_, readers, 1, options_.seconds / kSlices, {}};
    if (one.pace != Pace::off) {
      load.writer = [this, &one](Service& at, Clock::time_point end, WriterFigures& figures) {
        write_ring(at, data_, one.pace, end, figures);
      };
    }
    const std::uint64_t before = index.stats().sequence;
    one.figures.merge(run_slice(service, load));
    const Stats after = index.stats();
    one.rows_after = after.rows;
    one.versions += after.sequence - before;
    progress_.show(++done_);
  }

  static const Contender* quiet(const std::vector<Contender>& all, Variant variant) {
    for (const Contender& one : all) {
      if (one.pace == Pace::off && one.variant == variant) return &one;
    }
    return nullptr;
  }

  // `quiet`: the same without a writer.
  Row row_of(const Contender& one, const Contender& quiet, std::size_t readers) const {
    const WriterFigures& written = one.figures.written;
    const auto cores = static_cast<double>(core_count());
    const double busy = written.cpu_us * 1e-6 / one.figures.seconds;  // cores
    const double useful = std::min(static_cast<double>(readers), cores);
    // The part of the cores that the readers had without the writer and could have beside it.
    const double left = std::min(useful, cores - busy) / useful;
    const double p99_us = percentile_of(one.figures.wall_us, 0.99);
    const auto write_us = [&written](double share) {
      return written.writes == 0 ? Value() : Value(percentile_of(written.wall_us, share));
    };
    Row row{{"data", data_.name},
            {"n", data_.row_count()},
            {"dim", data_.dim},
            {"bits", bits_},
            {"k", k_},
            {"readers", readers},
            {"writer", name_of(one.pace)},
            {"variant", bench::name_of(one.variant)},
            {"reads_per_s", one.figures.rate()},
            {"writes_per_s", static_cast<double>(written.writes) / one.figures.seconds},
            {"writer_cpu_share", busy / cores},
            {"kept", ratio_of(one.figures.rate(), quiet.figures.rate() * left)},
            {"cpu_ratio", ratio_of(one.figures.cpu_us_per_call(),
                                   quiet.figures.cpu_us_per_call())},
            {"p99_ratio", ratio_of(p99_us, percentile_of(quiet.figures.wall_us, 0.99))},
            {"calm_p99_ratio", ratio_of(one.figures.calm_percentile(0.99).real,
                                        quiet.figures.calm_percentile(0.99).real)},
            {"write_p50_us", write_us(0.5)},
            {"write_p99_us", write_us(0.99)},
            {"writes", written.writes},
            {"versions", one.versions},
            {"rows_after", one.rows_after}};
    one.figures.append_to(row);
    return row;
  }

  const Options& options_;
  const DataSet& data_;
  unsigned bits_;
  std::size_t k_;
  std::mt19937_64 random_;
  Question question_;
  std::vector<Answer> expected_;
  std::vector<std::byte> image_;
  cli::Progress progress_{"slices", std::nullopt};
  std::uint64_t done_ = 0;
};

}  // namespace

Options writer_impact_defaults() {
  Options options;
  options.n = {200000};
  options.dim = {128};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8, 14};
  options.seconds = 2.4;
  return options;
}

std::vector<Row> run_writer_impact(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    for (const std::size_t k : options.k) Measurement(options, data, bits, k).run(rows);
  });
  return rows;
}

}  // namespace vicinal::bench
