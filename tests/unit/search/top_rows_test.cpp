#include "search/top_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"

namespace vicinal::search {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Hit> collect(const std::vector<Hit>& rows, std::size_t k, float min_score,
                         const std::optional<Hit>& after) {
  std::vector<Hit> buffer(TopRows::places(k));
  TopRows top(buffer, k, min_score, after);
  float last = top.threshold();
  for (const Hit& row : rows) {
    if (!(row.score < top.threshold())) top.offer(row.score, row.id);
    EXPECT_GE(top.threshold(), last);
    last = top.threshold();
  }
  std::vector<std::uint64_t> ids(k);
  std::vector<float> scores(k);
  const std::size_t count = top.finish(ids.data(), scores.data());
  std::vector<Hit> kept;
  for (std::size_t i = 0; i < count; ++i) kept.push_back({ids[i], scores[i]});
  return kept;
}

void expect_equal(const std::vector<Hit>& a, const std::vector<Hit>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].score, b[i].score);
  }
}

std::vector<Hit> rows_with_ties(std::uint64_t seed, std::uint32_t count, std::uint32_t scores) {
  Random random(seed);
  std::vector<Hit> rows;
  for (std::uint32_t i = 0; i < count; ++i) {
    rows.push_back({mix64(i), static_cast<float>(random.below(scores)) - 3.0f});
  }
  return rows;
}

TEST(TopRows, KeepsTheBestInAnyOrderOfArrival) {
  for (const std::uint32_t scores : {1u, 3u, 100u, 100000u}) {
    auto rows = rows_with_ties(scores, 3000, scores);
    auto sorted = rows;
    std::sort(sorted.begin(), sorted.end(), precedes);
    for (const std::size_t k : {1u, 2u, 3u, 4u, 7u, 8u, 10u, 100u, 1000u, 2999u, 3000u, 4000u}) {
      const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(k, sorted.size()));
      const std::vector<Hit> expected(sorted.begin(), sorted.begin() + count);
      expect_equal(collect(rows, k, -kInfinity, {}), expected);
      expect_equal(collect({rows.rbegin(), rows.rend()}, k, -kInfinity, {}), expected);
      expect_equal(collect(sorted, k, -kInfinity, {}), expected);
      expect_equal(collect({sorted.rbegin(), sorted.rend()}, k, -kInfinity, {}), expected);
    }
  }
}

TEST(TopRows, LeavesOutWhatIsBelowTheFloorOrNotAfterTheHit) {
  const auto rows = rows_with_ties(5, 500, 20);
  auto sorted = rows;
  std::sort(sorted.begin(), sorted.end(), precedes);
  const auto kept = collect(rows, 30, 4.0f, sorted[99]);
  std::vector<Hit> expected(sorted.begin() + 100, sorted.begin() + 130);
  std::erase_if(expected, [](const Hit& hit) { return hit.score < 4.0f; });
  expect_equal(kept, expected);
}

TEST(TopRows, ReportsNegativeZeroAsZero) {
  const auto kept = collect({{1, -0.0f}}, 1, -kInfinity, {});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_FALSE(std::signbit(kept[0].score));
}

}  // namespace
}  // namespace vicinal::search
