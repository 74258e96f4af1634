#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "world.hpp"

namespace vicinal::test {
namespace {

constexpr Metric kMetrics[] = {Metric::cosine, Metric::ip, Metric::l2};
constexpr std::uint32_t kBits[] = {1, 2, 3, 4, 8};

std::vector<std::vector<float>> queries(std::uint64_t seed, std::uint32_t count,
                                        std::uint32_t dim) {
  return make_vectors(seed + 1000, count, dim);
}

// Every k that matters for n rows, each with every certainty that takes a path of its own.
void expect_matches_oracle(const World& world, std::uint64_t seed) {
  const auto n = world.rows.size();
  for (const auto& query : queries(seed, 2, world.shape.dim)) {
    for (const float certainty : {0.0f, 1.0f, 3.0f, 64.0f, kInfinity}) {
      const auto ranked = rank_all(*world.quantiser, world.rows, query, certainty);
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{10}, n, n + 5}) {
        SearchOptions options;
        options.k = k;
        options.certainty = certainty;
        EXPECT_TRUE(same_hits(world.found(query, options).hits, choose(ranked, options)))
            << name_of(world.shape) << ", seed " << seed << ", n " << n << ", k " << k
            << ", certainty " << certainty;
      }
    }
  }
}

TEST(Search, FindsWhatBruteForceFindsAtEverySize) {
  std::uint64_t seed = 1;
  for (const std::uint32_t n :
       {1u, 31u, 32u, 33u, 63u, 64u, 65u, 96u, 127u, 128u, 129u, 255u, 256u, 257u, 1000u}) {
    for (const Metric metric : kMetrics) {
      const Shape shape{24, metric, 4};
      expect_matches_oracle(World(shape, seed, n), seed);
      expect_matches_oracle(World(shape, seed, n, 100), seed);
      ++seed;
    }
  }
}

TEST(Search, FindsWhatBruteForceFindsAtEveryBitsMetricAndDimension) {
  std::uint64_t seed = 100;
  for (const std::uint32_t dim : {1u, 3u, 8u, 64u, 100u, 768u}) {
    for (const Metric metric : kMetrics) {
      for (const std::uint32_t bits : kBits) {
        const World world({dim, metric, bits}, seed, 150, 128);
        expect_matches_oracle(world, seed);
        ++seed;
      }
    }
  }
}

TEST(Search, SkipsRowsAndStillFindsWhatBruteForceFinds) {
  const World world({64, Metric::cosine, 4}, 5, 2000, 512, 0);
  SearchOptions options;
  for (const auto& query : queries(5, 20, 64)) {
    const Hits found = world.found(query, options);
    EXPECT_TRUE(same_hits(found.hits, world.expected(query, options)));
    EXPECT_EQ(found.rows_estimated, 2000u);
    EXPECT_LT(found.rows_scored, 1500u);
  }
}

// More rows wait for a threshold than there are places for (32,768): best ones last, so that it is
// late, and first, so that the guess at it is wrong.
TEST(Search, FindsTheSameWhenDeferredRowsRunOutOfPlaces) {
  const Shape shape{8, Metric::ip, 4};
  const auto quantiser = make_quantiser(shape);
  auto vectors = make_vectors(16, 80000, 8);
  const std::vector<float> query = queries(16, 1, 8)[0];
  const auto rows = encode_rows(*quantiser, vectors);
  // Bounds that are no wider than the estimates defer the most.
  const auto ranked = rank_all(*quantiser, rows, query, 0.0f);
  std::vector<EncodedRow> ordered;
  {
    std::vector<EncodedRow> by_id = rows;
    const auto less = [](const EncodedRow& a, const EncodedRow& b) { return a.id < b.id; };
    std::sort(by_id.begin(), by_id.end(), less);
    for (const RankedRow& row : ranked) {
      const EncodedRow wanted{row.hit.id, true, {}, {}};
      ordered.push_back(*std::lower_bound(by_id.begin(), by_id.end(), wanted, less));
    }
  }
  const std::vector<EncodedRow> reversed(ordered.rbegin(), ordered.rend());
  for (const auto& arrangement : {rows, ordered, reversed}) {
    const VersionFixture fixture(quantiser->layout(), arrangement);
    for (const std::size_t k : {1u, 10u, 5000u, 40000u, 79999u}) {
      SearchOptions options;
      options.k = k;
      options.certainty = 0;
      const Hits found = search_hits(fixture.version(), *quantiser, query, options);
      EXPECT_TRUE(same_hits(found.hits, choose(ranked, options))) << k;
    }
    SearchOptions options;
    options.after = ranked[50000].hit;
    options.certainty = 0;
    EXPECT_TRUE(same_hits(search_hits(fixture.version(), *quantiser, query, options).hits,
                          choose(ranked, options)));
  }
}

TEST(Search, OfNothingButDeadRowsFindsNothing) {
  const World world({8, Metric::cosine, 4}, 6, 40, 128, 16);
  EXPECT_TRUE(world.found(std::vector<float>(8, 1.0f), {}).hits.empty());
}

