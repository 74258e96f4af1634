// Index::calibrate: what it is for, when it may be called, and what readers see of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "storage/image.hpp"
#include "support/index_world.hpp"
#include "support/test_scale.hpp"
#include "support/vectors.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 24;
constexpr std::uint8_t kAllBits[] = {1, 2, 3, 4, 8};

std::vector<float> sample_of(std::uint64_t revision, std::uint32_t dim = kDim) {
  std::vector<float> sample = rows_of(ids_from(0, 60), dim, revision);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    sample[i] += static_cast<float>((i % dim + revision) % 3);
  }
  return sample;
}

Index make(Metric metric = Metric::cosine, std::uint8_t bits = 4, std::uint32_t dim = kDim) {
  return std::move(Index::create(small_options(dim, metric, bits))).value();
}

Code refusal(const Result<Receipt>& result, OptionName* option) {
  *option = static_cast<OptionName>(result.status().a());
  return result.code();
}

// A mixture of clusters, away from zero by `offset` in each coordinate.
VectorSet mixture(std::uint32_t dim, std::size_t rows, float offset, std::uint64_t seed) {
  constexpr std::size_t kClusters = 40;
  const VectorSet centres = random_vectors(dim, kClusters, 77);
  VectorSet set = random_vectors(dim, rows, seed);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      set.values[i * dim + j] += centres.row(i % kClusters)[j] + offset;
    }
  }
  return set;
}

struct Counts {
  std::size_t same = 0;    // hits of the default search that the exhaustive one has
  std::size_t right = 0;   // hits among the true ten
  std::size_t total = 0;
};

std::vector<std::uint64_t> ten(Reader& reader, const float* query, std::uint32_t dim,
                               bool exhaustive) {
  SearchOptions options;
  options.exhaustive = exhaustive;
  const auto hits = reader.search({query, dim}, options);
  EXPECT_TRUE(hits.ok());
  return {hits->ids().begin(), hits->ids().end()};
}

double true_score(const float* q, const float* x, std::uint32_t dim, Metric metric) {
  double qx = 0;
  double x2 = 0;
  double apart2 = 0;
  for (std::uint32_t j = 0; j < dim; ++j) {
    qx += double{q[j]} * double{x[j]};
    x2 += double{x[j]} * double{x[j]};
    apart2 += (double{q[j]} - double{x[j]}) * (double{q[j]} - double{x[j]});
  }
  return metric == Metric::l2 ? -apart2 : qx / std::sqrt(x2);
}

std::vector<std::uint64_t> true_ten(const VectorSet& rows, const float* query, Metric metric) {
  std::vector<std::pair<double, std::uint64_t>> all(rows.rows());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    all[i] = {-true_score(query, rows.row(i), rows.dim, metric), i};
  }
  std::partial_sort(all.begin(), all.begin() + 10, all.end());
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(all[static_cast<std::size_t>(i)].second);
  return ids;
}

Counts count(Metric metric, std::uint8_t bits, const VectorSet& rows, const VectorSet& queries,
             bool calibrated) {
  Index index = make(metric, bits, rows.dim);
  EXPECT_TRUE(!calibrated || index.calibrate(rows.values).ok());
  EXPECT_TRUE(index.add(ids_from(0, rows.rows()), rows.values).ok());
  Reader reader = index.reader();
  Counts counts;
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const auto all = ten(reader, queries.row(q), rows.dim, true);
    const auto truth = true_ten(rows, queries.row(q), metric);
    for (const std::uint64_t id : ten(reader, queries.row(q), rows.dim, false)) {
      counts.same += std::count(all.begin(), all.end(), id) > 0 ? 1 : 0;
      counts.right += std::count(truth.begin(), truth.end(), id) > 0 ? 1 : 0;
    }
    counts.total += 10;
  }
  return counts;
}

TEST(Calibrate, TheTopTenAreThoseOfTheFullScan) {
  const std::string path = std::string(VICINAL_TEST_DATA) + "/glove100-2k";
  const VectorSet words = read_fvecs(path + ".base.fvecs");
  const VectorSet asked = read_fvecs(path + ".query.fvecs");
  const VectorSet mixed = mixture(96, 2000, 0.6f, 1);
  const VectorSet queries = mixture(96, 100, 0.6f, 2);
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    Counts sum;
    for (const std::uint8_t bits : kAllBits) {
      for (const Counts& one : {count(metric, bits, words, asked, true),
                                count(metric, bits, mixed, queries, true)}) {
        sum.same += one.same;
        sum.total += one.total;
      }
    }
    EXPECT_EQ(sum.total, 10'000u);
    EXPECT_GE(sum.same, sum.total - sum.total / 1000) << static_cast<int>(metric);
  }
}

