// bench free-list: a table of pages that is 50, 95 or 100 % full, whose threads drop a page and put
// another in: its frame goes to one partition's list, and another partition wants one.
//
// A thread drops before it puts in, so that a frame is free at any time that somebody wants one,
// and "none" is a false answer.
#include <algorithm>
#include <memory>
#include <vector>

#include "bench/bench.hpp"
#include "bench/contest.hpp"
#include "bench/list_variants.hpp"

namespace vicinal::bench {
namespace {

constexpr std::uint32_t kPartitions[] = {16, 32, 64, 128};
constexpr std::uint32_t kFills[] = {50, 95, 100};  // per cent
constexpr std::uint32_t kBlock = 64;
constexpr std::uint64_t kFramesMax = std::uint64_t{1} << 24;

struct Setting {
  std::size_t threads;
  std::uint32_t frames;
  std::uint32_t partitions;
  std::uint32_t fill;
};

// The frames of a thread's pages at the start. A variant that has none in a list is asked about the
// next one, which is not counted.
template <class Lists>
std::vector<std::uint32_t> first_frames(Lists& lists, const Setting& setting, std::size_t thread) {
  const std::size_t used = std::size_t{setting.frames} * setting.fill / 100;
  const std::size_t share = used / setting.threads + (thread < used % setting.threads ? 1 : 0);
  QuickRandom random(thread + 1'000);
  std::vector<std::uint32_t> mine;
  std::uint64_t steals = 0;
  for (std::uint32_t partition = random.below(setting.partitions); mine.size() < share;
       partition = (partition + 1) % setting.partitions) {
    const std::uint32_t frame = lists.take(partition, steals);
    if (frame != kNoFrame) mine.push_back(frame);
    if (frame != kNoFrame) partition = random.below(setting.partitions);
  }
  return mine;
}

template <class Lists>
Contender contender_of(const Setting& setting) {
  const auto run = [setting](std::chrono::nanoseconds slice) {
    Lists lists(setting.partitions, setting.frames);
    // One after the other: who fills a table at once with others may have to wait for them.
    std::vector<std::vector<std::uint32_t>> first(setting.threads);
    for (std::size_t i = 0; i < setting.threads; ++i) first[i] = first_frames(lists, setting, i);
    return race(setting.threads, slice, [&](std::size_t thread) {
      return [&lists, &setting, mine = std::move(first[thread]), wanted = std::size_t{0},
              random = QuickRandom(thread + 1)](Tally& tally) mutable {
        for (std::uint32_t i = 0; i < kBlock; ++i) {
          if (wanted == 0) {  // else the one that it dropped before is still out
            const std::uint32_t at = random.below(static_cast<std::uint32_t>(mine.size()));
            lists.give(random.below(setting.partitions), mine[at]);
            mine[at] = mine.back();
            mine.pop_back();
            wanted = 1;
          }
          const std::uint32_t frame = lists.take(random.below(setting.partitions), tally.steals);
          if (frame == kNoFrame) {
            ++tally.failures;
            continue;
          }
          mine.push_back(frame);
          wanted = 0;
          ++tally.calls;
        }
      };
    });
  };
  return {{{"threads", setting.threads},
           {"partitions", setting.partitions},
           {"fill", static_cast<double>(setting.fill) / 100},
           {"frames", setting.frames},
           {"variant", Lists::kName}},
          run,
          {}};
}

}  // namespace

Options free_list_defaults() {
  Options options;
  options.n = {4'096};
  options.dim = {1};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8};
  options.seconds = 0.3;
  return options;
}

std::vector<Row> run_free_list(const Options& options) {
  std::vector<Contender> all;
  std::size_t variants = 0;
  for (const std::uint64_t n : options.n) {
    const std::uint64_t least = 2 * *std::max_element(options.threads.begin(),
                                                      options.threads.end());
    if (n > kFramesMax || n < least) {
      throw cli::usage_failure("--n: two frames for each thread, at most 16,777,216");
    }
    for (const std::size_t threads : options.threads) {
      for (const std::uint32_t partitions : kPartitions) {
        for (const std::uint32_t fill : kFills) {
          const Setting setting{threads, static_cast<std::uint32_t>(n), partitions, fill};
          const std::size_t before = all.size();
          all.push_back(contender_of<OneList<std::mutex>>(setting));
          all.push_back(contender_of<OneList<SpinLock>>(setting));
          all.push_back(contender_of<ListArray<true>>(setting));
          all.push_back(contender_of<ListArray<false>>(setting));
          all.push_back(contender_of<OurLists>(setting));
          variants = all.size() - before;
        }
      }
    }
  }
  hold_contest(all, options.seconds, options.seed);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Contender& ours = all[i / variants * variants + variants - 1];
    Row row = all[i].head;
    row.push_back({"ops_per_s", all[i].calls_per_s()});
    row.push_back({"cpu_ns_per_op", all[i].cpu_ns_per_call()});
    row.push_back({"of_ours", ratio_of(all[i].calls_per_s(), ours.calls_per_s())});
    row.push_back({"steals", all[i].total(&Tally::steals)});
    row.push_back({"false_full", all[i].total(&Tally::failures)});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vicinal::bench
