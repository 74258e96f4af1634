// bench clients: several processes that search one file, perhaps beside another one that writes to
// it: `shared` maps the file and follows its writer, `private` reads a copy into each process's own
// memory, as a cache of each backend does, and never hears of a write.
//
// A write is the upsert of one row, 500 a second. As in bench writer-impact the ids go round a ring
// of the index's first rows, each with the vector that it has already; each slice of time has a
// file of its own, a copy of one that was built once.
// A commit is seen when the first search that answers from it, or from a later one, returns. The
// clock of that starts before the write is called.
// Memory is what each process has more than before it opened the index, when all are through and
// none has ended: `memory_bytes` of all together, with each one's share of what they have in
// common; `alone_bytes` of the largest one, and nobody else's.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <span>
#include <thread>

#include "bench/bench.hpp"
#include "bench/child.hpp"
#include "bench/cores.hpp"
#include "bench/folder.hpp"
#include "bench/index.hpp"
#include "bench/load.hpp"
#include "bench/measure.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

constexpr std::size_t kSlices = 2;
constexpr std::size_t kRingRows = 1024;
constexpr std::chrono::nanoseconds kPace = std::chrono::milliseconds(2);

struct Span {
  Clock::time_point begin, end;
};
struct Seen {
  std::uint64_t sequence;
  Clock::time_point at;
};

struct Contender {
  std::size_t processes;
  bool shared;
  bool writes;
  std::vector<double> wall_us;
  std::vector<double> seen_ms;
  double seconds = 0;
  std::uint64_t searches = 0;
  std::uint64_t commits = 0;
  double writer_cpu_us = 0;
  std::size_t memory_bytes = 0;  // the most of the slices
  std::size_t alone_bytes = 0;

  [[nodiscard]] double rate() const { return static_cast<double>(searches) / seconds; }
};

class Measurement {
 public:
  Measurement(const Options& options, const DataSet& data, unsigned bits, std::size_t k)
      : options_(options), data_(data), bits_(bits), k_(k), random_(options.seed) {
    OpenOptions open;
    open.create = make_index(data.dim, bits).options();
    Index file = cli::require(kSubject, Index::open(built_, open));
    add_rows(file, data, 0, data.row_count());
    (void)cli::require(kSubject, file.flush());
    file.close();
    file_bytes_ = std::filesystem::file_size(built_);
  }

  void run(std::vector<Row>& rows) {
    std::vector<Contender> all;
    for (const std::size_t processes : options_.threads) {
      for (const bool shared : {false, true}) {
        for (const bool writes : {false, true}) all.push_back({processes, shared, writes, {}, {}});
      }
    }
    std::vector<Contender*> order;
    for (Contender& one : all) order.push_back(&one);
    for (std::size_t slice = 0; slice < kSlices; ++slice) {
      std::shuffle(order.begin(), order.end(), random_);
      for (Contender* one : order) {
        cli::check_interrupted();
        run_slice(*one);
        progress_.show(++done_);
      }
    }
    for (const Contender& one : all) rows.push_back(row_of(one, all));
  }

 private:
  // What a reading process does; the parent's half is run_slice.
  void read(Line& line, bool shared) const {
    (void)line.receive<bool>();
    const MemoryBytes before = memory_of_process();
    line.send(true);
    (void)line.receive<bool>();
    OpenOptions open;
    open.read_only = true;
    open.detached = !shared;
    const Index index = cli::require(kSubject, Index::open(path_, open));
    Reader reader = open_reader(index);
    const SearchOptions options = search_options(options_, k_);
    for (std::size_t query = 0; query < data_.query_count(); ++query) {
      (void)cli::require(kSubject, reader.search(data_.query_range(query, 1), options));
    }
    line.send(true);
    const auto span = line.receive<Span>();
    std::vector<double> wall_us;
    std::vector<Seen> seen;
    std::this_thread::sleep_until(span.begin);
    for (std::size_t query = 0; Clock::now() < span.end;
         query = (query + 1) % data_.query_count()) {
      const Clock::time_point began = Clock::now();
      const auto hits = reader.search(data_.query_range(query, 1), options);
      const Clock::time_point ended = Clock::now();
      cli::require(kSubject, hits.status());
      wall_us.push_back(std::chrono::duration<double, std::micro>(ended - began).count());
      if (seen.empty() || hits->sequence() != seen.back().sequence) {
        seen.push_back({hits->sequence(), ended});
      }
    }
    line.send(true);
    (void)line.receive<bool>();
    const MemoryBytes after = memory_of_process();
    line.send(MemoryBytes{after.alone - std::min(after.alone, before.alone),
                          after.share - std::min(after.share, before.share)});
    (void)line.receive<bool>();
    line.send_all(wall_us);
    line.send_all(seen);
  }

  void write(Line& line) const {
    (void)line.receive<bool>();
    Index index = cli::require(kSubject, Index::open(path_));
    line.send(true);
    const auto span = line.receive<Span>();
    std::vector<Seen> made;
    const double cpu_us = thread_cpu_us();
    const std::size_t ring = std::min(kRingRows, data_.row_count());
    Clock::time_point due = span.begin;
    for (std::uint64_t id = 0; due < span.end; id = (id + 1) % ring, due += kPace) {
      std::this_thread::sleep_until(due);
      const Clock::time_point began = Clock::now();
      if (began >= span.end) break;
      const auto written = cli::require(
          kSubject, index.upsert(std::span(&id, 1), data_.row_range(id, 1)));
      made.push_back({written.sequence, began});
    }
    line.send(thread_cpu_us() - cpu_us);
    line.send_all(made);
  }

