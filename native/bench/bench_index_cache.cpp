// bench index-cache: many indexes by name, as a service or a database's backends have them open:
// the look-up alone, the look-up with a search, and what it takes to know that an index is what
// its file says.
//
// Every thread asks for the indexes in an order of its own. The variants are those of
// cache_variants.hpp behind one loop, and take turns. `row-count` knows a table as unchanged by the
// number of its rows and counts them by a look at each one's word, as the extension of a database
// did at each use; a removed row and an added one look the same to it.
#include <algorithm>
#include <barrier>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "bench/bench.hpp"
#include "bench/cache_variants.hpp"
#include "bench/folder.hpp"
#include "bench/measure.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"

namespace vicinal::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kIndexes = 8;
constexpr std::size_t kSlices = 4;
constexpr std::size_t kOrder = 1024;
constexpr std::uint64_t kCheckRows[] = {10'000, 1'000'000};
constexpr std::uint32_t kCheckDim = 16;

// What a slice of time came to.
struct Figures {
  std::vector<double> per_s;   // a slice each
  std::vector<double> cpu_ns;  // a call
};

struct Contender {
  std::size_t threads;
  const char* variant;
  std::uint64_t shared_rmw;
  Figures lookups;
  Figures searches;
};

struct Setting {
  const DataSet& data;
  std::span<const std::string> paths;
  SearchOptions search;
  std::chrono::nanoseconds slice;
};

// What a thread has done in a slice.
struct Work {
  std::uint64_t calls = 0;
  double seconds = 0;
  double cpu_us = 0;

  [[nodiscard]] double cpu_ns() const { return cpu_us * 1000 / static_cast<double>(calls); }
};

// Calls call(i) until the slice is over, in blocks so that the clock costs nothing.
template <class Call>
Work repeat(std::chrono::nanoseconds slice, std::uint64_t block, Call call) {
  Work work;
  const Duration took = timed([&] {
    const Clock::time_point end = Clock::now() + slice;
    do {
      for (std::uint64_t i = 0; i < block; ++i) call(work.calls + i);
      work.calls += block;
    } while (Clock::now() < end);
  });
  work.seconds = took.wall_us / 1e6;
  work.cpu_us = took.cpu_us;
  return work;
}

// What one thread does; `together` is passed when all are ready for the next thing.
template <class Part, class Barrier>
void ask(Part part, const Setting& setting, std::size_t thread, Barrier& together,
         std::array<Work, 2>& work) {
  std::mt19937_64 random(thread + 1);
  std::vector<std::uint32_t> order(kOrder);
  for (std::uint32_t& one : order) one = static_cast<std::uint32_t>(random() % kIndexes);
  const auto get = [&](std::uint64_t i) -> Reader& {
    return part.get(setting.paths[order[i % kOrder]]);
  };
  std::size_t found = 0;
  for (std::uint64_t i = 0; i < kOrder; ++i) {  // each index's first use is over
    found += cli::require(kSubject, get(i).search(setting.data.query_range(0, 1))).size();
  }
  together.arrive_and_wait();
  work[0] = repeat(setting.slice, 256, [&](std::uint64_t i) { found += get(i).status().ok(); });
  together.arrive_and_wait();
  work[1] = repeat(setting.slice, 1, [&](std::uint64_t i) {
    const auto query = setting.data.query_range(i % setting.data.query_count(), 1);
    found += cli::require(kSubject, get(i).search(query, setting.search)).size();
  });
  if (found == 0) throw cli::Failure(Code::corrupt, "nothing was found");
}

template <class Cache>
void run_slice(Contender& one, const Setting& setting) {
  Cache cache(setting.paths, one.threads);
  std::barrier together(static_cast<std::ptrdiff_t>(one.threads));
  std::vector<std::array<Work, 2>> work(one.threads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < one.threads; ++i) {
    threads.emplace_back([&, i] { ask(cache.at(i), setting, i, together, work[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t what : {std::size_t{0}, std::size_t{1}}) {
    double per_s = 0, calls = 0, cpu_us = 0;
    for (const std::array<Work, 2>& each : work) {
      per_s += static_cast<double>(each[what].calls) / each[what].seconds;
      calls += static_cast<double>(each[what].calls);
      cpu_us += each[what].cpu_us;
    }
    Figures& figures = what == 0 ? one.lookups : one.searches;
    figures.per_s.push_back(per_s);
    figures.cpu_ns.push_back(cpu_us * 1000 / calls);
  }
}

struct Variant {
  const char* name;
  std::uint64_t shared_rmw;
  void (*run)(Contender&, const Setting&);
};
template <class Cache>
constexpr Variant variant_of() {
  return {Cache::kName, Cache::kSharedRmw, run_slice<Cache>};
}
constexpr Variant kVariants[] = {variant_of<MutexCache>(), variant_of<ShardedCache>(),
                                 variant_of<RwlockCache>(), variant_of<OurCache>(),
                                 variant_of<NolockCache>()};

double median(const std::vector<double>& values) { return percentile_of(values, 0.5); }

Row row_of(const Contender& one, std::span<const Contender> all, const DataSet& data,
           unsigned bits, std::size_t k) {
  const auto without = std::find_if(all.begin(), all.end(), [&](const Contender& other) {
    return other.threads == one.threads && other.variant == std::string_view("nolock");
  });
  return {{"data", data.name},
          {"rows", data.row_count()},
          {"dim", data.dim},
          {"bits", bits},
          {"k", k},
          {"indexes", kIndexes},
          {"threads", one.threads},
          {"variant", one.variant},
          {"searches_per_s", median(one.searches.per_s)},
          {"search_cpu_us", median(one.searches.cpu_ns) / 1000},
          {"lookups_per_s", median(one.lookups.per_s)},
          {"lookup_ns", median(one.lookups.cpu_ns)},
          {"of_nolock", ratio_of(median(one.searches.per_s), median(without->searches.per_s))},
          {"shared_rmw", one.shared_rmw},
          {"check_ns", Value()}};
}

void measure(const Options& options, const DataSet& data, unsigned bits, std::vector<Row>& rows) {
  const Folder folder;
  std::vector<std::string> paths;
  const Index index = build_index(data, bits);
  for (std::size_t i = 0; i < kIndexes; ++i) {
    paths.push_back(folder.file(("index_" + std::to_string(i) + ".vic").c_str()));
    cli::require(paths.back(), index.save(paths.back()));
  }
  const Setting setting{data, paths, search_options(options, options.k.front()),
                        std::chrono::nanoseconds(static_cast<std::int64_t>(
                            options.seconds * 1e9 / static_cast<double>(2 * kSlices)))};
  std::vector<Contender> all;
  for (const std::size_t threads : options.threads) {
    for (const Variant& variant : kVariants) {
      all.push_back({threads, variant.name, variant.shared_rmw, {}, {}});
    }
  }
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(options.seed);
  cli::Progress progress("slices", all.size() * kSlices);
  std::uint64_t done = 0;
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      cli::check_interrupted();
      kVariants[i % std::size(kVariants)].run(all[i], setting);
      progress.show(++done);
    }
  }
  for (const Contender& one : all) {
    rows.push_back(row_of(one, all, data, bits, options.k.front()));
  }
}

Row check_row(std::uint64_t n, const char* variant, double check_ns) {
  return {{"data", "mixture"}, {"rows", n}, {"dim", kCheckDim}, {"bits", 4u}, {"k", Value()},
          {"indexes", 1u}, {"threads", 1u}, {"variant", variant}, {"searches_per_s", Value()},
          {"search_cpu_us", Value()}, {"lookups_per_s", Value()}, {"lookup_ns", Value()},
          {"of_nolock", Value()}, {"shared_rmw", 0u}, {"check_ns", check_ns}};
}

// A file that a writer may write to at any time: is what is open still what it says?
void measure_checks(const Options& options, std::vector<Row>& rows) {
  for (const std::uint64_t n : kCheckRows) {
    cli::check_interrupted();
    Options mixture = options;
    mixture.data.clear();
    const DataSet data = make_data(mixture, n, kCheckDim);
    const Folder folder;
    const std::string path = folder.file("checked.vic");
    cli::require(path, build_index(data, 4).save(path));
    IndexCache cache(std::uint64_t{1} << 40);
    OurCache::Part ours(cache.session());
    const std::vector<std::uint64_t> words(n, 0);  // of the table's rows: 0, not removed
    const auto slice = std::chrono::nanoseconds(
        static_cast<std::int64_t>(options.seconds * 1e9 / kSlices));
    std::vector<double> check_ns, count_ns;
    for (std::size_t i = 0; i < kSlices; ++i) {
      std::uint64_t seen = 0;
      check_ns.push_back(repeat(slice, 256, [&](std::uint64_t) {
        seen += ours.get(path).sequence();
      }).cpu_ns());
      count_ns.push_back(repeat(slice, 1, [&](std::uint64_t turn) {
        const std::uint64_t removed = turn == ~std::uint64_t{0} ? 1 : 0;
        seen += static_cast<std::uint64_t>(std::count(words.begin(), words.end(), removed));
      }).cpu_ns());
      if (seen == 0) throw cli::Failure(Code::corrupt, "nothing was counted");
    }
    rows.push_back(check_row(n, "ours", median(check_ns)));
    rows.push_back(check_row(n, "row-count", median(count_ns)));
  }
}

}  // namespace

Options index_cache_defaults() {
  Options options;
  options.n = {10'000};
  options.dim = {384};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8, 14};
  options.seconds = 2;
  return options;
}

std::vector<Row> run_index_cache(const Options& options) {
  std::vector<Row> rows;
  for_each_data(options, [&](const DataSet& data, unsigned bits) {
    measure(options, data, bits, rows);
  });
  measure_checks(options, rows);
  return rows;
}

}  // namespace vicinal::bench
