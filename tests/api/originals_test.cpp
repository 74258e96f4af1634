// Indexes that keep originals, and exact re-ranking, through the public surface.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "base/checksum.hpp"
#include "simd/half.hpp"
#include "storage/image.hpp"
#include "support/index_world.hpp"
#include "support/memory_hook.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 37;  // a few behind the last whole vector of every kernel

using Model = std::map<std::uint64_t, std::vector<float>>;  // rows as they are kept

IndexOptions keeping(Originals originals, Metric metric = Metric::cosine) {
  IndexOptions options = small_options(kDim, metric, 2);
  options.originals = originals;
  return options;
}

Index index_of(const IndexOptions& options) { return std::move(Index::create(options)).value(); }

std::vector<float> kept(std::span<const float> row, Originals originals) {
  std::vector<float> vector(row.begin(), row.end());
  if (originals == Originals::float16) {
    for (float& x : vector) x = simd::half_to_float(simd::float_to_half(x));
  }
  return vector;
}

// Sixteen sums, and their halves folded onto each other: the order is part of what is promised.
template <class Term>
double in_lanes(Term term) {
  double lanes[16] = {};
  for (std::size_t j = 0; j < kDim; ++j) lanes[j % 16] += term(j);
  for (std::size_t width = 8; width != 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

float exact_score(Metric metric, std::span<const float> q, std::span<const float> x) {
  const auto dot = [](std::span<const float> a, std::span<const float> b) {
    return in_lanes([&](std::size_t j) { return double{a[j]} * double{b[j]}; });
  };
  if (metric == Metric::ip) return static_cast<float>(dot(q, x));
  if (metric == Metric::cosine) {
    const double lengths2 = dot(q, q) * dot(x, x);
    return lengths2 == 0 ? 0 : static_cast<float>(dot(q, x) / std::sqrt(lengths2));
  }
  return -static_cast<float>(in_lanes([&](std::size_t j) {
    const double difference = double{q[j]} - double{x[j]};
    return difference * difference;
  }));
}

// The best k of these rows by exact scores.
std::vector<Hit> best_of(const Model& rows, Metric metric, std::span<const float> query,
                         std::size_t k) {
  std::vector<Hit> hits;
  for (const auto& [id, row] : rows) hits.push_back({id, exact_score(metric, query, row)});
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  hits.resize(std::min(k, hits.size()));
  return hits;
}

void put(Index& index, Model& model, std::span<const std::uint64_t> ids, std::uint64_t revision,
         const WriteOptions& options = {}) {
  const std::vector<float> rows = rows_of(ids, kDim, revision);
  ASSERT_TRUE(index.upsert(ids, rows, options).ok());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    model[ids[i]] = kept(std::span(rows).subspan(i * kDim, kDim), index.options().originals);
  }
}

struct World {
  Index index;
  Model model;
  Reader reader;

  explicit World(const IndexOptions& options, std::uint64_t rows = 500)
      : index(index_of(options)), reader(index.reader()) {
    put(index, model, ids_from(0, rows), 0);
  }
};

SearchOptions wanting(std::size_t k, std::optional<std::size_t> rerank) {
  SearchOptions options;
  options.k = k;
  options.rerank = rerank;
  return options;
}

class EveryOriginals : public testing::TestWithParam<std::tuple<Originals, Metric>> {
 protected:
  [[nodiscard]] IndexOptions options() const {
    return keeping(std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
  [[nodiscard]] Metric metric() const { return std::get<1>(GetParam()); }
};

TEST_P(EveryOriginals, RerankingAllRowsGivesTheExactOrderWithExactScores) {
  World world(options());
  const std::vector<float> zeros(kDim, 0.0f);
  ASSERT_TRUE(world.index.add(ids_from(900, 1), zeros).ok());
  world.model[900] = zeros;
  for (std::uint64_t q = 0; q < 8; ++q) {
    const std::vector<float> query = q == 0 ? zeros : vector_of(q, kDim);
    const Hits hits = world.reader.search(query, wanting(20, 1000)).value();
    EXPECT_TRUE(hits.reranked);
    EXPECT_TRUE(equal_hits(copy_of(hits), best_of(world.model, metric(), query, 20))) << q;
  }
}

TEST_P(EveryOriginals, TheCandidatesAreTheBestByTheirCodes) {
  World world(options());
  for (const std::size_t candidates : {5, 12, 40, 77}) {
    for (std::uint64_t q = 0; q < 5; ++q) {
      const std::vector<float> query = vector_of(q + 40, kDim);
      Model rows;
      SearchOptions by_codes = wanting(candidates, 0);
      by_codes.certainty /= 2;
      const Hits coarse = world.reader.search(query, by_codes).value();
      EXPECT_FALSE(coarse.reranked);
      for (const Hit& hit : coarse) rows[hit.id] = world.model[hit.id];
      const Hits fine = world.reader.search(query, wanting(5, candidates)).value();
      EXPECT_TRUE(equal_hits(copy_of(fine), best_of(rows, metric(), query, 5)));
      // Fewer than k are never asked for.
      const Hits few = world.reader.search(query, wanting(candidates, 1)).value();
      EXPECT_TRUE(equal_hits(copy_of(few), best_of(rows, metric(), query, candidates)));
    }
  }
  const std::vector<float> query = vector_of(3, kDim);
  const std::vector<Hit> given = copy_of(world.reader.search(query, wanting(10, 40)).value());
  EXPECT_TRUE(equal_hits(copy_of(world.reader.search(query, wanting(10, {})).value()), given));
}

TEST_P(EveryOriginals, LeastScoresAreExactOnesAndFiltersHoldBeforeCandidatesAreChosen) {
  World world(options());
  const std::vector<float> query = vector_of(77, kDim);
  const std::vector<Hit> best = best_of(world.model, metric(), query, 30);
  SearchOptions wanted = wanting(30, 1000);
  wanted.min_score = best[11].score;
  EXPECT_TRUE(equal_hits(copy_of(world.reader.search(query, wanted).value()),
                         std::span(best).first(12)));
  wanted.min_score = std::nextafter(best[11].score, 1e30f);
  EXPECT_TRUE(equal_hits(copy_of(world.reader.search(query, wanted).value()),
                         std::span(best).first(11)));
  Model allowed;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 3; id < 600; id += 7) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    if (world.model.contains(id)) allowed[id] = world.model[id];
  }
  wanted = wanting(9, 1000);
  wanted.filter = ids;
  const std::vector<Hit> among = best_of(allowed, metric(), query, 9);
  EXPECT_TRUE(equal_hits(copy_of(world.reader.search(query, wanted).value()), among));
  Filter filter = world.reader.filter(ids).value();
  wanted.filter.reset();
  wanted.compiled_filter = &filter;
  EXPECT_TRUE(equal_hits(copy_of(world.reader.search(query, wanted).value()), among));
}

TEST_P(EveryOriginals, GetGivesTheRowAsItWasGiven) {
  World world(options(), 100);
  for (const auto& [id, row] : world.model) EXPECT_EQ(world.reader.get(id).value(), row);
}

TEST_P(EveryOriginals, BatchesSnapshotsAndHelpersFindTheSameBits) {
  World world(options(), 3000);
  Reader snapshot = world.reader.snapshot();
  std::vector<float> queries;
  std::vector<std::vector<Hit>> singles;
  for (std::uint64_t q = 0; q < 21; ++q) {
    const std::vector<float> query = vector_of(q + 5, kDim);
    queries.insert(queries.end(), query.begin(), query.end());
    singles.push_back(copy_of(world.reader.search(query, wanting(7, {})).value()));
  }
  const auto same_as_singles = [&](Reader& reader) {
    const BatchHits batch = reader.search_batch(queries, wanting(7, {})).value();
    ASSERT_EQ(batch.size(), singles.size());
    for (std::size_t q = 0; q < singles.size(); ++q) {
      EXPECT_TRUE(batch[q].reranked);
      EXPECT_TRUE(equal_hits(copy_of(batch[q]), singles[q])) << q;
    }
    std::size_t visited = 0;
    ASSERT_TRUE(reader.search_each(queries, wanting(7, {}), [&](std::size_t q, const Hits& hits) {
      ++visited;
      EXPECT_TRUE(hits.reranked && equal_hits(copy_of(hits), singles[q])) << q;
    }).ok());
    EXPECT_EQ(visited, singles.size());
  };
  same_as_singles(world.reader);
  ASSERT_TRUE(world.index.set_helpers(2).ok());
  same_as_singles(world.reader);
  put(world.index, world.model, ids_from(0, 3000), 1);
  same_as_singles(snapshot);
}

TEST_P(EveryOriginals, SurviveReplacementsRemovalsAndCompaction) {
  World world(options(), 0);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  WriteOptions parts;
  parts.atomic = false;
  for (std::uint64_t turn = 1; turn <= 60; ++turn) {
    const auto ids = ids_from(random.below(900), 1 + random.below(300));
    put(world.index, world.model, ids, turn, turn % 3 == 0 ? parts : WriteOptions{});
    const auto gone = ids_from(random.below(900), random.below(200));
    ASSERT_TRUE(world.index.remove(gone).ok());
    for (const std::uint64_t id : gone) world.model.erase(id);
    if (turn % 7 == 0) {
      ASSERT_TRUE(world.index.compact().ok());
    }
    if (turn % 5 != 0) continue;
    for (const auto& [id, row] : world.model) ASSERT_EQ(world.reader.get(id).value(), row) << id;
    const std::vector<float> query = vector_of(turn, kDim);
    EXPECT_TRUE(equal_hits(copy_of(world.reader.search(query, wanting(15, 2000)).value()),
                           best_of(world.model, metric(), query, 15)));
  }
}

void expect_bad_option(const Status& status, OptionName name) {
  EXPECT_EQ(status.code(), Code::bad_option);
  EXPECT_EQ(status.a(), static_cast<std::uint64_t>(name));
}

TEST(OriginalsOptions, RerankNeedsOriginalsAndPagesNeedNone) {
  World without(keeping(Originals::none));
  World with(keeping(Originals::float16));
  const std::vector<float> query = vector_of(1, kDim);
  expect_bad_option(without.reader.search(query, wanting(10, 40)).status(), OptionName::rerank);
  EXPECT_FALSE(without.reader.search(query, wanting(10, {})).value().reranked);
  EXPECT_EQ(without.reader.search(query, wanting(10, 0)).value().size(), 10u);

  SearchOptions page = wanting(10, 0);
  const std::vector<Hit> all = copy_of(with.reader.search(query, wanting(40, 0)).value());
  for (std::size_t first = 0; first < 40; first += 10) {
    const std::vector<Hit> hits = copy_of(with.reader.search(query, page).value());
    EXPECT_TRUE(equal_hits(hits, std::span(all).subspan(first, 10)));
    page.after = hits.back();
  }
  page.rerank = 40;
  expect_bad_option(with.reader.search(query, page).status(), OptionName::after);
  page.rerank.reset();
  expect_bad_option(with.reader.search(query, page).status(), OptionName::after);
}

TEST(OriginalsOptions, EveryCountOfRowsAndCandidatesIsTaken) {
  World world(keeping(Originals::float32), 30);
  const std::vector<float> query = vector_of(1, kDim);
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const Hits none = world.reader.search(query, wanting(0, 40)).value();
  EXPECT_TRUE(none.empty() && none.reranked);
  for (const std::size_t k : {std::size_t{30}, kMost / 4, kMost / 4 + 1, kMost}) {
    EXPECT_EQ(world.reader.search(query, wanting(k, {})).value().size(), 30u);
    EXPECT_EQ(world.reader.search(query, wanting(k, kMost)).value().size(), 30u);
  }
  ASSERT_TRUE(world.index.clear().ok());
  EXPECT_TRUE(world.reader.search(query, wanting(10, {})).value().empty());
}

TEST(OriginalsOptions, WhatNoHalfCanHoldIsNotFinite) {
  Index index = index_of(keeping(Originals::float16));
  std::vector<float> rows = rows_of(ids_from(0, 3), kDim);
  for (const float value : {65520.0f, -65520.0f, 1e15f}) {
    rows[kDim + 4] = value;
    const Status refused = index.add(ids_from(0, 3), rows).status();
    EXPECT_EQ(refused.code(), Code::not_finite);
    EXPECT_EQ(refused.a(), 1u);
    EXPECT_EQ(refused.b(), 4u);
  }
  rows[kDim + 4] = std::nextafter(65520.0f, 0.0f);
  EXPECT_TRUE(index.add(ids_from(0, 3), rows).ok());
  EXPECT_EQ(index.reader().get(1).value()[4], 65504.0f);
  Index wide = index_of(keeping(Originals::float32));
  rows[kDim + 4] = 1e15f;
  EXPECT_TRUE(wide.add(ids_from(0, 3), rows).ok());
  EXPECT_EQ(wide.reader().get(1).value()[4], 1e15f);
}

TEST(OriginalsOptions, LargestAndSmallestRowsHaveFiniteScores) {
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    Index index = index_of(keeping(Originals::float32, metric));
    const std::vector<float> large(kDim, 9.9e15f);
    const std::vector<float> small(kDim, 1e-40f);
    ASSERT_TRUE(index.add(ids_from(0, 1), large).ok());
    ASSERT_TRUE(index.add(ids_from(1, 1), small).ok());
    Reader reader = index.reader();
    for (const std::vector<float>& query : {large, small}) {
      const std::vector<Hit> hits = copy_of(reader.search(query, wanting(2, {})).value());
      ASSERT_EQ(hits.size(), 2u);
      for (const Hit& hit : hits) {
        const std::vector<float>& row = hit.id == 0 ? large : small;
        EXPECT_TRUE(std::isfinite(hit.score));
        EXPECT_EQ(hit.score, exact_score(metric, query, row));
      }
    }
  }
}

