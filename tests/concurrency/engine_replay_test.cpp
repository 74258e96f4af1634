// Every result of a search at sequence s equals the search of the log replayed to s.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "engine_log.hpp"
#include "support/assert_report.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

[[maybe_unused]] const bool kAssertsReported = report_asserts();
constexpr std::uint32_t kDim = 16;
constexpr std::uint32_t kQueries = 8;
constexpr std::size_t kRecordsMax = 400;

struct Record {
  std::uint64_t sequence;
  std::uint32_t query;
  std::vector<Hit> hits;
  std::uint64_t rows;
  bool has_17;
};

// Neighbours, so that a look at one row's id follows a match of the row before it.
const std::vector<std::uint64_t>& listed() {
  static const std::vector<std::uint64_t> ids = ids_from(100, 90);
  return ids;
}

SearchOptions options_of(std::uint32_t query) {
  SearchOptions options;
  options.k = 1 + query * 3;
  options.exhaustive = query % 2 == 0;
  if (query % 3 == 2) options.filter = listed();
  return options;
}

// `compiled`: to be used in place of the list, or null.
Record record(Reader& reader, std::uint32_t query, Filter* compiled = nullptr) {
  Record made{};
  SearchOptions options = options_of(query);
  if (compiled != nullptr && options.filter) {
    options.filter.reset();
    options.compiled_filter = compiled;
  }
  const auto hits = reader.search(vector_of(query, kDim), options);
  EXPECT_TRUE(hits.ok());
  made.sequence = hits->sequence();
  made.query = query;
  made.hits = copy_of(*hits);
  return made;
}

// Searches until told to stop, through the newest version and through snapshots in turn. Keeps one
// in `stride` records, so that they cover the whole run.
void read_on(const Index& index, std::uint64_t seed, const sync::Atomic<std::uint32_t>& stop,
             std::vector<Record>* records) {
  Random random(seed);
  Reader reader = index.reader();
  Filter compiled = std::move(reader.filter(listed())).value();
  std::uint64_t newest = 0;
  std::uint64_t stride = 1;
  for (std::uint64_t i = 0; stop.load(sync::acquire) == 0 || i < 10; ++i) {
    const std::uint32_t query = random.below(kQueries);
    Record made{};
    if (random.below(4) == 0) {
      Snapshot snapshot = reader.snapshot();
      made = record(snapshot, query, &compiled);
      const auto again = record(snapshot, query);
      EXPECT_EQ(made.sequence, again.sequence);
      EXPECT_TRUE(equal_hits(made.hits, again.hits));
      EXPECT_EQ(snapshot.count().sequence, made.sequence);
      made.rows = snapshot.size();
      made.has_17 = snapshot.has(17);
    } else {
      made = record(reader, query, i % 2 == 0 ? &compiled : nullptr);
      made.rows = ~std::uint64_t{0};
    }
    EXPECT_GE(made.sequence, newest);
    newest = made.sequence;
    if (i % stride == 0) records->push_back(std::move(made));
    if (records->size() < kRecordsMax) continue;
    stride *= 2;
    for (std::size_t at = 1; at < records->size() / 2; ++at) {
      (*records)[at] = std::move((*records)[at * 2]);
    }
    records->resize(records->size() / 2);
  }
}

[[nodiscard]] bool is_right(const Record& made, Reader& oracle) {
  if (made.rows != ~std::uint64_t{0} &&
      (made.rows != oracle.size() || made.has_17 != oracle.has(17))) {
    return false;
  }
  const auto hits = oracle.search(vector_of(made.query, kDim), options_of(made.query));
  return hits.ok() && equal_hits(made.hits, copy_of(*hits));
}

void describe(const Record& made, Reader& oracle) {
  const auto hits = oracle.search(vector_of(made.query, kDim), options_of(made.query));
  std::printf("sequence %d, query %d: %d hits of %d rows, not %d of %d\n",
              static_cast<int>(made.sequence), static_cast<int>(made.query),
              static_cast<int>(made.hits.size()), static_cast<int>(made.rows),
              static_cast<int>(hits->size()), static_cast<int>(oracle.size()));
  for (std::size_t i = 0; i < made.hits.size() && i < hits->size(); ++i) {
    const Hit expected = (*hits)[i];
    std::printf("%d: id %d with %.9g, not id %d with %.9g\n", static_cast<int>(i),
                static_cast<int>(made.hits[i].id), static_cast<double>(made.hits[i].score),
                static_cast<int>(expected.id), static_cast<double>(expected.score));
  }
}

