#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "world.hpp"

namespace vicinal::test {
namespace {

std::vector<std::uint32_t> shuffled(std::uint32_t count, Random& random) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// The rows in `order`, cut into segments of random sizes and numbers with gaps.
std::vector<PlacedSegment> scatter(const std::vector<std::uint32_t>& order, Random& random) {
  std::vector<PlacedSegment> segments;
  std::uint32_t number = random.below(3);
  for (std::size_t at = 0; at < order.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random.below(300), order.size() - at);
    segments.push_back({number, {order.begin() + static_cast<std::ptrdiff_t>(at),
                                 order.begin() + static_cast<std::ptrdiff_t>(at + count)}});
    number += 1 + random.below(20);
    at += count;
  }
  return segments;
}

TEST(Order, OfSegmentsBlocksAndRowsNeverChangesAResult) {
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    const World world({40, metric, 4}, 21, 1500);
    const auto queries = make_vectors(22, 10, 40);
    Random random(23);
    for (int arrangement = 0; arrangement < 8; ++arrangement) {
      const auto segments =
          scatter(shuffled(static_cast<std::uint32_t>(world.rows.size()), random), random);
      const VersionFixture other(world.quantiser->layout(), world.rows, segments);
      for (const auto& query : queries) {
        for (const float certainty : {0.0f, 0.5f, 1.0f, 3.0f, kInfinity}) {
          SearchOptions options;
          options.certainty = certainty;
          for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{100}}) {
            options.k = k;
            EXPECT_TRUE(same_hits(
                search_hits(other.version(), *world.quantiser, query, options).hits,
                world.found(query, options).hits))
                << name_of(world.shape) << ", seed 23, certainty " << certainty;
          }
        }
      }
    }
  }
}

// The skip test over rows in the given order, with and without the min of search.hpp I1.
std::vector<std::uint64_t> skip_in_order(const std::vector<RankedRow>& rows, std::size_t k,
                                         bool with_min) {
  std::vector<Hit> best;
  const auto before = [](const Hit& a, const Hit& b) {
    return a.score > b.score || (a.score == b.score && a.id < b.id);
  };
  for (const RankedRow& row : rows) {
    if (best.size() == k && row.upper < best.back().score) continue;
    best.push_back({row.hit.id, with_min ? std::min(row.code, row.upper) : row.code});
    std::sort(best.begin(), best.end(), before);
    if (best.size() > k) best.pop_back();
  }
  std::vector<std::uint64_t> ids;
  for (const Hit& hit : best) ids.push_back(hit.id);
  return ids;
}

TEST(Order, WouldChangeResultsIfScoresWereNotCutAtTheirBounds) {
  const World world({40, Metric::cosine, 4}, 24, 1500, 512, 0);
  int with_min = 0;
  int without_min = 0;
  for (const auto& query : make_vectors(25, 50, 40)) {
    auto rows = rank_all(*world.quantiser, world.rows, query, 1.0f);
    Random random(26);
    const auto order = shuffled(static_cast<std::uint32_t>(rows.size()), random);
    std::vector<RankedRow> forward;
    for (const std::uint32_t i : order) forward.push_back(rows[i]);
    const std::vector<RankedRow> backward(forward.rbegin(), forward.rend());
    with_min += skip_in_order(forward, 10, true) != skip_in_order(backward, 10, true);
    without_min += skip_in_order(forward, 10, false) != skip_in_order(backward, 10, false);
  }
  EXPECT_EQ(with_min, 0);
  EXPECT_GT(without_min, 0);
}

TEST(Order, EveryKernelTableGivesTheSameBits) {
  for (const char* const* name = simd::available_kernels(); *name != nullptr; ++name) {
    for (const std::uint32_t bits : {1u, 2u, 3u, 4u, 8u}) {
      for (const std::uint32_t dim : {3u, 100u, 768u}) {
        const World world({dim, Metric::l2, bits}, 27, 333, 200);
        const auto other = make_quantiser(world.shape, *name);
        const auto rows = encode_rows(*other, world.vectors);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          ASSERT_EQ(rows[i].packed, world.rows[i].packed) << *name << name_of(world.shape);
        }
        for (const auto& query : make_vectors(28, 4, dim)) {
          for (const float certainty : {1.0f, 3.0f, kInfinity}) {
            SearchOptions options;
            options.certainty = certainty;
            options.k = 40;
            EXPECT_TRUE(same_hits(
                search_hits(world.fixture->version(), *other, query, options).hits,
                world.found(query, options).hits))
                << *name << ", " << name_of(world.shape);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::test
