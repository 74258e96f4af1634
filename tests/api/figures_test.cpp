// What searches cost and what an index holds: no allocation, no shared stores, bytes a row.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdio>
#include <thread>

#include "support/index_world.hpp"
#include "support/memory_hook.hpp"
#include "sync/atomic.hpp"
#include "sync/atomic_counts.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 24;

// A warm search of every kind, `rounds` times.
void search_all_kinds(Reader& reader, std::span<const float> query,
                      std::span<const std::uint64_t> filter, int rounds) {
  std::vector<float> vector(kDim);
  SearchOptions exhaustive;
  exhaustive.exhaustive = true;
  SearchOptions filtered;
  filtered.filter = filter;
  SearchOptions after;
  after.after = Hit{5, 0.1f};
  const std::uint64_t before = allocations_of_this_thread();
  const sync::AtomicCounts counts = sync::atomic_counts();
  for (int i = 0; i < rounds; ++i) {
    for (const SearchOptions* options : {&exhaustive, &filtered, &after}) {
      ASSERT_TRUE(reader.search(query, *options).ok());
    }
    ASSERT_TRUE(reader.search(query).ok());
    ASSERT_TRUE(reader.has(1));
    ASSERT_TRUE(reader.get_into(1, vector).ok());
    ASSERT_GT(reader.size(), 0u);
  }
  if (rounds < 2) return;  // the first time warms up
  EXPECT_EQ(allocations_of_this_thread() - before, 0u);
  EXPECT_EQ(sync::atomic_counts().read_modify_writes - counts.read_modify_writes, 0u);
  EXPECT_EQ(sync::atomic_counts().foreign_stores - counts.foreign_stores, 0u);
}

TEST(Figures, AWarmSearchAllocatesNothingAndStoresToNoSharedLineWhileAnotherThreadWrites) {
  Index index = std::move(Index::create(small_options(kDim))).value();
  const auto ids = ids_from(0, 1500);
  ASSERT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
  const auto filter = ids_from(0, 200);
  const auto query = vector_of(9, kDim);
  Reader reader = index.reader();
  Snapshot snapshot = reader.snapshot();
  for (Reader* each : {&reader, &snapshot}) {
    search_all_kinds(*each, query, filter, 1);
    search_all_kinds(*each, query, filter, 50);
  }
  sync::Atomic<std::uint32_t> stop;
  std::thread writer([&] {
    const auto few = ids_from(0, 20);
    for (std::uint64_t i = 0; stop.load(sync::acquire) == 0; ++i) {
      EXPECT_TRUE(index.upsert(few, rows_of(few, kDim, i)).ok());
    }
  });
  // Segments come and go beside the filter's masks: they may grow once more.
  search_all_kinds(reader, query, filter, 1);
  search_all_kinds(snapshot, query, filter, 50);
  const sync::AtomicCounts before = sync::atomic_counts();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(reader.search(query).ok());
  EXPECT_EQ(sync::atomic_counts().read_modify_writes, before.read_modify_writes);
  EXPECT_EQ(sync::atomic_counts().foreign_stores, before.foreign_stores);
  stop.store(1, sync::release);
  writer.join();
}

