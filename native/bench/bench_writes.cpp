// bench writes: what one write takes until every later search sees it, one thread, ours beside the
// lock of service.hpp.
//
// A round makes single adds of new ids, single upserts of old ones, single removals of what was
// added, a batch of 1,000, the removal of these, and a sync of 32 rows (a batch as well, of the
// size in which an application hands over what has changed); its end finds the live rows of its
// beginning. The variants take turns, round by round. What compactions cost is in the figures: the
// thread that writes does their work.
// A third one is ours in a file, with every write durable.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "bench/folder.hpp"
#include "bench/index.hpp"
#include "bench/measure.hpp"
#include "bench/service.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kSingles = 64;  // of each kind, a round
constexpr std::size_t kBatchRows = 1000;
constexpr std::size_t kSyncRows = 32;
constexpr Variant kVariants[] = {Variant::ours, Variant::locked_pool};

enum class Op : std::uint8_t { add, upsert, remove };

struct Kind {
  const char* name;
  Op op;
  std::size_t rows;
};
// In the order of a round. `sync` is what the application does; to the library the two are batches.
constexpr Kind kAdd{"add", Op::add, 1};
constexpr Kind kUpsert{"upsert", Op::upsert, 1};
constexpr Kind kRemove{"remove", Op::remove, 1};
constexpr Kind kBatchAdd{"add", Op::add, kBatchRows};
constexpr Kind kSyncRemove{"sync-remove", Op::remove, kBatchRows};
constexpr Kind kSyncAdd{"sync-add", Op::add, kSyncRows};
constexpr std::size_t kKinds = 6;

struct Figures {
  Kind kind;
  Latencies latencies;
  std::uint64_t applied = 0;  // rows, by the receipts
};

class Contender {
 public:
  // `path`: of a file that the index is in; empty: it is in memory.
  Contender(Variant variant, const DataSet& data, std::span<const std::byte> image,
            const std::string& path = {})
      : variant_(variant), data_(data), path_(path) {
    for (const Kind& kind : {kAdd, kUpsert, kRemove, kBatchAdd, kSyncRemove, kSyncAdd}) {
      figures_.push_back({kind, {}, 0});
    }
    next_id_ = data_.row_count();
    Index index = cli::require(
        kSubject, path.empty() ? Index::from_bytes(image) : Index::open(path, OpenOptions{}));
    options_.durable = !path.empty();
    service_ = std::make_unique<Service>(std::move(index), Question{}, variant_, 0);
  }

  [[nodiscard]] Variant variant() const noexcept { return variant_; }
  [[nodiscard]] bool durable() const noexcept { return options_.durable; }
  // The file's length against what it is when it was compacted; nothing where there is none.
  [[nodiscard]] Value file_ratio() {
    if (path_.empty()) return {};
    const auto before = static_cast<double>(std::filesystem::file_size(path_));
    service_->write([](Index& index) { (void)cli::require(kSubject, index.compact()); });
    return before / static_cast<double>(std::filesystem::file_size(path_));
  }
  [[nodiscard]] const std::vector<Figures>& figures() const noexcept { return figures_; }
  [[nodiscard]] std::uint64_t rows_after() const { return service_->index().stats().rows; }

  // `counted`: not to warm up.
  void round(bool counted) {
    const std::uint64_t fresh = next_id_;
    next_id_ += kSingles + kBatchRows + kSyncRows;
    for (std::size_t i = 0; i < kSingles; ++i) write(figures_[0], fresh + i, counted);
    for (std::size_t i = 0; i < kSingles; ++i) {
      write(figures_[1], (fresh + i) % data_.row_count(), counted);
    }
    for (std::size_t i = 0; i < kSingles; ++i) write(figures_[2], fresh + i, counted);
    write(figures_[3], fresh + kSingles, counted);
    write(figures_[4], fresh + kSingles, counted);
    const std::uint64_t synced = fresh + kSingles + kBatchRows;
    write(figures_[5], synced, counted);
    Figures clean_up{{"", Op::remove, kSyncRows}, {}, 0};
    write(clean_up, synced, false);
  }

