// bench buffer-header: a page that is held and locked while its ten rows are read, twice in a row,
// a thousand times a transaction, by several clients: of one page, or of any of a thousand.
//
// All find the page in the same table first. `ours` is what the page cache does for a read: the
// page is protected by the session's reading, and nothing is held or locked. `hold` is what it does
// for long uses, without a lock of the content; `half-add` is the header that it has for these.
#include <memory>
#include <vector>

#include "bench/bench.hpp"
#include "bench/contest.hpp"
#include "bench/header_variants.hpp"
#include "bench/page_variants.hpp"

namespace vicinal::bench {
namespace {

constexpr std::uint32_t kReadsOfATransaction = 1'000;
constexpr std::uint32_t kTwice = 2;
constexpr std::uint32_t kPagesMax = 65'536;  // 1 GiB

Row head_of(std::size_t clients, std::uint32_t pages, const char* name, std::uint64_t shared_rmw) {
  return {{"clients", clients}, {"pages", std::uint64_t{pages}}, {"variant", name},
          {"shared_rmw", shared_rmw}};
}

// `read(part, page, tally)` once for each of a transaction, twice.
template <class MakePart, class Read>
Contender contender_of(Row head, std::size_t clients, std::uint32_t pages, MakePart make_part,
                       Read read) {
  const auto run = [=](std::chrono::nanoseconds slice) {
    return race(clients, slice, [&](std::size_t client) {
      return [part = make_part(), random = QuickRandom(client + 1), read,
              pages](Tally& tally) mutable {
        for (std::uint32_t i = 0; i < kReadsOfATransaction; ++i) {
          const std::uint32_t page = random.below(pages);
          for (std::uint32_t turn = 0; turn < kTwice; ++turn) read(part, page, tally);
        }
        tally.calls += kReadsOfATransaction * kTwice;
      };
    });
  };
  return {std::move(head), run, {}};
}

// A table, and memory for its pages as words of a kind, each 1.
template <class Word>
struct Pages {
  explicit Pages(std::uint32_t pages)
      : table(pages, 0), words(new Word[std::size_t{pages} * (cache::kPageBytes / 8)]) {
    for (std::size_t i = 0; i < std::size_t{pages} * (cache::kPageBytes / 8); ++i) set(words[i]);
  }
  static void set(std::uint64_t& word) { word = 1; }
  static void set(sync::Atomic<std::uint64_t>& word) { word.store(1, sync::relaxed); }

  TablePages table;
  std::unique_ptr<Word[]> words;
};

template <class Header>
Contender header_contender(std::size_t clients, std::uint32_t pages,
                           const std::shared_ptr<Pages<typename Header::Word>>& memory) {
  const auto headers = std::make_shared<std::vector<Header>>(pages);
  return contender_of(
      head_of(clients, pages, Header::kName, Header::kSharedRmw), clients, pages,
      [] { return 0; },
      [headers = headers.get(), all = memory.get(), headers_owner = headers,
       memory](int, std::uint32_t page, Tally& tally) {
        const cache::Frame* frame = all->table.find(page);
        if (frame == nullptr) {
          ++tally.failures;
          return;
        }
        const std::uint32_t number = all->table.number_of(*frame);
        const auto* words = &all->words[std::size_t{number} * (cache::kPageBytes / 8)];
        tally.sum += (*headers)[number].read(words, tally.retries);
      });
}

Contender our_contender(std::size_t clients, std::uint32_t pages,
                        const std::shared_ptr<OurPages>& all) {
  return contender_of(
      head_of(clients, pages, OurPages::kName, OurPages::kSharedRmw), clients, pages,
      [all] { return all->at(0); },
      [](OurPages::Part& part, std::uint32_t page, Tally& tally) {
        const std::byte* bytes = part.find(page);
        if (bytes == nullptr) {
          ++tally.failures;
        } else {
          tally.sum += sum_of_rows(reinterpret_cast<const std::uint64_t*>(bytes));
        }
      });
}

// A pin and its end, and the look for threads that wait for a frame.
constexpr std::uint64_t kHoldSharedRmw = 3;

Contender hold_contender(std::size_t clients, std::uint32_t pages,
                         const std::shared_ptr<OurPages>& all) {
  return contender_of(
      head_of(clients, pages, "hold", kHoldSharedRmw), clients, pages,
      [all] { return all->at(0); },
      [](OurPages::Part& part, std::uint32_t page, Tally& tally) {
        const auto hold = part.hold(page);
        if (!hold.ok()) {
          ++tally.failures;
        } else {
          tally.sum += sum_of_rows(reinterpret_cast<const std::uint64_t*>(hold->bytes().data()));
        }
      });
}

}  // namespace

Options buffer_header_defaults() {
  Options options;
  options.n = {1, 1'000};
  options.dim = {1};
  options.bits = {4};
  options.k = {10};
  options.threads = {1, 2, 4, 8};
  options.seconds = 1;
  return options;
}

std::vector<Row> run_buffer_header(const Options& options) {
  std::vector<Contender> all;
  std::size_t variants = 0;
  for (const std::uint64_t n : options.n) {
    if (n > kPagesMax) throw cli::usage_failure("--n: at most 65,536 pages");
    const auto pages = static_cast<std::uint32_t>(n);
    const auto memory = std::make_shared<Pages<std::uint64_t>>(pages);
    const auto atomics = std::make_shared<Pages<sync::Atomic<std::uint64_t>>>(pages);
    const auto ours = std::make_shared<OurPages>(pages);
    for (const std::size_t clients : options.threads) {
      const std::size_t before = all.size();
      all.push_back(header_contender<WholeHeader<true>>(clients, pages, memory));
      all.push_back(header_contender<WholeHeader<false>>(clients, pages, memory));
      all.push_back(header_contender<HalfCasHeader>(clients, pages, memory));
      all.push_back(header_contender<HalfAddHeader>(clients, pages, memory));
      all.push_back(header_contender<JointAddHeader>(clients, pages, memory));
      all.push_back(header_contender<VersionHeader>(clients, pages, atomics));
      all.push_back(hold_contender(clients, pages, ours));
      all.push_back(our_contender(clients, pages, ours));
      variants = all.size() - before;
    }
  }
  hold_contest(all, options.seconds, options.seed);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Contender& ours = all[i / variants * variants + variants - 1];
    if (all[i].total(&Tally::failures) != 0) {
      throw cli::Failure(Code::corrupt, "a page that is in memory was not found");
    }
    Row row = all[i].head;
    row.push_back({"ops_per_s", all[i].calls_per_s()});
    row.push_back({"cpu_ns_per_op", all[i].cpu_ns_per_call()});
    row.push_back({"of_ours", ratio_of(all[i].calls_per_s(), ours.calls_per_s())});
    row.push_back({"retries_per_op", static_cast<double>(all[i].total(&Tally::retries)) /
                                         static_cast<double>(all[i].total(&Tally::calls))});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vicinal::bench