TEST(OriginalsStrings, AreRankedAndGotByTheirNames) {
  IndexOptions options = keeping(Originals::float16, Metric::l2);
  options.ids = IdKind::string;
  Index index = index_of(options);
  Model model;
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back("row " + std::to_string(i));
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  const std::vector<float> rows = rows_of(ids_from(0, 300), kDim);
  ASSERT_TRUE(index.add(IdStrings(names), rows).ok());
  for (std::uint64_t i = 0; i < 300; ++i) {
    model[i] = kept(std::span(rows).subspan(i * kDim, kDim), Originals::float16);
  }
  const std::vector<std::string_view> gone = {names[3], names[200]};
  ASSERT_TRUE(index.remove(IdStrings(gone)).ok());
  model.erase(3);
  model.erase(200);
  ASSERT_TRUE(index.compact().ok());
  Reader reader = index.reader();
  EXPECT_EQ(reader.get(std::string_view("row 7")).value(), model[7]);
  const std::vector<float> query = vector_of(9, kDim);
  const Hits hits = reader.search(query, wanting(10, 1000)).value();
  const std::vector<Hit> best = best_of(model, Metric::l2, query, 10);
  ASSERT_EQ(hits.size(), best.size());
  for (std::size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(hits.string_hit(i).id, texts[best[i].id]);
    EXPECT_EQ(hits.scores()[i], best[i].score);
  }
}

