#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "world.hpp"

namespace vicinal::test {
namespace {

// One in `part` of the ids, dead ones included.
std::vector<std::uint64_t> some_ids(const World& world, std::uint32_t part, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> ids;
  for (const EncodedRow& row : world.rows) {
    if (random.below(part) == 0) ids.push_back(row.id);
  }
  return ids;
}

void expect_filtered(const World& world, const std::vector<std::uint64_t>& ids,
                     std::uint64_t seed) {
  auto made = search::Scratch::create(*world.quantiser);
  for (const auto& query : make_vectors(seed, 3, world.shape.dim)) {
    for (const float certainty : {0.0f, 1.0f, 3.0f, kInfinity}) {
      SearchOptions options;
      options.certainty = certainty;
      const auto ranked = rank_all(*world.quantiser, world.rows, query, certainty);
      options.filter = ids;
      for (const std::size_t k : {std::size_t{1}, std::size_t{10}, ids.size() + 1}) {
        options.k = k;
        const Hits found = world.found(query, options, made->get());
        EXPECT_TRUE(same_hits(found.hits, choose(ranked, options)))
            << name_of(world.shape) << ", seed " << seed << ", " << ids.size() << " ids, k " << k;
        EXPECT_LE(found.rows_estimated, ids.size());
        EXPECT_LE(found.rows_scored, ids.size());
      }
      // The masks are clean again: the next search without a filter sees every row.
      options.filter.reset();
      EXPECT_TRUE(
          same_hits(world.found(query, options, made->get()).hits, choose(ranked, options)));
    }
  }
}

TEST(Filter, KeepsTheAllowedRowsOfTheUnfilteredRanking) {
  std::uint64_t seed = 40;
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    for (const std::uint32_t part : {1u, 2u, 10u, 100u, 1000u}) {
      const World world({32, metric, 4}, seed, 2100, 500);
      expect_filtered(world, some_ids(world, part, seed), seed);
      ++seed;
    }
  }
}

TEST(Filter, TakesIdsInAnyOrderAndCountsDuplicatesOnce) {
  const World world({16, Metric::ip, 2}, 60, 700, 300);
  auto ids = some_ids(world, 7, 61);
  const auto once = ids;
  ids.insert(ids.end(), once.rbegin(), once.rend());
  ids.insert(ids.end(), once.begin(), once.end());
  expect_filtered(world, ids, 62);
  SearchOptions options;
  options.filter = ids;
  options.k = ids.size();
  const auto query = make_vectors(63, 1, 16)[0];
  const auto doubled = world.found(query, options).hits;
  options.filter = once;
  EXPECT_TRUE(same_hits(doubled, world.found(query, options).hits));
}

TEST(Filter, IgnoresUnknownIdsAndDeadRows) {
  World world({16, Metric::cosine, 4}, 64, 700, 300, 8);
  auto ids = some_ids(world, 5, 65);
  for (std::uint64_t id = 0; id < 1000; ++id) ids.push_back(id);
  expect_filtered(world, ids, 66);
}

TEST(Filter, OfNothingKnownFindsNothing) {
  const World world({16, Metric::cosine, 4}, 67, 100);
  const auto query = make_vectors(68, 1, 16)[0];
  SearchOptions options;
  const std::vector<std::uint64_t> none;
  options.filter = none;
  EXPECT_TRUE(world.found(query, options).hits.empty());
  const std::vector<std::uint64_t> unknown = {1, 2, 3, ~std::uint64_t{0}};
  options.filter = unknown;
  EXPECT_TRUE(world.found(query, options).hits.empty());
}

TEST(Filter, JoinsWithMinScoreAndAfter) {
  const World world({24, Metric::l2, 3}, 69, 900, 400);
  const auto ids = some_ids(world, 3, 70);
  for (const auto& query : make_vectors(71, 4, 24)) {
    SearchOptions options;
    options.filter = ids;
    const auto first = world.found(query, options).hits;
    ASSERT_EQ(first.size(), 10u);
    options.after = first[4];
    options.min_score = first[8].score;
    const auto found = world.found(query, options).hits;
    EXPECT_TRUE(same_hits(found, world.expected(query, options)));
    EXPECT_TRUE(same_hits(found, std::span(first).subspan(5, 4)));
  }
}

TEST(Filter, OfConsecutiveRowsEndsAtTheSegmentsLastRow) {
  const World world({8, Metric::cosine, 4}, 72, 200, 100, 0);
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 90; i < 120; ++i) ids.push_back(world.rows[i].id);
  expect_filtered(world, ids, 73);
  std::vector<std::uint64_t> last = {world.rows[199].id, world.rows[0].id, world.rows[199].id};
  expect_filtered(world, last, 74);
}

}  // namespace
}  // namespace vicinal::test
