// What a search hands to the kernels: nothing that a writer may be filling behind the rows that a
// version shows, overread of magnitudes included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "world.hpp"

namespace vicinal::test {
namespace {

// The version that is searched; kernels are plain functions and have no other way to it.
const segment::Version* watched = nullptr;
std::size_t watched_rest_bytes = 0;
std::size_t watched_plane_bytes = 0;
std::uint64_t arrays_seen = 0;
std::uint64_t arrays_not_shown = 0;

// What a version shows of one array of a segment, and what the segment has room for.
void check(const void* from, std::size_t bytes, const void* begin, std::size_t shown,
           std::size_t room) {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  if (at < first || at >= first + room) return;  // in another array, or a copy
  ++arrays_seen;
  arrays_not_shown += at + bytes > first + shown;
}

template <class Check>
void for_each_view(Check each) {
  for (std::uint32_t number = 0; number < watched->segment_end; ++number) {
    const segment::SegmentView* view = watched->view(number);
    if (view != nullptr) each(*view);
  }
}

void check_rests(const std::uint8_t* rests, std::size_t rows) {
  for_each_view([&](const segment::SegmentView& view) {
    const std::size_t room = view.segment->capacity() * watched_rest_bytes;
    const std::size_t shown = view.rows * watched_rest_bytes;
    check(rests, rows * watched_rest_bytes + simd::kOverread, view.segment->rest(0), shown, room);
  });
}

void check_plane(const std::uint8_t* plane, std::size_t blocks) {
  for_each_view([&](const segment::SegmentView& view) {
    const std::size_t room = view.segment->capacity() / simd::kBlockRows * watched_plane_bytes;
    const std::size_t shown = view.rows / simd::kBlockRows * watched_plane_bytes;
    check(plane, blocks * watched_plane_bytes, view.segment->plane(0), shown, room);
  });
}

void check_factors(const float* factors, std::size_t blocks) {
  for_each_view([&](const segment::SegmentView& view) {
    for (const float* begin : {view.segment->plane_scales(), view.segment->plane_cosines2()}) {
      check(factors, blocks * simd::kBlockRows * sizeof(float), begin, view.rows * sizeof(float),
            view.segment->capacity() * sizeof(float));
    }
  });
}

const simd::Kernels& scalar() { return *simd::find_kernels("scalar"); }

void watched_scan(const simd::PlaneBlocks& blocks, const simd::PlaneScan* scans,
                  std::uint32_t queries) {
  check_plane(blocks.planes, blocks.count);
  check_factors(blocks.plane_scales, blocks.count);
  check_factors(blocks.plane_cosines2, blocks.count);
  scalar().plane_scan(blocks, scans, queries);
}

template <std::uint32_t kBits>
std::int64_t watched_dot(const std::uint8_t* plane, std::uint32_t lane, const std::uint8_t* rest,
                         const simd::CodeQuery& query, const simd::Levels& levels) {
  check_plane(plane, 1);
  check_rests(rest, 1);
  return scalar().code_dot[simd::bits_index(kBits)](plane, lane, rest, query, levels);
}

template <std::uint32_t kBits>
void watched_dots(const std::uint8_t* plane, std::uint32_t lanes, const std::uint8_t* rests,
                  std::size_t rest_bytes, const simd::CodeQuery& query,
                  const simd::Levels& levels, std::int64_t* dots) {
  EXPECT_EQ(rest_bytes, watched_rest_bytes);
  check_plane(plane, 1);
  check_rests(rests, simd::kBlockRows);
  scalar().code_dots[simd::bits_index(kBits)](plane, lanes, rests, rest_bytes, query, levels, dots);
}

simd::Kernels watching_kernels() {
  simd::Kernels kernels = scalar();
  kernels.plane_scan = watched_scan;
  const simd::Kernels::CodeDot each[] = {watched_dot<1>, watched_dot<2>, watched_dot<3>,
                                         watched_dot<4>, watched_dot<8>};
  const simd::Kernels::CodeDots all[] = {watched_dots<1>, watched_dots<2>, watched_dots<3>,
                                         watched_dots<4>, watched_dots<8>};
  std::copy(std::begin(each), std::end(each), kernels.code_dot);
  std::copy(std::begin(all), std::end(all), kernels.code_dots);
  return kernels;
}

// The world, and a quantiser of it that watches.
struct WatchedWorld {
  WatchedWorld(const Shape& shape, std::uint64_t seed, std::uint32_t count)
      : world(shape, seed, count, segment::kSegmentRowsMin), kernels(watching_kernels()) {
    auto made = quant::Quantiser::create(shape.dim, shape.metric, shape.bits, 7, kernels);
    quantiser = std::move(*made);
    watched = &world.fixture->version();
    watched_rest_bytes = quantiser->layout().rest_bytes;
    watched_plane_bytes = quantiser->layout().plane_block_bytes;
    arrays_seen = arrays_not_shown = 0;
  }