TEST(Calibrate, RaisesRecallWhereRowsLieOffCentre) {
  const VectorSet rows = mixture(96, 2000, 2, 3);
  const VectorSet queries = mixture(96, 60, 2, 4);
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    for (const std::uint8_t bits : std::span(kAllBits).first(4)) {
      const Counts plain = count(metric, bits, rows, queries, false);
      const Counts moved = count(metric, bits, rows, queries, true);
      EXPECT_GT(moved.right, plain.right + 10) << static_cast<int>(metric) << ' ' << int{bits};
      std::printf("metric %d, %d bits: %d of %d, calibrated %d\n", static_cast<int>(metric),
                  int{bits}, static_cast<int>(plain.right), static_cast<int>(plain.total),
                  static_cast<int>(moved.right));
    }
  }
}

// The same distances, far from zero: without an origin the codes see hardly anything else.
TEST(Calibrate, MakesRecallOfDistancesIndependentOfWhereRowsLie) {
  const std::string path = std::string(VICINAL_TEST_DATA) + "/glove100-2k";
  VectorSet words = read_fvecs(path + ".base.fvecs");
  VectorSet asked = read_fvecs(path + ".query.fvecs");
  const Counts here = count(Metric::l2, 4, words, asked, true);
  for (VectorSet* set : {&words, &asked}) {
    for (float& value : set->values) value += 10;
  }
  const Counts there = count(Metric::l2, 4, words, asked, true);
  const Counts plain = count(Metric::l2, 4, words, asked, false);
  EXPECT_NEAR(static_cast<double>(there.right), static_cast<double>(here.right), 20);
  EXPECT_LT(plain.right * 10, there.right * 8);
}

TEST(Calibrate, IsOnlyForAnIndexWithoutRows) {
  Index index = make();
  OptionName option{};
  const auto ids = ids_from(0, 50);
  ASSERT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
  EXPECT_EQ(refusal(index.calibrate(sample_of(1)), &option), Code::bad_option);
  EXPECT_EQ(option, OptionName::calibrate);
  EXPECT_FALSE(index.stats().calibrated);
  ASSERT_TRUE(index.remove(ids_from(0, 49)).ok());
  EXPECT_EQ(index.calibrate(sample_of(1)).code(), Code::bad_option);
  // Dead rows do not count: their codes are never read again.
  ASSERT_TRUE(index.remove(ids_from(49, 1)).ok());
  ASSERT_TRUE(index.calibrate(sample_of(1)).ok());
  EXPECT_TRUE(index.stats().calibrated);
  EXPECT_EQ(index.stats().dead, 0u);
  ASSERT_TRUE(index.add(ids, rows_of(ids, kDim)).ok());
  ASSERT_TRUE(index.clear().ok());
  EXPECT_TRUE(index.stats().calibrated);
  ASSERT_TRUE(index.calibrate(sample_of(2)).ok());
}

TEST(Calibrate, BadSamplesAreTypedErrorsAndChangeNothing) {
  Index index = make();
  OptionName option{};
  const auto sample = sample_of(1);
  const std::span<const float> all(sample);
  EXPECT_EQ(refusal(index.calibrate({}), &option), Code::bad_option);
  EXPECT_EQ(option, OptionName::sample);
  EXPECT_EQ(index.calibrate(all.first(31 * kDim)).code(), Code::bad_option);
  EXPECT_EQ(index.calibrate(all.first(40 * kDim + 1)).code(), Code::dimension);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 1e16f}) {
    auto damaged = sample;
    damaged[33 * kDim + 5] = bad;
    const auto refused = index.calibrate(damaged);
    EXPECT_EQ(refused.code(), Code::not_finite);
    EXPECT_EQ(refused.status().a(), 33u);
    EXPECT_EQ(refused.status().b(), 5u);
  }
  EXPECT_EQ(make(Metric::ip).calibrate(sample).code(), Code::unsupported);
  EXPECT_EQ(index.stats().sequence, 0u);
  EXPECT_FALSE(index.stats().calibrated);
  EXPECT_TRUE(index.calibrate(all.first(32 * kDim)).ok());
  index.close();
  EXPECT_EQ(index.calibrate(sample).code(), Code::closed);
  OpenOptions read_only;
  read_only.read_only = true;
  Index opened = std::move(Index::from_bytes(*make().to_bytes(), read_only)).value();
  EXPECT_EQ(opened.calibrate(sample).code(), Code::read_only);
}