 private:
  // The vectors go round the data: those of `first` modulo its rows, and what follows.
  std::span<const float> vectors_of(std::uint64_t first, std::size_t count) {
    const std::size_t at = first % data_.row_count();
    if (at + count <= data_.row_count()) return data_.row_range(at, count);
    vectors_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = data_.row_range((at + i) % data_.row_count(), 1);
      vectors_.insert(vectors_.end(), row.begin(), row.end());
    }
    return vectors_;
  }

  void write(Figures& figures, std::uint64_t first, bool counted) {
    const Kind& kind = figures.kind;
    ids_.resize(kind.rows);
    std::iota(ids_.begin(), ids_.end(), first);
    std::span<const float> vectors;
    if (kind.op != Op::remove) vectors = vectors_of(first, kind.rows);
    std::uint64_t applied = 0;
    const Duration duration = timed([&] {
      service_->write([&](Index& index) { applied = apply(index, kind.op, vectors); });
    });
    if (!counted) return;
    figures.latencies.add(duration);
    figures.applied += applied;
  }

  std::uint64_t apply(Index& index, Op op, std::span<const float> vectors) {
    switch (op) {
      case Op::add: return cli::require(kSubject, index.add(ids_, vectors, options_)).count;
      case Op::upsert: return cli::require(kSubject, index.upsert(ids_, vectors, options_)).count;
      case Op::remove: break;
    }
    return cli::require(kSubject, index.remove(ids_, options_)).count;
  }

  Variant variant_;
  const DataSet& data_;
  std::string path_;
  WriteOptions options_;
  std::unique_ptr<Service> service_;
  std::uint64_t next_id_ = 0;
  std::vector<Figures> figures_;
  std::vector<std::uint64_t> ids_;
  std::vector<float> vectors_;
};

Row row_of(const DataSet& data, unsigned bits, const Contender& one, const Figures& figures) {
  const auto rows = static_cast<double>(figures.kind.rows);
  Row row{{"data", data.name},
          {"n", data.row_count()},
          {"dim", data.dim},
          {"bits", bits},
          {"op", figures.kind.name},
          {"rows", figures.kind.rows},
          {"durable", one.durable()},
          {"variant", name_of(one.variant())},
          {"rows_per_s", rows * 1e6 / figures.latencies.mean_us()},
          {"applied", figures.applied},
          {"rows_after", one.rows_after()}};
  figures.latencies.append_to(row);
  return row;
}

void measure(const Options& options, const DataSet& data, unsigned bits, std::vector<Row>& rows) {
  const Folder folder;
  const std::string path = folder.file("writes.vic");
  std::vector<std::byte> image;
  {
    const Index index = build_index(data, bits);
    image = cli::require(kSubject, index.to_bytes());
    cli::require(path, index.save(path));
  }
  std::vector<Contender> all;
  for (const Variant variant : kVariants) all.emplace_back(variant, data, image);
  all.emplace_back(Variant::ours, data, image, path);
  for (Contender& one : all) one.round(false);
  const Budget budget(options.seconds * kKinds * static_cast<double>(all.size()));
  cli::Progress progress("rounds", std::nullopt);
  for (std::size_t round = 0; round == 0 || !budget.spent(); ++round) {
    cli::check_interrupted();
    const std::size_t first = round % all.size();
    for (std::size_t i = 0; i < all.size(); ++i) all[(first + i) % all.size()].round(true);
    progress.show(round);
  }
  const std::size_t before = rows.size();
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (const Contender& one : all) {
      rows.push_back(row_of(data, bits, one, one.figures()[kind]));
    }
  }
  const Value ratio = all.back().file_ratio();
  for (std::size_t i = before; i < rows.size(); ++i) {
    const bool in_a_file = (i - before) % all.size() == all.size() - 1;
    rows[i].push_back({"file_ratio", in_a_file ? ratio : Value()});
  }
}

}  // namespace

Options writes_defaults() {
  Options options;
  options.n = {100000};
  options.dim = {768};
  options.bits = {4};
  options.k = {10};
  options.seconds = 2;
  return options;
}

std::vector<Row> run_writes(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    measure(options, data, bits, rows);
  });
  return rows;
}

}  // namespace vicinal::bench