  void search(std::span<const float> query, const SearchOptions& options) const {
    const Hits found = search_hits(*watched, *quantiser, query, options);
    EXPECT_TRUE(same_hits(found.hits, world.expected(query, options)));
  }

  World world;
  simd::Kernels kernels;
  std::unique_ptr<quant::Quantiser> quantiser;
};

TEST(ShownRows, AreAllThatKernelsMayReadWhateverLiesBehindThem) {
  std::uint64_t seed = 400;
  for (const std::uint32_t bits : {1u, 2u, 3u, 4u, 8u}) {
    for (const std::uint32_t dim : {8u, 40u, 264u}) {
      for (const std::uint32_t rows : {1u, 31u, 32u, 33u, 63u, 64u, 66u, 95u, 96u, 97u, 127u, 128u,
                                       160u, 161u, 255u, 256u}) {
        const WatchedWorld watching({dim, Metric::l2, bits}, ++seed, rows);
        const auto ids = watching.world.live_ids();
        const auto query = make_vectors(seed, 1, dim)[0];
        for (const float certainty : {0.0f, 3.0f, kInfinity}) {
          SearchOptions options;
          options.k = 1 + seed % 40;
          options.certainty = certainty;
          watching.search(query, options);
          options.filter.emplace(ids.data(), (ids.size() + 1) / 2);
          watching.search(query, options);
        }
        EXPECT_EQ(arrays_not_shown, 0u)
            << "of " << arrays_seen << ", " << name_of({dim, Metric::l2, bits}) << ", " << rows
            << " rows";
        EXPECT_TRUE(rows <= simd::kBlockRows || arrays_seen > 0);
      }
    }
  }
}

TEST(ShownRows, AreMissedByTheChecksWhereAKernelGetsOneRowTooMany) {
  const WatchedWorld watching({40, Metric::ip, 4}, 500, 77);
  const segment::SegmentView& view = *watched->view(0);
  const auto missed = [&] { return std::exchange(arrays_not_shown, 0); };
  check_rests(view.segment->rest(0), 32);
  check_rests(view.segment->rest(75), 1);  // its overread is that of the row after the next
  EXPECT_EQ(missed(), 1u);
  check_rests(view.segment->rest(46), 32);
  EXPECT_EQ(missed(), 1u);
  check_plane(view.segment->plane(0), 2);
  check_plane(view.tail->bytes_begin(), 1);
  EXPECT_EQ(missed(), 0u);
  check_plane(view.segment->plane(1), 2);
  EXPECT_EQ(missed(), 1u);
  check_factors(view.segment->plane_scales() + 32, 1);
  EXPECT_EQ(missed(), 0u);
  check_factors(view.segment->plane_cosines2() + 64, 1);
  EXPECT_EQ(missed(), 1u);
}

}  // namespace
}  // namespace vicinal::test