TEST(Calibrate, ItsMemoryIsCountedAndBounded) {
  Index index = make(Metric::l2, 4, 16384);
  const auto before = index.stats().version_bytes;
  const auto sample = rows_of(ids_from(0, 32), 16384);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(index.calibrate(sample).ok());
  EXPECT_NEAR(static_cast<double>(index.stats().version_bytes - before), 65536, 1000);
  index.pump(0);
  EXPECT_EQ(index.stats().retired_bytes, 0u);

  IndexOptions options = small_options(16384);
  options.memory_bytes_max = 30'000;
  Index small = std::move(Index::create(options)).value();
  EXPECT_EQ(small.calibrate(sample).code(), Code::full);
  EXPECT_FALSE(small.stats().calibrated);
}

TEST(Calibrate, ZeroRowsAndZeroQueriesScoreZeroForCosine) {
  Index index = make();
  ASSERT_TRUE(index.calibrate(sample_of(1)).ok());
  auto rows = rows_of(ids_from(0, 100), kDim);
  std::fill(rows.begin() + 7 * kDim, rows.begin() + 8 * kDim, 0.0f);
  ASSERT_TRUE(index.add(ids_from(0, 100), rows).ok());
  Reader reader = index.reader();
  SearchOptions all;
  all.k = 100;
  for (const bool exhaustive : {false, true}) {
    all.exhaustive = exhaustive;
    for (std::uint64_t q = 0; q < 20; ++q) {
      bool found = false;
      const auto hits = reader.search(vector_of(q, kDim), all);
      ASSERT_TRUE(hits.ok());
      for (const Hit hit : *hits) {
        if (hit.id != 7) continue;
        found = true;
        EXPECT_EQ(hit.score, 0);
      }
      EXPECT_TRUE(found);
    }
    const auto none = reader.search(std::vector<float>(kDim), all);
    EXPECT_EQ(none->size(), 100u);
    for (const Hit hit : *none) EXPECT_EQ(hit.score, 0);
  }
  EXPECT_EQ(*reader.get(7), std::vector<float>(kDim));
}

TEST(Calibrate, RowsAndQueriesAtTheOriginAreFound) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    Index index = make(metric);
    std::vector<float> sample;
    const auto centre = vector_of(5, kDim);
    for (int i = 0; i < 32; ++i) sample.insert(sample.end(), centre.begin(), centre.end());
    ASSERT_TRUE(index.calibrate(sample).ok());
    ASSERT_TRUE(index.add(ids_from(0, 60), rows_of(ids_from(0, 60), kDim)).ok());
    ASSERT_TRUE(index.add(ids_from(60, 1), centre).ok());
    Reader reader = index.reader();
    const auto hits = reader.search(centre);
    EXPECT_EQ(hits->ids()[0], 60u);
    EXPECT_NEAR(hits->scores()[0], metric == Metric::cosine ? 1 : 0, 1e-5);
    EXPECT_LT(hits->scores()[1], hits->scores()[0]);
  }
}

TEST(Calibrate, AWriteMadeBeforeIsRefusedBehindItAndGoesThroughWhenMadeAgain) {
  Index index = make();
  WriteQueue queue = index.write_queue();
  const auto ids = ids_from(0, 3);
  const auto made = [&] {
    PendingWrite write = std::move(queue.make(WriteKind::add, 3)).value();
    std::copy(ids.begin(), ids.end(), write.ids().begin());
    EXPECT_TRUE(write.encode(0, rows_of(ids, kDim)).ok());
    return write;
  };
  PendingWrite early = made();
  PendingWrite calibrate = std::move(queue.make(WriteKind::calibrate, 60)).value();
  EXPECT_EQ(calibrate.count(), 60u);
  EXPECT_TRUE(calibrate.ids().empty());
  EXPECT_EQ(queue.submit(calibrate).code(), Code::bad_option);  // rows are missing
  ASSERT_TRUE(calibrate.encode(0, sample_of(1)).ok());
  ASSERT_TRUE(queue.submit(calibrate).ok());
  ASSERT_TRUE(queue.submit(early).ok());
  while (!early.done()) index.pump(1000);
  EXPECT_TRUE(calibrate.result().ok());
  OptionName option{};
  EXPECT_EQ(refusal(early.result(), &option), Code::bad_option);
  EXPECT_EQ(option, OptionName::stale_write);
  EXPECT_EQ(index.stats().rows, 0u);
  PendingWrite late = made();
  ASSERT_TRUE(queue.submit(late).ok());
  while (!late.done()) index.pump(1000);
  EXPECT_EQ(late.result()->count, 3u);
}

