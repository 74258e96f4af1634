// Searches of segments that lie in a file: the same bits as of those in memory, and no damaged byte
// is used.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/id_filter.hpp"
#include "support/paper_file.hpp"
#include "support/test_scale.hpp"
#include "world.hpp"

namespace vicinal::test {
namespace {

using segment::SegmentView;
using simd::kBlockRows;

// A world's version as a file, which may be opened any number of times.
struct FiledWorld {
  FiledWorld(const Shape& shape, std::uint64_t seed, std::uint32_t count,
             std::uint32_t rows_per_segment, std::uint32_t dead_of_16 = 3)
      : world(shape, seed, count, rows_per_segment, dead_of_16), file(world.quantiser->layout()) {
    commit = file.log(nullptr, world.fixture->version(), 0, seed % 2 == 0);
    commit.sequence = 1;
  }
  std::unique_ptr<PaperIndex> open() {
    auto index = std::make_unique<PaperIndex>(file, world.shape.metric);
    EXPECT_TRUE(index->apply({commit}).ok());
    return index;
  }
  // Without a look at any row.
  std::unique_ptr<PaperIndex> map() {
    auto index = std::make_unique<PaperIndex>(file, world.shape.metric);
    EXPECT_TRUE(index->show({commit}).ok());
    return index;
  }