TEST(OriginalsWrites, SlicesAndLentRowsCarryThem) {
  for (const Originals originals : {Originals::float16, Originals::float32}) {
    Index index = index_of(keeping(originals));
    WriteQueue queue = index.write_queue();
    PendingWrite write = queue.make(WriteKind::add, 20).value();
    const std::vector<float> rows = rows_of(ids_from(0, 20), kDim);
    std::iota(write.ids().begin(), write.ids().end(), 0);
    const auto some = [&](std::size_t first, std::size_t count) {
      return std::span(rows).subspan(first * kDim, count * kDim);
    };
    ASSERT_TRUE(write.encode(0, some(0, 5)).ok());
    ASSERT_TRUE(write.encode_apart(5, some(5, 14)).ok());
    write.count_encoded(15);  // the last one is nobody's: zeros
    ASSERT_TRUE(queue.submit(write).ok());
    while (!write.done()) index.pump(1000);
    ASSERT_TRUE(write.result().ok());
    Reader reader = index.reader();
    for (std::uint64_t id = 0; id < 19; ++id) {
      EXPECT_EQ(reader.get(id).value(), kept(some(id, 1), originals));
    }
    EXPECT_EQ(reader.get(19).value(), std::vector<float>(kDim, 0.0f));
  }
}

TEST(OriginalsMemory, AWarmSearchAllocatesNothing) {
  World world(keeping(Originals::float16), 2000);
  const std::vector<float> query = vector_of(5, kDim);
  ASSERT_TRUE(world.reader.search(query).ok());
  const std::uint64_t before = allocations_of_this_thread();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(world.reader.search(query).ok());
  EXPECT_EQ(allocations_of_this_thread(), before);
}

