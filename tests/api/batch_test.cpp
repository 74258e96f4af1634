// Batches through visits: what single searches find, in order, with no memory of their own.
#include <gtest/gtest.h>

#include <limits>

#include "support/index_world.hpp"
#include "support/memory_hook.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 24;
constexpr std::size_t kQueries = 37;  // more than two waves, and a rest

struct Batches {
  Index index = std::move(Index::create(small_options(kDim, Metric::ip, 3))).value();
  Reader reader = index.reader();
  std::vector<float> queries;

  Batches() {
    const auto ids = ids_from(0, 700);
    EXPECT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
    for (std::uint64_t q = 0; q < kQueries; ++q) {
      const auto query = q == 5 ? std::vector<float>(kDim) : vector_of(q, kDim);
      queries.insert(queries.end(), query.begin(), query.end());
    }
  }
  [[nodiscard]] std::span<const float> query(std::size_t q) const {
    return std::span(queries).subspan(q * kDim, kDim);
  }
  // Visits the batch: its results, each as of a search of its own on another reader.
  void expect_single_searches(const SearchOptions& options) {
    Reader alone = index.reader();
    std::size_t next = 0;
    const auto visit = [&](std::size_t q, const Hits& hits) {
      EXPECT_EQ(q, next++);
      const auto one = alone.search(query(q), options);
      ASSERT_TRUE(one.ok());
      EXPECT_TRUE(equal_hits(copy_of(hits), copy_of(*one))) << "query " << q;
      EXPECT_EQ(hits.rows_estimated, one->rows_estimated);
      EXPECT_EQ(hits.sequence(), one->sequence());
    };
    ASSERT_TRUE(reader.search_each(queries, options, visit).ok());
    EXPECT_EQ(next, kQueries);
  }
};

std::vector<SearchOptions> all_options(std::span<const std::uint64_t> ids) {
  std::vector<SearchOptions> all(7);
  all[1].k = 0;
  all[2].k = std::numeric_limits<std::size_t>::max();
  all[3].filter = ids;
  all[4].min_score = 0.5f;
  all[5].after = Hit{300, 1.0f};
  all[6].exhaustive = true;
  return all;
}

TEST(Batch, VisitsEachQueryInOrderWithWhatASingleSearchFinds) {
  Batches batches;
  const auto ids = ids_from(100, 90);
  for (const SearchOptions& options : all_options(ids)) batches.expect_single_searches(options);
}

TEST(Batch, TellsWhatEachQueryRead) {
  Batches batches;
  const auto batch = batches.reader.search_batch(batches.queries);
  ASSERT_EQ(batch->size(), kQueries);
  std::size_t next = 0;
  const auto visit = [&](std::size_t q, const Hits& hits) {
    ++next;
    EXPECT_EQ((*batch)[q].rows_estimated, hits.rows_estimated);
    EXPECT_EQ((*batch)[q].rows_scored, hits.rows_scored);
    EXPECT_GE((*batch)[q].rows_scored, (*batch)[q].size());
  };
  ASSERT_TRUE(batches.reader.search_each(batches.queries, {}, visit).ok());
  EXPECT_EQ(next, kQueries);
  EXPECT_EQ((*batch)[0].rows_estimated, 700u);
  EXPECT_EQ((*batch)[5].rows_estimated, 0u);  // the zero query has no estimates
  EXPECT_EQ((*batch)[5].rows_scored, 700u);
}

TEST(Batch, OfVisitsAllocatesNothingOnAWarmReader) {
  Batches batches;
  std::uint64_t hits_seen = 0;
  const auto visit = [&](std::size_t, const Hits& hits) noexcept { hits_seen += hits.size(); };
  ASSERT_TRUE(batches.reader.search_each(batches.queries, {}, visit).ok());
  const std::uint64_t before = allocations_of_this_thread();
  ASSERT_TRUE(batches.reader.search_each(batches.queries, {}, visit).ok());
  EXPECT_EQ(allocations_of_this_thread(), before);
  EXPECT_EQ(hits_seen, 2 * kQueries * 10);
}

TEST(Batch, TakesFewerQueriesAtOnceWhereMemoryIsShort) {
  Batches batches;
  const auto all = batches.reader.search_batch(batches.queries);
  for (const std::uint64_t last : {std::uint64_t{2}, ~std::uint64_t{0}}) {
    Reader reader = batches.index.reader();
    ASSERT_TRUE(reader.search(batches.query(0)).ok());
    std::size_t next = 0;
    const auto visit = [&](std::size_t q, const Hits& hits) noexcept {
      EXPECT_EQ(q, next++);
      const Hits expected = (*all)[q];
      ASSERT_EQ(hits.size(), expected.size());
      for (std::size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(hits[i].id, expected[i].id);
    };
    const FailingAllocations failures(1, last);
    EXPECT_TRUE(reader.search_each(batches.queries, {}, visit).ok());
    EXPECT_GT(failures.failed(), 0u);
    EXPECT_EQ(next, kQueries);
  }
}

TEST(Batch, NamesTheQueryThatIsNotFinite) {
  Batches batches;
  batches.queries[31 * kDim + 3] = std::numeric_limits<float>::quiet_NaN();
  const auto visit = [](std::size_t q, const Hits&) { EXPECT_LT(q, 31u); };
  const Status status = batches.reader.search_each(batches.queries, {}, visit);
  EXPECT_EQ(status.code(), Code::not_finite);
  EXPECT_EQ(status.a(), 31u);
  EXPECT_EQ(status.b(), 3u);
}

}  // namespace
}  // namespace vicinal::test
