// bench page-cache: pages that are all in memory, looked at by several threads, one word of each:
// what it costs to know that a page stays while one looks.
#include "bench/bench.hpp"
#include "bench/contest.hpp"
#include "bench/page_variants.hpp"

namespace vicinal::bench {
namespace {

// 4 MiB: what lies in memory is not what is measured.
constexpr std::uint32_t kPages = 256;

// A pass of `lookups` looks, each thread's in an order of its own.
template <class Variant>
Contender contender_of(std::shared_ptr<Variant> variant, std::size_t threads,
                       std::uint64_t lookups) {
  const auto run = [variant, threads, lookups](std::chrono::nanoseconds slice) {
    return race(threads, slice, [&](std::size_t thread) {
      return [part = variant->at(thread), random = QuickRandom(thread + 1),
              lookups](Tally& tally) mutable {
        std::uint64_t found = 0, sum = 0;
        for (std::uint64_t i = 0; i < lookups; ++i) {
          const std::uint32_t page = random.below(kPages);
          const std::byte* bytes = part.find(page);
          if (bytes == nullptr) continue;
          ++found;
          // Pages begin in few sets of a processor's cache: a line of its own in each.
          sum += static_cast<std::uint64_t>(bytes[page * 64 % cache::kPageBytes]);
        }
        tally.calls += lookups;
        tally.failures += lookups - found;
        tally.sum += sum;
      };
    });
  };
  return {{{"threads", threads}, {"lookups", lookups}, {"variant", Variant::kName},
           {"shared_rmw", Variant::kSharedRmw}},
          run,
          {}};
}

Row row_of(const Contender& one, const Contender& ours) {
  const std::uint64_t calls = one.total(&Tally::calls);
  const std::uint64_t failures = one.total(&Tally::failures);
  if (failures != 0) throw cli::Failure(Code::corrupt, "a page that is in memory was not found");
  Row row = one.head;
  row.push_back({"pages", std::uint64_t{kPages}});
  row.push_back({"ns_per_lookup", one.cpu_ns_per_call()});
  row.push_back({"lookups_per_s", one.calls_per_s()});
  row.push_back({"of_ours", ratio_of(one.cpu_ns_per_call(), ours.cpu_ns_per_call())});
  row.push_back({"hit_rate", static_cast<double>(calls - failures) / static_cast<double>(calls)});
  return row;
}

}  // namespace

Options page_cache_defaults() {
  Options options;
  options.n = {10'000, 100'000};
  options.dim = {1};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8, 14};
  options.seconds = 1;
  return options;
}

std::vector<Row> run_page_cache(const Options& options) {
  const auto lock = std::make_shared<LockBeforeLookup>(kPages);
  const auto clone = std::make_shared<RefcountPages<true>>(kPages);
  const auto count = std::make_shared<RefcountPages<false>>(kPages);
  const auto pin = std::make_shared<PinnedPages>(kPages);
  const auto ours = std::make_shared<OurPages>(kPages);
  constexpr std::size_t kVariants = 5;
  std::vector<Contender> all;
  for (const std::size_t threads : options.threads) {
    for (const std::uint64_t lookups : options.n) {
      all.push_back(contender_of(lock, threads, lookups));
      all.push_back(contender_of(clone, threads, lookups));
      all.push_back(contender_of(count, threads, lookups));
      all.push_back(contender_of(pin, threads, lookups));
      all.push_back(contender_of(ours, threads, lookups));
    }
  }
  hold_contest(all, options.seconds, options.seed);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    rows.push_back(row_of(all[i], all[i / kVariants * kVariants + kVariants - 1]));
  }
  return rows;
}

}  // namespace vicinal::bench