TEST(OriginalsMemory, IsCountedAndWithinTheBudget) {
  for (const Originals originals : {Originals::float16, Originals::float32}) {
    World world(keeping(originals), 5000);
    const std::uint64_t row_bytes = kDim * (originals == Originals::float16 ? 2 : 4);
    const Stats stats = world.index.stats();
    EXPECT_GE(stats.original_bytes, 5000 * row_bytes);
    EXPECT_LE(stats.original_bytes, 5000 * row_bytes + stats.segments * 4096);
    World plain(keeping(Originals::none), 5000);
    EXPECT_EQ(plain.index.stats().original_bytes, 0u);
    EXPECT_EQ(stats.total_bytes - stats.original_bytes, plain.index.stats().total_bytes);
  }
  IndexOptions small = keeping(Originals::float32);
  small.memory_bytes_max = 1 << 20;
  Index index = index_of(small);
  std::uint64_t added = 0;
  Status status;
  for (; status.ok() && added < 100'000; added += status.ok() ? 100 : 0) {
    status = index.add(ids_from(added, 100), rows_of(ids_from(added, 100), kDim)).status();
  }
  EXPECT_EQ(status.code(), Code::full);
  EXPECT_LT(added * kDim * sizeof(float), std::uint64_t{1} << 20);
  EXPECT_GT(added, 1000u);
  EXPECT_EQ(index.reader().size(), added);
}