  void run_slice(Contender& one) {
    std::filesystem::copy_file(built_, path_, std::filesystem::copy_options::overwrite_existing);
    std::vector<Child> readers;
    for (std::size_t i = 0; i < one.processes; ++i) {
      readers.emplace_back([this, &one](Line& line) { read(line, one.shared); });
    }
    std::vector<Child> writers;  // before anybody looks at memory that all have in common
    if (one.writes) {
      writers.emplace_back([this](Line& line) { write(line); });
    }
    const auto step = [&readers](const auto& message) {
      for (Child& reader : readers) reader.line().send(message);
    };
    const auto through = [&readers] {
      for (Child& reader : readers) (void)reader.line().receive<bool>();
    };
    step(true);
    through();  // each has looked at its memory
    if (one.writes) {
      writers[0].line().send(true);
      (void)writers[0].line().receive<bool>();
    }
    step(true);
    through();  // each has opened the index and searched it
    const Clock::time_point begin = Clock::now() + std::chrono::milliseconds(5);
    const std::chrono::duration<double> seconds(options_.seconds / kSlices);
    const Span span{begin, begin + std::chrono::duration_cast<Clock::duration>(seconds)};
    step(span);
    std::vector<Seen> made;
    if (one.writes) {
      writers[0].line().send(span);
      one.writer_cpu_us += writers[0].line().receive<double>();
      made = writers[0].line().receive_all<Seen>();
    }
    through();
    step(true);
    std::size_t memory_bytes = 0;
    for (Child& reader : readers) {
      const auto memory = reader.line().receive<MemoryBytes>();
      memory_bytes += memory.share;
      one.alone_bytes = std::max(one.alone_bytes, memory.alone);
    }
    one.memory_bytes = std::max(one.memory_bytes, memory_bytes);
    step(true);
    for (Child& reader : readers) {
      const auto wall_us = reader.line().receive_all<double>();
      one.searches += wall_us.size();
      one.wall_us.insert(one.wall_us.end(), wall_us.begin(), wall_us.end());
      const auto seen = reader.line().receive_all<Seen>();
      if (one.shared) note_seen(made, seen, one.seen_ms);
    }
    one.commits += made.size();
    one.seconds += seconds.count();
  }

  // The commits behind a process's last search are not counted: the end cut them off.
  static void note_seen(const std::vector<Seen>& made, const std::vector<Seen>& seen,
                        std::vector<double>& seen_ms) {
    std::size_t at = 0;
    for (const Seen& commit : made) {
      while (at < seen.size() && seen[at].sequence < commit.sequence) ++at;
      if (at == seen.size()) return;
      seen_ms.push_back(
          std::chrono::duration<double, std::milli>(seen[at].at - commit.at).count());
    }
  }

  Row row_of(const Contender& one, const std::vector<Contender>& all) const {
    const auto like = [&](std::size_t processes, bool writes) -> const Contender* {
      for (const Contender& other : all) {
        if (other.processes == processes && other.shared == one.shared &&
            other.writes == writes) {
          return &other;
        }
      }
      return nullptr;
    };
    const Contender* lone = like(1, false);
    const auto cores = static_cast<double>(core_count());
    const double busy = one.writer_cpu_us * 1e-6 / one.seconds;  // cores
    const double useful = std::min(static_cast<double>(one.processes), cores);
    const double left = std::min(useful, cores - busy) / useful;
    const auto seen_ms = [&one](double share) {
      return one.seen_ms.empty() ? Value() : Value(percentile_of(one.seen_ms, share));
    };
    return {{"data", data_.name},
            {"n", data_.row_count()},
            {"dim", data_.dim},
            {"bits", bits_},
            {"k", k_},
            {"processes", one.processes},
            {"mode", one.shared ? "shared" : "private"},
            {"writer", one.writes ? "paced" : "off"},
            {"searches_per_s", one.rate()},
            {"scaling", lone == nullptr ? Value() : ratio_of(one.rate(), lone->rate())},
            {"kept", ratio_of(one.rate(), like(one.processes, false)->rate() * left)},
            {"memory_bytes", one.memory_bytes},
            {"alone_bytes", one.alone_bytes},
            {"file_bytes", file_bytes_},
            {"alone_share", static_cast<double>(one.alone_bytes) /
                                static_cast<double>(file_bytes_)},
            {"seen_ms_p50", seen_ms(0.5)},
            {"seen_ms_p99", seen_ms(0.99)},
            {"commits_per_s", static_cast<double>(one.commits) / one.seconds},
            {"writer_cpu_share", busy / cores},
            {"searches", one.searches},
            {"p50_us", percentile_of(one.wall_us, 0.5)},
            {"p99_us", percentile_of(one.wall_us, 0.99)}};
  }

  const Options& options_;
  const DataSet& data_;
  unsigned bits_;
  std::size_t k_;
  std::mt19937_64 random_;
  Folder folder_;
  std::string built_ = folder_.file("built.vic");
  std::string path_ = folder_.file("index.vic");
  std::size_t file_bytes_ = 0;
  cli::Progress progress_{"slices", std::nullopt};
  std::uint64_t done_ = 0;
};

}  // namespace

Options clients_defaults() {
  Options options;
  options.n = {100000};
  options.dim = {768};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8, 16};
  options.seconds = 2;
  return options;
}

std::vector<Row> run_clients(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    for (const std::size_t k : options.k) Measurement(options, data, bits, k).run(rows);
  });
  return rows;
}

}  // namespace vicinal::bench
