// bench open: what it takes to have a first answer from an index file.
//
// The file is one that `save` wrote. `mapped` is how a file is opened; `read` reads and checks all
// of it first. `warm`: its pages are in the system's cache; `cold`: they were dropped from it just
// before, so that the disk is in the figures. The first search comes through a reader of its own
// and compares with their checksums all blocks that it looks at.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "bench/bench.hpp"
#include "bench/folder.hpp"
#include "bench/index.hpp"
#include "bench/measure.hpp"
#include "cli/failure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

struct Contender {
  bool warm;
  bool mapped;
  Latencies open;
  Latencies search;
  std::vector<double> total_ms;
};

// Clean pages alone: the file is on the disk by then.
void drop_pages(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw cli::io_failure(path, errno);
  const int synced = ::fsync(file);
  const int failed = synced != 0 ? errno : ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
  if (failed != 0) throw cli::io_failure(path, failed);
}

void measure_one(Contender& one, const std::string& path, std::span<const float> query,
                 const SearchOptions& search) {
  if (!one.warm) drop_pages(path);
  OpenOptions options;
  options.read_only = true;
  options.mapped = one.mapped;
  std::optional<Index> index;
  const Duration opened = timed([&] {
    index.emplace(cli::require(kSubject, Index::open(path, options)));
  });
  std::size_t found = 0;
  const Duration searched = timed([&] {
    Reader reader = open_reader(*index);
    found = cli::require(kSubject, reader.search(query, search)).size();
  });
  if (found != search.k) throw cli::Failure(Code::corrupt, "the first search found too little");
  one.open.add(opened);
  one.search.add(searched);
  one.total_ms.push_back((opened.wall_us + searched.wall_us) / 1000);
}

void measure(const Options& options, const DataSet& data, unsigned bits, std::vector<Row>& rows) {
  const Folder folder;
  const std::string path = folder.file("open.vic");
  cli::require(path, build_index(data, bits).save(path));
  const SearchOptions search = search_options(options, options.k.front());
  std::vector<Contender> all;
  for (const bool warm : {true, false}) {
    for (const bool mapped : {true, false}) all.push_back({warm, mapped, {}, {}, {}});
  }
  const Budget budget(options.seconds * static_cast<double>(all.size()));
  cli::Progress progress("rounds", std::nullopt);
  for (std::size_t round = 0; round < 3 || !budget.spent(); ++round) {
    cli::check_interrupted();
    for (Contender& one : all) {
      measure_one(one, path, data.query_range(round % data.query_count(), 1), search);
    }
    progress.show(round);
  }
  for (const Contender& one : all) {
    rows.push_back({{"data", data.name},
                    {"n", data.row_count()},
                    {"dim", data.dim},
                    {"bits", bits},
                    {"k", search.k},
                    {"cache", one.warm ? "warm" : "cold"},
                    {"mode", one.mapped ? "mapped" : "read"},
                    {"ms_open", one.open.p50_us() / 1000},
                    {"ms_first_search", one.search.p50_us() / 1000},
                    {"ms_both", percentile_of(one.total_ms, 0.5)},
                    {"ms_both_p99", percentile_of(one.total_ms, 0.99)},
                    {"cpu_ms_open", one.open.cpu_p50_us() / 1000},
                    {"cpu_ms_first_search", one.search.cpu_p50_us() / 1000},
                    {"opens", one.open.count()},
                    {"bytes", std::uint64_t{std::filesystem::file_size(path)}}});
  }
}

}  // namespace

Options open_defaults() {
  Options options;
  options.n = {100000};
  options.dim = {1536};
  options.bits = {4};
  options.k = {10};
  options.seconds = 3;
  return options;
}

std::vector<Row> run_open(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    measure(options, data, bits, rows);
  });
  return rows;
}

}  // namespace vicinal::bench