TEST(Calibrate, ASnapshotKeepsTheOriginOfItsRows) {
  Index index = make();
  Reader reader = index.reader();
  std::vector<Snapshot> snapshots;
  std::vector<std::vector<Hit>> before;
  std::vector<std::vector<float>> vectors;
  for (std::uint64_t revision = 0; revision < 4; ++revision) {
    ASSERT_TRUE(index.clear().ok());
    ASSERT_TRUE(revision == 0 || index.calibrate(sample_of(revision)).ok());
    ASSERT_TRUE(index.add(ids_from(0, 90), rows_of(ids_from(0, 90), kDim, revision)).ok());
    snapshots.push_back(reader.snapshot());
    before.push_back(copy_of(*snapshots.back().search(vector_of(1, kDim))));
    vectors.push_back(*snapshots.back().get(3));
  }
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    EXPECT_TRUE(equal_hits(copy_of(*snapshots[i].search(vector_of(1, kDim))), before[i])) << i;
    EXPECT_EQ(*snapshots[i].get(3), vectors[i]) << i;
    EXPECT_TRUE(i == 0 || !equal_hits(before[i], before[i - 1])) << i;
  }
}

// Readers beside a writer that clears, calibrates and fills: every result is one of the two that
// whole versions have, or empty.
TEST(Calibrate, ReadersSeeRowsAndTheirOriginTogether) {
  const auto ids = ids_from(0, 40);
  const auto rows = rows_of(ids, kDim);
  const auto query = vector_of(1, kDim);
  Index index = make();
  std::vector<Hit> expected[2];
  for (std::uint64_t i = 0; i < 2; ++i) {
    Index alone = make();
    ASSERT_TRUE(alone.calibrate(sample_of(i)).ok());
    ASSERT_TRUE(alone.add(ids, rows).ok());
    expected[i] = copy_of(*alone.reader().search(query));
  }
  ASSERT_FALSE(equal_hits(expected[0], expected[1]));
  ASSERT_TRUE(index.calibrate(sample_of(0)).ok());  // rows without an origin are not among those
  sync::Atomic<std::uint32_t> stop;
  sync::Atomic<std::uint32_t> wrong;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      Reader reader = index.reader();
      while (stop.load(sync::acquire) == 0) {
        const auto hits = copy_of(*reader.search(query));
        const bool right = hits.empty() || equal_hits(hits, expected[0]) ||
                           equal_hits(hits, expected[1]);
        if (!right) wrong.store(1, sync::release);
      }
    });
  }
  // Adds meet calibrations that came in between, and encode once more; not for ever where, as here,
  // one follows the other.
  threads.emplace_back([&] {
    while (stop.load(sync::acquire) == 0) {
      const Status upserted = index.upsert(ids, rows).status();
      const bool stale = upserted.code() == Code::bad_option &&
                         upserted.a() == static_cast<std::uint64_t>(OptionName::stale_write);
      if (!upserted.ok() && !stale) wrong.store(2, sync::release);
    }
  });
  for (std::uint64_t i = 0; i < scaled(300); ++i) {
    ASSERT_TRUE(index.clear().ok());
    const auto calibrated = index.calibrate(sample_of(i % 2));
    ASSERT_TRUE(calibrated.ok() || calibrated.code() == Code::bad_option);
  }
  stop.store(1, sync::release);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(sync::acquire), 0u);
}

using Bytes = std::vector<std::byte>;
constexpr std::size_t kPayload = storage::kImageHeaderBytes;
constexpr std::size_t kHead = 40;

Index calibrated(Metric metric, std::uint8_t bits, std::uint32_t dim, std::uint64_t rows) {
  Index index = make(metric, bits, dim);
  EXPECT_TRUE(index.calibrate(sample_of(1, dim)).ok());
  auto vectors = rows_of(ids_from(0, rows), dim);
  if (rows > 3) std::fill(vectors.begin() + dim, vectors.begin() + 2 * dim, 0.0f);
  EXPECT_TRUE(index.add(ids_from(0, rows), vectors).ok());
  return index;
}

std::uint32_t format_of(const Bytes& image) {
  std::uint32_t version = 0;
  std::memcpy(&version, image.data() + 8, sizeof version);
  return version;
}