TEST_P(EveryOriginals, AreCarriedByAnImage) {
  World world(options(), 700);
  const auto gone = ids_from(100, 50);
  ASSERT_TRUE(world.index.remove(gone).ok());
  for (const std::uint64_t id : gone) world.model.erase(id);
  const std::vector<std::byte> bytes = world.index.to_bytes().value();
  Index loaded = Index::from_bytes(bytes).value();
  EXPECT_EQ(loaded.options().originals, options().originals);
  Reader reader = loaded.reader();
  for (const auto& [id, row] : world.model) ASSERT_EQ(reader.get(id).value(), row) << id;
  const std::vector<float> query = vector_of(4, kDim);
  EXPECT_TRUE(equal_hits(copy_of(reader.search(query, wanting(10, {})).value()),
                         copy_of(world.reader.search(query, wanting(10, {})).value())));
  EXPECT_EQ(loaded.to_bytes().value(), bytes);
}

std::string name(const testing::TestParamInfo<std::tuple<Originals, Metric>>& info) {
  const char* kinds[] = {"none", "float16", "float32"};
  const char* metrics[] = {"cosine", "ip", "l2"};
  return std::string(kinds[static_cast<int>(std::get<0>(info.param))]) + "_" +
         metrics[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(Kept, EveryOriginals,
                         testing::Combine(testing::Values(Originals::float16, Originals::float32),
                                          testing::Values(Metric::cosine, Metric::ip, Metric::l2)),
                         name);

TEST(OriginalsFiles, AnImageWithWhatNoOriginalCanBeIsCorrupt) {
  for (const Originals originals : {Originals::float16, Originals::float32}) {
    World world(keeping(originals), 3);
    const std::vector<std::byte> good = world.index.to_bytes().value();
    ASSERT_TRUE(Index::from_bytes(good).ok());
    // The last coordinate of the last row: an infinity, with its checksums made anew.
    std::vector<std::byte> bad = good;
    const bool half = originals == Originals::float16;
    bad[bad.size() - 1] = half ? std::byte{0x7c} : std::byte{0x7f};
    bad[bad.size() - 2] = half ? std::byte{0x00} : std::byte{0x80};
    storage::ImageHeader header =
        storage::read_header(std::span(bad).first<storage::kImageHeaderBytes>()).value();
    const auto payload = std::span(bad).subspan(storage::kImageHeaderBytes);
    header.payload_checksum = checksum64(payload.data(), payload.size());
    storage::write_header(std::span(bad).first<storage::kImageHeaderBytes>(), header);
    EXPECT_EQ(Index::from_bytes(bad).code(), Code::corrupt);
    // The same way with other bytes is none.
    bad[bad.size() - 1] = bad[bad.size() - 2] = std::byte{0};
    header.payload_checksum = checksum64(payload.data(), payload.size());
    storage::write_header(std::span(bad).first<storage::kImageHeaderBytes>(), header);
    EXPECT_TRUE(Index::from_bytes(bad).ok());
  }
}

TEST(OriginalsFiles, AreRefusedBeforeAnythingIsWritten) {
  World world(keeping(Originals::float16), 40);
  const auto unsupported = [](const Status& status) {
    return status.code() == Code::unsupported &&
           status.a() == static_cast<std::uint64_t>(OptionName::originals);
  };
  const std::string path = testing::TempDir() + "vicinal-originals.vic";
  EXPECT_TRUE(unsupported(world.index.save(path)));
  OpenOptions options;
  options.create = keeping(Originals::float16);
  EXPECT_TRUE(unsupported(Index::open(path, options).status()));
  EXPECT_EQ(Index::open(path).code(), Code::io);
}

}  // namespace
}  // namespace vicinal::test