  World world;
  PaperFile file;
  PaperCommit commit;
};

void expect_equal(const FiledWorld& filed, const segment::Version& version,
                  const SearchOptions& options, std::span<const float> query) {
  const Hits found = search_hits(version, *filed.world.quantiser, query, options);
  const Hits wanted = filed.world.found(query, options);
  EXPECT_TRUE(same_hits(found.hits, wanted.hits));
  EXPECT_EQ(found.rows_estimated, wanted.rows_estimated);
  EXPECT_EQ(found.rows_scored, wanted.rows_scored);
}

TEST(FileBlocks, ASearchOfAFileFindsTheBitsThatOneInMemoryFinds) {
  std::uint64_t seed = 900;
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    for (const std::uint32_t bits : {1u, 3u, 4u, 8u}) {
      for (const std::uint32_t rows : {1u, 32u, 75u, 600u}) {
        FiledWorld filed({24, metric, bits}, ++seed, rows, 200);
        SCOPED_TRACE(name_of(filed.world.shape) + ", " + std::to_string(rows) + " rows");
        const auto index = filed.open();
        const auto ids = filed.world.live_ids();
        for (const auto& query : make_vectors(seed, 3, 24)) {
          for (const float certainty : {0.0f, 3.0f, kInfinity}) {
            SearchOptions options;
            options.k = 1 + seed % 40;
            options.certainty = certainty;
            expect_equal(filed, index->newest(), options, query);
            options.filter.emplace(ids.data(), (ids.size() + 1) / 2);
            expect_equal(filed, index->newest(), options, query);
          }
        }
        EXPECT_FALSE(index->damage().any());
      }
    }
  }
}

// Which bytes of a slab are those of its view's whole blocks.
std::vector<bool> covered_bytes(const quant::CodeLayout& layout, const SegmentView& view) {
  const segment::Segment& segment = *view.segment;
  std::vector<bool> covered(segment::SlabLayout(layout, segment.capacity()).bytes);
  for (std::uint32_t block = 0; view.is_whole(block); ++block) {
    const segment::BlockBytes bytes = segment.block(block);
    const auto mark = [&](const void* array, std::size_t count) {
      const auto at = static_cast<const std::uint8_t*>(array) - segment.slab();
      std::fill_n(covered.begin() + at, count, true);
    };
    mark(bytes.plane, bytes.plane_bytes);
    mark(bytes.rests, bytes.rests_bytes);
    for (const float* factors : {bytes.scales, bytes.plane_scales, bytes.plane_cosines2}) {
      mark(factors, kBlockRows * sizeof(float));
    }
    mark(bytes.ids, kBlockRows * sizeof(std::uint64_t));
  }
  return covered;
}

TEST(FileBlocks, EveryDamagedByteIsMetAtFirstUseAndNeverServed) {
  for (const std::uint32_t bits : {1u, 4u}) {
    FiledWorld filed({8, Metric::l2, bits}, 950 + bits, 75, 200, 0);
    const auto query = make_vectors(7, 1, 8)[0];
    SearchOptions options;
    options.k = 75;
    options.exhaustive = bits == 1;
    const auto whole = filed.map();
    const auto covered = covered_bytes(filed.file.layout(), *whole->newest().view(0));
    const Hits wanted = filed.world.found(query, options);
    for (std::size_t at = 0; at < covered.size(); ++at) {
      // What lies behind the shown rows, or between the arrays, is nobody's.
      const auto index = filed.map();
      const bool unfinished = !covered[at] && index->slab_of(0)[at] != 0xd7;
      if (unfinished) continue;  // rows that came out of a record
      index->slab_of(0)[at] ^= static_cast<std::uint8_t>(1u << at % 8);
      const Hits found = search_hits(index->newest(), *filed.world.quantiser, query, options);
      ASSERT_EQ(index->damage().any(), covered[at]) << at;
      ASSERT_TRUE(covered[at] || same_hits(found.hits, wanted.hits)) << at;
      ASSERT_EQ(found.hits.size(), covered[at] ? 75 - kBlockRows : 75) << at;
      for (const Hit& hit : found.hits) {  // what is left is as it was
        const auto same = [&](const Hit& other) {
          return other.id == hit.id && other.score == hit.score;
        };
        ASSERT_TRUE(std::any_of(wanted.hits.begin(), wanted.hits.end(), same)) << at;
      }
    }
  }
}

TEST(FileBlocks, ADamagedSumIsDamageOfItsBlock) {
  FiledWorld filed({8, Metric::cosine, 4}, 960, 70, 200, 0);
  const auto query = make_vectors(7, 1, 8)[0];
  SearchOptions options;
  options.k = 70;
  auto& sums = filed.file.extents()[0]->sums;
  for (std::size_t bit = 0; bit < 2 * sizeof(storage::BlockSums) * 8; ++bit) {
    const auto index = filed.map();
    auto* bytes = reinterpret_cast<std::uint8_t*>(sums.data());
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    const Hits found = search_hits(index->newest(), *filed.world.quantiser, query, options);
    EXPECT_TRUE(index->damage().any());
    EXPECT_EQ(found.hits.size(), 38u);
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
}

TEST(FileBlocks, ABlockAtTheWrongPlaceOrOfAnotherFileIsDamage) {
  FiledWorld filed({8, Metric::cosine, 4}, 970, 64, 200, 0);
  const auto query = make_vectors(7, 1, 8)[0];
  SearchOptions options;
  options.k = 64;
  // Both blocks exchanged, sums and all.
  PaperExtent& extent = *filed.file.extents()[0];
  const auto index = filed.map();
  const segment::Segment& segment = *index->newest().view(0)->segment;
  const auto swap = [&](const void* a, const void* b, std::size_t bytes) {
    auto* from = static_cast<std::uint8_t*>(const_cast<void*>(a));
    std::swap_ranges(from, from + bytes, static_cast<std::uint8_t*>(const_cast<void*>(b)));
  };
  const segment::BlockBytes a = segment.block(0);
  const segment::BlockBytes b = segment.block(1);
  swap(a.plane, b.plane, a.plane_bytes);
  swap(a.rests, b.rests, a.rests_bytes);
  swap(a.scales, b.scales, kBlockRows * sizeof(float));
  swap(a.plane_scales, b.plane_scales, kBlockRows * sizeof(float));
  swap(a.plane_cosines2, b.plane_cosines2, kBlockRows * sizeof(float));
  swap(a.ids, b.ids, kBlockRows * sizeof(std::uint64_t));
  std::swap(extent.sums[0], extent.sums[1]);
  const Hits found = search_hits(index->newest(), *filed.world.quantiser, query, options);
  EXPECT_TRUE(index->damage().any());
  EXPECT_TRUE(found.hits.empty());
}

TEST(FileBlocks, FactorsThatNoRowHasAreDamageWhateverTheirSumSays) {
  for (const float wrong : {kInfinity, -1.0f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    for (int which = 0; which < 3; ++which) {
      FiledWorld filed({8, Metric::ip, 4}, 980, 32, 200, 0);
      PaperExtent& extent = *filed.file.extents()[0];
      const auto index = filed.map();
      const segment::Segment& segment = *index->newest().view(0)->segment;
      const segment::BlockBytes bytes = segment.block(0);
      const float* arrays[] = {bytes.scales, bytes.plane_scales, bytes.plane_cosines2};
      const_cast<float*>(arrays[which])[9] = wrong;
      extent.sums[0].row = segment::row_sum(bytes, PaperFile::kUuidHead,
                                             extent.position + segment.rows_offset(0));
      SearchOptions options;
      options.k = 32;
      const Hits found =
          search_hits(index->newest(), *filed.world.quantiser, make_vectors(7, 1, 8)[0], options);
      EXPECT_TRUE(index->damage().any());
      EXPECT_TRUE(found.hits.empty());
    }
  }
}

TEST(FileBlocks, AFilterLooksAtTheBlocksOfItsRowsOnly) {
  FiledWorld filed({8, Metric::l2, 4}, 990, 2048, 2048, 0);
  const auto query = make_vectors(7, 1, 8)[0];
  ForeignTables tables(*filed.world.fixture->version().ids);
  std::vector<std::uint64_t> ids;
  for (std::uint32_t row = 320; row < 350; ++row) ids.push_back(filed.world.rows[row].id);
  SearchOptions options;
  options.k = 30;
  options.filter.emplace(ids.data(), ids.size());
  for (const std::uint32_t damaged : {3u, 10u, 40u}) {
    PaperIndex index(filed.file, Metric::l2);
    ASSERT_TRUE(index.begin(1).ok());
    ASSERT_TRUE(index.reader().replay(filed.commit).ok());
    ASSERT_TRUE(tables.attach(index.replayer()).ok());
    index.publish();
    const SegmentView& view = *index.newest().view(0);
    index.slab_of(0)[view.segment->plane_offset(damaged)] ^= 1;
    const Hits found = search_hits(index.newest(), *filed.world.quantiser, query, options);
    EXPECT_EQ(index.damage().any(), damaged == 10);
    EXPECT_EQ(found.hits.size(), damaged == 10 ? 0u : 30u);
  }
}

TEST(FileBlocks, APreparedFilterComparesWhatItLooksAtWhenTheVersionIsNewer) {
  FiledWorld filed({8, Metric::l2, 4}, 991, 96, 200, 0);
  std::vector<std::uint64_t> ids = filed.world.live_ids();
  auto filter = search::IdFilter::create(ids);
  PaperIndex index(filed.file, Metric::l2);
  ASSERT_TRUE((*filter)->update(index.newest()).ok());
  ASSERT_TRUE(index.show({filed.commit}).ok());
  index.slab_of(0)[index.newest().view(0)->segment->rows_offset(1)] ^= 1;
  ASSERT_TRUE((*filter)->update(index.newest()).ok());
  EXPECT_TRUE(index.damage().any());
  EXPECT_EQ((*filter)->allowed().rows(), 64u);
}

}  // namespace
}  // namespace vicinal::test