TEST(Figures, HelpCostsASearchThatNobodyHelpsNothingAndAnotherOneItsPostingAndClaims) {
  // Sixteen queries at once read 4 MiB of signs, enough to ask for help.
  constexpr std::uint32_t kWide = 256;
  constexpr std::uint64_t kRows = 8192;
  Index index = std::move(Index::create(small_options(kWide))).value();
  const auto ids = ids_from(0, kRows);
  ASSERT_TRUE(index.add(ids, rows_of(ids, kWide)).ok());
  Reader reader = index.reader();
  const auto batch = rows_of(ids_from(0, 16), kWide, 1);
  const auto no_hits = [](std::size_t, const Hits&) noexcept {};
  const auto search = [&] { ASSERT_TRUE(reader.search_each(batch, {}, no_hits).ok()); };
  search();
  sync::AtomicCounts counts = sync::atomic_counts();
  std::uint64_t allocations = allocations_of_this_thread();
  search();
  EXPECT_EQ(allocations_of_this_thread(), allocations);
  EXPECT_EQ(sync::atomic_counts().read_modify_writes, counts.read_modify_writes);
  EXPECT_EQ(sync::atomic_counts().foreign_stores, counts.foreign_stores);

  ASSERT_TRUE(index.set_helpers(1).ok());
  // The first search with help makes the job's memory.
  for (int i = 0; i < 100'000 && index.stats().searches_shared < 2; ++i) search();
  ASSERT_GE(index.stats().searches_shared, 2u);
  counts = sync::atomic_counts();
  allocations = allocations_of_this_thread();
  search();
  EXPECT_EQ(allocations_of_this_thread(), allocations);
  // Taking the job, ringing, counting, closing; a claim for each chunk of 64 blocks, and one more.
  constexpr std::uint64_t kPosting = 4;
  constexpr std::uint64_t kChunks = kRows / 32 / 64;
  EXPECT_LE(sync::atomic_counts().read_modify_writes - counts.read_modify_writes,
            kPosting + kChunks + 2);
}

TEST(Figures, TheCountersNoticeAnAllocationAndASharedStore) {
  const std::uint64_t before = allocations_of_this_thread();
  const auto vector = vector_of(1, kDim);
  EXPECT_EQ(allocations_of_this_thread(), before + 1);
  const sync::AtomicCounts counts = sync::atomic_counts();
  Index index = std::move(Index::create(small_options(kDim))).value();
  ASSERT_TRUE(index.add(ids_from(0, 1), vector).ok());
#ifdef VICINAL_ATOMICS_COUNTED
  EXPECT_GT(sync::atomic_counts().read_modify_writes, counts.read_modify_writes);
#else
  EXPECT_EQ(sync::atomic_counts().read_modify_writes, counts.read_modify_writes);
#endif
}

Stats stats_of(std::uint32_t dim, std::uint64_t rows, std::uint64_t batch) {
  Index index = std::move(Index::create(small_options(dim))).value();
  for (std::uint64_t at = 0; at < rows; at += batch) {
    const auto ids = ids_from(at, std::min(batch, rows - at));
    EXPECT_TRUE(index.add(ids, rows_of(ids, dim)).ok());
  }
  index.pump(0);
  return *index.try_stats();
}

TEST(Figures, ARowTakesItsBitsAnd36BytesAtMost) {
  struct Case {
    std::uint32_t dim;
    std::uint64_t rows, batch;
  };
  for (const auto& [dim, rows, batch] :
       {Case{100, 20'000, 20'000}, Case{100, 20'000, 1000}, Case{128, 100'000, 100'000}}) {
    const Stats stats = stats_of(dim, rows, batch);
    EXPECT_EQ(stats.rows, rows);
    EXPECT_EQ(stats.total_bytes, stats.segment_bytes + stats.id_table_bytes + stats.version_bytes +
                                     stats.retired_bytes + stats.shared_bytes);
    EXPECT_EQ(stats.retired_bytes, 0u);
    const double bytes = static_cast<double>(stats.total_bytes) / static_cast<double>(rows);
    std::printf("%u-d: %.1f bytes a row beside the bits\n", dim, bytes - dim * 0.5);
    EXPECT_LE(bytes, dim * 0.5 + 36);
  }
}

// Of the whole process, in pages, from the operating system's own count.
double resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long total = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

void give_free_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Whether an index of 60,000 rows takes what it reports. In a process of its own: freed memory that
// other tests left behind would be used again unseen.
bool reports_what_it_takes() {
  give_free_memory_back();
  const double before = resident_bytes();
  Index index = std::move(Index::create(small_options(128))).value();
  for (std::uint64_t at = 0; at < 60'000; at += 500) {
    const auto ids = ids_from(at, 500);
    if (!index.add(ids, rows_of(ids, 128)).ok()) return false;
  }
  index.pump(0);
  give_free_memory_back();
  const double grown = resident_bytes() - before;
  const auto reported = static_cast<double>(index.try_stats()->total_bytes);
  std::printf("reported %.2f MB, grown by %.2f MB\n", reported / 1e6, grown / 1e6);
  std::fflush(stdout);
  // This program's segments are zeroed at once, to the end of the last one, which may be half full.
  return before == 0 || (grown > reported * 0.8 && grown < reported * 1.8 + 2e6);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Figures, TheBytesReportedAreTheBytesThatTheProcessGrowsBy) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(reports_what_it_takes() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#else
[[maybe_unused]] const auto kNotUnderSanitizers = &reports_what_it_takes;
#endif

}  // namespace
}  // namespace vicinal::test
