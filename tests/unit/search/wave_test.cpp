// Batches: queries that share a walk find what each finds alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "world.hpp"

namespace vicinal::test {
namespace {

// `count` queries one after the other; every fifth is the zero vector, which has no direction.
std::vector<float> wave_of(std::uint64_t seed, std::size_t count, std::uint32_t dim) {
  const auto vectors = make_vectors(seed, static_cast<std::uint32_t>(count), dim);
  std::vector<float> wave;
  for (std::size_t i = 0; i < count; ++i) {
    for (const float x : vectors[i]) wave.push_back(i % 5 == 3 ? 0.0f : x);
  }
  return wave;
}

void expect_same_as_alone(const World& world, std::size_t count, const SearchOptions& options,
                          search::Scratch& scratch, std::uint64_t seed) {
  const std::uint32_t dim = world.shape.dim;
  const std::vector<float> wave = wave_of(seed, count, dim);
  std::vector<search::Found> found(count);
  ASSERT_TRUE(search::search_wave(world.fixture->version(), *world.quantiser, wave, 0, options,
                                  nullptr, scratch, found)
                  .ok());
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<float> query(wave.begin() + static_cast<std::ptrdiff_t>(i * dim),
                                   wave.begin() + static_cast<std::ptrdiff_t>((i + 1) * dim));
    const Hits alone = world.found(query, options);
    std::vector<Hit> hits;
    for (std::size_t j = 0; j < found[i].ids.size(); ++j) {
      hits.push_back({found[i].ids[j], found[i].scores[j]});
    }
    EXPECT_TRUE(same_hits(hits, alone.hits))
        << name_of(world.shape) << ", query " << i << " of " << count << ", seed " << seed;
    EXPECT_EQ(found[i].rows_estimated, alone.rows_estimated);
    EXPECT_EQ(found[i].rows_scored, alone.rows_scored);
  }
}

TEST(Wave, GivesEachQueryTheBitsThatItFindsAlone) {
  std::uint64_t seed = 310;
  for (const char* kernels : {"scalar", simd::best_kernels().name}) {
    for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
      for (const std::uint32_t bits : {1u, 4u, 8u}) {
        World world({72, metric, bits}, seed, 1100, 512);
        world.quantiser = make_quantiser(world.shape, kernels);
        auto scratch = search::Scratch::create(*world.quantiser);
        const std::vector<std::uint64_t> ids = world.live_ids();
        for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 11u, 16u}) {
          SearchOptions options;
          options.k = 1 + seed % 23;
          options.certainty = count == 3 ? std::numeric_limits<float>::infinity() : 3.0f;
          if (count == 5) options.filter.emplace(ids.data(), ids.size() / 3);
          if (count == 11) options.min_score = metric == Metric::l2 ? -40.0f : 0.1f;
          expect_same_as_alone(world, count, options, **scratch, ++seed);
        }
      }
    }
  }
}

TEST(Wave, OfManyRowsSharesTilesWithoutLosingARow) {
  // More blocks than a tile holds, a tail, and several segments.
  const World world({8, Metric::ip, 2}, 320, 40'001, 16384, 1);
  auto scratch = search::Scratch::create(*world.quantiser);
  SearchOptions options;
  for (const std::size_t k : {1u, 10u, 1000u, 50'000u}) {
    options.k = k;
    expect_same_as_alone(world, 6, options, **scratch, 321 + k);
  }
}

TEST(Wave, NamesTheQueryThatIsNotFiniteAndFindsNothing) {
  const World world({8, Metric::cosine, 4}, 330, 40);
  auto scratch = search::Scratch::create(*world.quantiser);
  std::vector<float> wave = wave_of(331, 3, 8);
  wave[2 * 8 + 5] = std::numeric_limits<float>::infinity();
  std::vector<search::Found> found(3);
  found[0].rows_scored = 77;
  const Status status = search::search_wave(world.fixture->version(), *world.quantiser, wave, 32,
                                            {}, nullptr, **scratch, found);
  EXPECT_EQ(status.code(), Code::not_finite);
  EXPECT_EQ(status.a(), 34u);
  EXPECT_EQ(status.b(), 5u);
  for (const search::Found& one : found) EXPECT_TRUE(one.ids.empty() && one.rows_scored == 0);
}

TEST(Wave, IsSmallerWhereEachQueryNeedsMuchMemory) {
  const World world({8, Metric::cosine, 4}, 340, 2000);
  SearchOptions options;
  const segment::Version& version = world.fixture->version();
  EXPECT_EQ(search::wave_queries(version, *world.quantiser, options), search::kWaveQueriesMax);
  segment::Version many = version;  // only its counts are read
  many.live_rows = 50'000'000;
  options.k = 50'000'000;
  EXPECT_EQ(search::wave_queries(many, *world.quantiser, options), 1u);
}

}  // namespace
}  // namespace vicinal::test