// How many of the records are wrong.
std::uint64_t count_wrong(const std::vector<Record>& records, const std::vector<Operation>& log,
                          const std::vector<std::uint64_t>& sequences,
                          const IndexOptions& options) {
  // Versions between two writes show the same rows.
  std::map<std::size_t, std::vector<const Record*>> by_writes;
  for (const Record& made : records) {
    const auto end = std::upper_bound(sequences.begin(), sequences.end(), made.sequence);
    by_writes[static_cast<std::size_t>(end - sequences.begin())].push_back(&made);
  }
  Contents contents;
  std::uint64_t calibration = 0;
  std::size_t applied = 0;
  std::uint64_t wrong = 0;
  for (const auto& [writes, made] : by_writes) {
    while (applied < writes) {
      const Operation& operation = log[applied++];
      apply(contents, operation);
      if (operation.kind == WriteKind::calibrate) calibration = operation.revision;
    }
    Index index = std::move(Index::create(options)).value();
    if (applied > 0) {
      EXPECT_TRUE(calibrate(index, calibration).ok());
    }
    add_all(index, contents);
    Reader oracle = index.reader();
    for (const Record* each : made) {
      if (is_right(*each, oracle)) continue;
      if (++wrong == 1) describe(*each, oracle);
    }
  }
  return wrong;
}

// Has segments rewritten without end, and not only where dead rows are many.
void compact_on(Index& index, const sync::Atomic<std::uint32_t>& stop) {
  std::uint64_t last = 0;
  while (stop.load(sync::acquire) == 0) {
    const auto receipt = index.compact();
    ASSERT_TRUE(receipt.ok());
    EXPECT_GE(receipt->sequence, last);
    last = receipt->sequence;
    std::this_thread::yield();
  }
}

void replay(std::uint64_t seed, Metric metric, std::uint8_t bits, bool compacts) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const IndexOptions options = small_options(kDim, metric, bits);
  Index index = std::move(Index::create(options)).value();
  const auto log = make_log(seed, scaled(250));
  std::vector<std::uint64_t> sequences;
  std::vector<Record> records[3];
  std::vector<std::thread> readers;
  sync::Atomic<std::uint32_t> stop;
  for (std::uint64_t i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] { read_on(index, seed * 10 + i, stop, &records[i]); });
  }
  if (compacts) readers.emplace_back([&] { compact_on(index, stop); });
  Snapshot held = index.reader().snapshot();
  Record held_record{};
  for (const Operation& operation : log) {
    const auto receipt = apply(index, operation);
    EXPECT_TRUE(receipt.ok());
    sequences.push_back(receipt->sequence);
    if (sequences.size() == log.size() / 2) {
      held = index.reader().snapshot();
      held_record = record(held, 3);
    }
    if (compacts && sequences.size() % 16 == 0) {
      EXPECT_TRUE(index.compact().ok());
    }
  }
  EXPECT_TRUE(equal_hits(record(held, 3).hits, held_record.hits));
  held = index.reader();
  stop.store(1, sync::release);
  for (std::thread& reader : readers) reader.join();
  std::vector<Record> all;
  for (auto& some : records) all.insert(all.end(), some.begin(), some.end());
  ASSERT_GT(all.size(), 20u);
  EXPECT_EQ(count_wrong(all, log, sequences, options), 0u);

  // The comparison notices a score, an id and a sequence that were tampered with.
  for (Record& made : all) {
    if (made.hits.size() > 1) made.hits[0].score += 1;
  }
  const auto tampered = static_cast<std::uint64_t>(std::count_if(
      all.begin(), all.end(), [](const Record& made) { return made.hits.size() > 1; }));
  EXPECT_EQ(count_wrong(all, log, sequences, options), tampered);
  index.pump(0);
  EXPECT_EQ(index.try_stats()->retired_bytes, 0u);
}

TEST(EngineReplay, EveryResultIsThatOfTheLogReplayedToItsSequence) {
  replay(1, Metric::cosine, 4, false);
  replay(2, Metric::l2, 2, false);
  replay(3, Metric::ip, 8, false);
}

TEST(EngineReplay, EveryResultIsThatOfTheLogWhileSegmentsAreRewrittenUnderTheReaders) {
  replay(4, Metric::cosine, 4, true);
}

}  // namespace
}  // namespace vicinal::test