TEST(Search, OfAnEmptyVersionFindsNothing) {
  const auto quantiser = make_quantiser({8, Metric::l2, 4});
  const VersionFixture fixture(quantiser->layout(), {}, std::span<const PlacedSegment>());
  EXPECT_TRUE(
      search_hits(fixture.version(), *quantiser, std::vector<float>(8, 1.0f), {}).hits.empty());
}

TEST(Search, OrdersThousandsOfIdenticalRowsById) {
  for (const Metric metric : kMetrics) {
    const Shape shape{16, metric, 4};
    const auto quantiser = make_quantiser(shape);
    const std::vector<float> vector(16, 0.75f);
    std::vector<EncodedRow> rows;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      rows.push_back(encode_row(*quantiser, mix64(i), vector));
    }
    const VersionFixture fixture(quantiser->layout(), rows, 700);
    for (const float certainty : {0.0f, 3.0f, kInfinity}) {
      SearchOptions options;
      options.certainty = certainty;
      for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{777}}) {
        options.k = k;
        const auto ranked = rank_all(*quantiser, rows, vector, certainty);
        EXPECT_TRUE(same_hits(search_hits(fixture.version(), *quantiser, vector, options).hits,
                              choose(ranked, options)))
            << name_of(shape) << ", k " << k;
      }
    }
  }
}

TEST(Search, MinScoreKeepsExactlyTheRowsThatReachIt) {
  for (const Metric metric : kMetrics) {
    const World world({40, metric, 4}, 8, 400, 128);
    for (const auto& query : queries(8, 4, 40)) {
      for (const float certainty : {0.0f, 3.0f, kInfinity}) {
        SearchOptions options;
        options.certainty = certainty;
        const auto ranked = rank_all(*world.quantiser, world.rows, query, certainty);
        // The score of a row itself: that row must stay.
        for (const std::size_t place : {std::size_t{0}, std::size_t{5}, ranked.size() - 1}) {
          options.min_score = ranked[place].hit.score;
          for (const std::size_t k : {std::size_t{3}, ranked.size()}) {
            options.k = k;
            EXPECT_TRUE(same_hits(world.found(query, options).hits, choose(ranked, options)));
          }
        }
        options.min_score = kInfinity;
        EXPECT_TRUE(world.found(query, options).hits.empty());
        options.min_score = -kInfinity;
        EXPECT_EQ(world.found(query, options).hits.size(), options.k);
      }
    }
  }
}

TEST(Search, PagesJoinedAreOneBigSearch) {
  for (const Metric metric : kMetrics) {
    World world({32, metric, 2}, 9, 500, 128);
    // Ties across page ends: every third row is the same vector.
    for (std::size_t i = 0; i < world.rows.size(); i += 3) {
      const auto id = world.rows[i].id;
      world.rows[i] = encode_row(*world.quantiser, id, world.vectors[0]);
    }
    world.fixture = std::make_unique<VersionFixture>(world.quantiser->layout(), world.rows, 128);
    for (const auto& query : queries(9, 2, 32)) {
      for (const float certainty : {1.0f, 3.0f, kInfinity}) {
        SearchOptions options;
        options.certainty = certainty;
        options.k = world.rows.size();
        const auto whole = world.found(query, options).hits;
        std::vector<Hit> joined;
        options.k = 7;
        for (;;) {
          const auto page = world.found(query, options).hits;
          if (page.empty()) break;
          joined.insert(joined.end(), page.begin(), page.end());
          options.after = page.back();
        }
        EXPECT_TRUE(same_hits(joined, whole)) << name_of(world.shape);
      }
    }
  }
}

TEST(Search, AfterNeedsNoRowOfThatIdOrScore) {
  const World world({16, Metric::ip, 4}, 10, 200);
  for (const auto& query : queries(10, 2, 16)) {
    for (const Hit after : {Hit{5, 0.25f}, Hit{0, kInfinity}, Hit{~std::uint64_t{0}, -kInfinity},
                            Hit{3, -0.0f}}) {
      SearchOptions options;
      options.after = after;
      EXPECT_TRUE(same_hits(world.found(query, options).hits, world.expected(query, options)));
    }
  }
}

TEST(Search, TheZeroQueryRanksByLengthForL2AndByIdOtherwise) {
  for (const Metric metric : kMetrics) {
    const World world({24, metric, 4}, 11, 300, 128);
    const std::vector<float> zero(24, 0.0f);
    for (const float certainty : {0.0f, 3.0f, kInfinity}) {
      SearchOptions options;
      options.certainty = certainty;
      const auto found = world.found(zero, options).hits;
      EXPECT_TRUE(same_hits(found, world.expected(zero, options))) << name_of(world.shape);
      for (const Hit& hit : found) {
        EXPECT_TRUE(metric == Metric::l2 || hit.score == 0);
      }
    }
  }
}