TEST(CalibratedImage, AnswersBitForBitAsBefore) {
  for (const Metric metric : {Metric::cosine, Metric::l2}) {
    for (const std::uint8_t bits : kAllBits) {
      for (const std::uint64_t rows : {0u, 77u}) {
        const Index index = calibrated(metric, bits, 19, rows);
        const auto bytes = *index.to_bytes();
        EXPECT_EQ(format_of(bytes), 2u);
        Index loaded = std::move(Index::from_bytes(bytes)).value();
        EXPECT_TRUE(loaded.stats().calibrated);
        EXPECT_EQ(*loaded.to_bytes(), bytes);
        SearchOptions all;
        all.k = 100;
        const auto query = vector_of(3, 19);
        EXPECT_TRUE(equal_hits(copy_of(*index.reader().search(query, all)),
                               copy_of(*loaded.reader().search(query, all))));
        // Rows that are added afterwards are measured from the same origin.
        Index both = calibrated(metric, bits, 19, rows);
        for (Index* each : {&loaded, &both}) {
          ASSERT_TRUE(each->add(ids_from(500, 9), rows_of(ids_from(500, 9), 19)).ok());
        }
        EXPECT_EQ(*loaded.to_bytes(), *both.to_bytes());
      }
    }
  }
}

TEST(CalibratedImage, WithoutACalibrationTheFormatStaysTheFirst) {
  EXPECT_EQ(format_of(*make().to_bytes()), 1u);
}

TEST(CalibratedImage, EveryFlippedBitAndEveryOtherLengthIsATypedError) {
  const Bytes bytes = *calibrated(Metric::cosine, 4, 3, 5).to_bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes damaged(bytes);
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_EQ(Index::from_bytes(damaged).code(), Code::corrupt) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(Index::from_bytes(std::span(bytes).first(size)).code(), Code::corrupt) << size;
  }
}

template <class T>
Code code_with(Bytes image, std::size_t payload_at, T value, std::uint32_t version = 2) {
  std::memcpy(image.data() + kPayload + payload_at, &value, sizeof value);
  storage::seal_image(image, version);
  return Index::from_bytes(image).code();
}

TEST(CalibratedImage, OriginsThatNoSampleGivesAreCorrupt) {
  const Bytes cosine = *calibrated(Metric::cosine, 4, 3, 5).to_bytes();
  const Bytes l2 = *calibrated(Metric::l2, 4, 3, 5).to_bytes();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_EQ(code_with(cosine, kHead, 0.1f), Code::ok);
  ASSERT_EQ(code_with(l2, kHead, 1e15f), Code::ok);
  for (const std::size_t at : {kHead, kHead + 8}) {
    for (const float bad : {nan, INFINITY, -INFINITY, 1e16f, -1e17f}) {
      EXPECT_EQ(code_with(cosine, at, bad), Code::corrupt) << bad;
      EXPECT_EQ(code_with(l2, at, bad), Code::corrupt) << bad;
    }
    EXPECT_EQ(code_with(cosine, at, 1.1f), Code::corrupt);
  }
  EXPECT_EQ(code_with(l2, kHead + 12, std::uint32_t{1}), Code::corrupt);  // padding
  EXPECT_EQ(code_with(cosine, 4, std::uint8_t{1}), Code::corrupt);        // ip
  // One format's payload under the other's number.
  EXPECT_EQ(code_with(l2, 0, std::uint32_t{3}, 1), Code::corrupt);
  EXPECT_EQ(code_with(*make(Metric::l2).to_bytes(), 0, kDim, 2), Code::corrupt);
}

TEST(CalibratedImage, FactorsOfZeroRowsAreThoseOrCorrupt) {
  const Bytes cosine = *calibrated(Metric::cosine, 4, 3, 5).to_bytes();
  const Bytes l2 = *calibrated(Metric::l2, 4, 3, 5).to_bytes();
  const std::size_t factors = kHead + 16 + 5 * 8 + 12;  // of row 1, the zero row
  ASSERT_EQ(code_with(cosine, factors + 8, -1.0f), Code::ok);
  EXPECT_EQ(code_with(cosine, factors + 8, -2.0f), Code::corrupt);
  EXPECT_EQ(code_with(cosine, factors + 4, 15.0f), Code::corrupt);
  EXPECT_EQ(code_with(cosine, factors, 1.0f), Code::corrupt);
  EXPECT_EQ(code_with(l2, factors + 8, -1.0f), Code::corrupt);
  EXPECT_EQ(code_with(l2, factors, 3.9e18f), Code::ok);
  EXPECT_EQ(code_with(l2, factors, 4.1e18f), Code::corrupt);
}

}  // namespace
}  // namespace vicinal::test
