#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "support/memory_hook.hpp"
#include "world.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

// The status of one search with these options, heap untouched by the harness.
Status try_search(const World& world, std::span<const float> query, const SearchOptions& options,
                  search::Scratch& scratch, search::Found* found) {
  return search::search(world.fixture->version(), *world.quantiser, query, options, nullptr,
                        scratch, found);
}

TEST(Scratch, AWarmSearchAllocatesNothing) {
  const World world({100, Metric::cosine, 4}, 80, 1000, 300);
  auto made = search::Scratch::create(*world.quantiser);
  const auto queries = make_vectors(81, 8, 100);
  const auto ids = world.live_ids();
  for (const float certainty : {0.0f, 3.0f, kInfinity}) {
    SearchOptions options;
    options.certainty = certainty;
    options.filter = ids;
    options.k = 50;
    search::Found found;
    ASSERT_TRUE(try_search(world, queries[0], options, **made, &found).ok());
    const std::uint64_t before = allocations_of_this_thread();
    for (const auto& query : queries) {
      for (const std::size_t k : {std::size_t{50}, std::size_t{1}, std::size_t{10}}) {
        options.k = k;
        options.filter = std::span(ids).first(ids.size() / k);
        ASSERT_TRUE(try_search(world, query, options, **made, &found).ok());
        options.filter.reset();
        ASSERT_TRUE(try_search(world, query, options, **made, &found).ok());
      }
    }
    EXPECT_EQ(allocations_of_this_thread(), before);
  }
}

TEST(Scratch, WithoutMemoryReportsFullAndStillServesWhatItServedBefore) {
  const World world({32, Metric::ip, 4}, 82, 900, 300);
  auto made = search::Scratch::create(*world.quantiser);
  const auto query = make_vectors(83, 1, 32)[0];
  const auto ids = world.live_ids();
  SearchOptions small;
  SearchOptions large;
  large.k = 500;
  SearchOptions filtered;
  filtered.filter = ids;
  const auto expected = world.expected(query, small);
  search::Found found;
  ASSERT_TRUE(try_search(world, query, small, **made, &found).ok());
  for (const SearchOptions& options : {large, filtered}) {
    Status status;
    Status still;
    {
      const FailingAllocations failing(1, kAll);
      status = try_search(world, query, options, **made, &found);
      still = try_search(world, query, small, **made, &found);
    }
    EXPECT_EQ(status.code(), Code::full);
    ASSERT_TRUE(still.ok());
    ASSERT_EQ(found.ids.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found.ids[i], expected[i].id);
    EXPECT_TRUE(same_hits(world.found(query, options, made->get()).hits,
                          world.expected(query, options)));
  }
}

TEST(Scratch, CannotBeMadeWithoutMemory) {
  const auto quantiser = make_quantiser({32, Metric::ip, 4});
  const FailingAllocations failing(1, kAll);
  const auto made = search::Scratch::create(*quantiser);
  EXPECT_EQ(made.code(), Code::full);
}

TEST(Decode, GivesEveryRowThatTheQuantiserGives) {
  for (const std::uint32_t bits : {1u, 2u, 3u, 4u, 8u}) {
    for (const std::uint32_t dim : {1u, 9u, 100u}) {
      const World world({dim, Metric::ip, bits}, 84, 170, 100, 2);
      auto made = search::Scratch::create(*world.quantiser);
      auto room = AlignedBuffer::create(world.quantiser->encode_scratch_bytes());
      const segment::Version& version = world.fixture->version();
      for (const EncodedRow& row : world.rows) {
        const segment::Slot slot = version.find(row.id);
        ASSERT_EQ(slot.valid(), row.live);
        if (!row.live) continue;
        std::vector<float> expected(dim);
        world.quantiser->decode(row.packed.data(), row.factors, room->data(), expected.data());
        std::vector<float> vector(dim);
        ASSERT_TRUE(
            search::decode_row(version, *world.quantiser, slot, **made, vector.data()).ok());
        EXPECT_EQ(vector, expected) << name_of(world.shape);
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::test