TEST(Search, ZeroRowsScoreZeroForCosineAndIp) {
  for (const Metric metric : kMetrics) {
    const Shape shape{16, metric, 4};
    const auto quantiser = make_quantiser(shape);
    auto vectors = make_vectors(12, 70, 16);
    for (std::size_t i = 0; i < vectors.size(); i += 5) vectors[i].assign(16, 0.0f);
    const auto rows = encode_rows(*quantiser, vectors);
    const VersionFixture fixture(quantiser->layout(), rows);
    for (const float certainty : {0.0f, 3.0f, kInfinity}) {
      SearchOptions options;
      options.k = rows.size();
      options.certainty = certainty;
      const auto query = queries(12, 1, 16)[0];
      const auto found = search_hits(fixture.version(), *quantiser, query, options).hits;
      EXPECT_TRUE(same_hits(found, choose(rank_all(*quantiser, rows, query, certainty), options)));
      std::size_t zeros = 0;
      for (const Hit& hit : found) zeros += hit.score == 0;
      EXPECT_TRUE(metric == Metric::l2 || zeros >= 14u);
    }
  }
}

TEST(Search, NoScoreIsNanAtTheLargestAndSmallestLengths) {
  for (const Metric metric : kMetrics) {
    for (const std::uint32_t bits : kBits) {
      for (const std::uint32_t dim : {1u, 8u, 1000u}) {
        const Shape shape{dim, metric, bits};
        const auto quantiser = make_quantiser(shape);
        auto vectors = make_vectors(13, 70, dim);
        const float sizes[] = {9.9e15f, 1e-20f, 1e-38f, 1e-45f, 1.0f, 0.0f, 1e-30f};
        for (std::size_t i = 0; i < vectors.size(); ++i) {
          for (std::size_t j = 0; j < dim; ++j) {
            vectors[i][j] = j % 3 == i % 3 ? sizes[i % 7] : -sizes[i % 7];
          }
        }
        const auto rows = encode_rows(*quantiser, vectors);
        const VersionFixture fixture(quantiser->layout(), rows);
        for (std::size_t i = 0; i < 14; ++i) {
          for (const float certainty : {0.0f, 64.0f, kInfinity}) {
            SearchOptions options;
            options.k = rows.size();
            options.certainty = certainty;
            const auto ranked = rank_all(*quantiser, rows, vectors[i], certainty);
            EXPECT_TRUE(same_hits(
                search_hits(fixture.version(), *quantiser, vectors[i], options).hits,
                choose(ranked, options)))
                << name_of(shape) << ", query " << i << ", certainty " << certainty;
          }
        }
      }
    }
  }
}

TEST(Search, AQueryScaledByAPowerOfTwoFindsTheSameIdsInTheSameOrder) {
  for (const Metric metric : {Metric::cosine, Metric::ip}) {
    const World world({48, metric, 4}, 14, 300, 128);
    for (const auto& query : queries(14, 3, 48)) {
      const auto plain = world.found(query, {}).hits;
      for (const float factor : {0x1p-40f, 0.5f, 2.0f, 0x1p40f}) {
        std::vector<float> scaled(query);
        for (float& x : scaled) x *= factor;
        const auto found = world.found(scaled, {}).hits;
        ASSERT_EQ(found.size(), plain.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].id, plain[i].id);
      }
    }
  }
}

TEST(Search, ReportsWhatIsWrongWithItsArgumentsAndFindsNothing) {
  const World world({8, Metric::cosine, 4}, 15, 40);
  auto made = search::Scratch::create(*world.quantiser);
  search::Scratch& scratch = **made;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto code = [&](std::vector<float> query, const SearchOptions& options) {
    search::Found found;
    found.rows_scored = 77;
    const Status status = search::search(world.fixture->version(), *world.quantiser, query,
                                         options, nullptr, scratch, &found);
    EXPECT_TRUE(found.ids.empty() && found.rows_scored == 0);
    return status;
  };
  const std::vector<float> query(8, 1.0f);
  const Status dimension = code(std::vector<float>(7, 1.0f), {});
  EXPECT_EQ(dimension.code(), Code::dimension);
  EXPECT_EQ(dimension.a(), 7u);
  EXPECT_EQ(dimension.b(), 8u);
  std::vector<float> broken(query);
  broken[3] = nan;
  const Status not_finite = code(broken, {});
  EXPECT_EQ(not_finite.code(), Code::not_finite);
  EXPECT_EQ(not_finite.a(), 0u);
  EXPECT_EQ(not_finite.b(), 3u);
  const auto option = [&](const SearchOptions& options) {
    const Status status = code(query, options);
    EXPECT_EQ(status.code(), Code::bad_option);
    return static_cast<OptionName>(status.a());
  };
  SearchOptions options;
  options.certainty = nan;
  EXPECT_EQ(option(options), OptionName::certainty);
  options.certainty = -1;
  EXPECT_EQ(option(options), OptionName::certainty);
  options = {};
  options.min_score = nan;
  EXPECT_EQ(option(options), OptionName::min_score);
  options = {};
  options.after = Hit{1, nan};
  EXPECT_EQ(option(options), OptionName::after);
}

}  // namespace
}  // namespace vicinal::test
