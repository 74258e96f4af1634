#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "support/assert_report.hpp"
#include "support/index_world.hpp"

namespace vicinal::test {
namespace {

[[maybe_unused]] const bool kAssertsReported = report_asserts();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kDim = 20;

Index make(const IndexOptions& options = small_options(kDim)) {
  return std::move(Index::create(options)).value();
}

Result<Receipt> add(Index& index, const std::vector<std::uint64_t>& ids,
                    std::uint64_t revision = 0) {
  return index.add(ids, rows_of(ids, index.options().dim, revision));
}

Result<Receipt> upsert(Index& index, const std::vector<std::uint64_t>& ids,
                       std::uint64_t revision) {
  return index.upsert(ids, rows_of(ids, index.options().dim, revision));
}

// Everything that a failed write may not touch.
struct State {
  std::uint64_t rows, dead, sequence;
  std::vector<Hit> hits;
  explicit State(const Index& index) {
    const auto stats = index.try_stats();
    rows = stats->rows;
    dead = stats->dead;
    sequence = stats->sequence;
    Reader reader = index.reader();
    SearchOptions all;
    all.k = 100'000;
    all.exhaustive = true;
    hits = copy_of(*reader.search(vector_of(99, index.options().dim), all));
  }
  friend bool operator==(const State& a, const State& b) {
    return a.rows == b.rows && a.dead == b.dead && a.sequence == b.sequence &&
           equal_hits(a.hits, b.hits);
  }
};

void expect_status(const Status& status, Code code, std::uint64_t a, std::uint64_t b) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_EQ(status.a(), a);
  EXPECT_EQ(status.b(), b);
}

TEST(Index, OptionsOutsideTheirRangeAreNamed) {
  const auto refused = [](auto change) {
    IndexOptions options = small_options(8);
    change(options);
    const auto made = Index::create(options);
    EXPECT_FALSE(made.ok());
    return made.ok() ? Status() : made.status();
  };
  const auto option = [](OptionName name) { return static_cast<std::uint64_t>(name); };
  for (const std::uint32_t dim : {0u, 16385u, ~0u}) {
    expect_status(refused([&](IndexOptions& o) { o.dim = dim; }), Code::bad_option,
                  option(OptionName::dim), 0);
  }
  for (const int bits : {0, 5, 6, 7, 9, 255}) {
    expect_status(refused([&](IndexOptions& o) { o.bits = static_cast<std::uint8_t>(bits); }),
                  Code::bad_option, option(OptionName::bits), 0);
  }
  expect_status(refused([](IndexOptions& o) { o.metric = static_cast<Metric>(3); }),
                Code::bad_option, option(OptionName::metric), 0);
  expect_status(refused([](IndexOptions& o) { o.originals = static_cast<Originals>(9); }),
                Code::bad_option, option(OptionName::originals), 0);
  expect_status(refused([](IndexOptions& o) { o.partitions.mode = Partitions::Mode::count; }),
                Code::unsupported, option(OptionName::partitions), 0);
}

TEST(Index, ReceiptsNameTheFirstVersionThatShowsTheWrite) {
  Index index = make();
  Reader reader = index.reader();
  auto receipt = add(index, ids_from(0, 50));
  EXPECT_EQ(receipt->sequence, 1u);
  EXPECT_EQ(receipt->count, 50u);
  receipt = upsert(index, ids_from(40, 20), 1);
  EXPECT_EQ(receipt->sequence, 2u);
  EXPECT_EQ(receipt->count, 20u);
  EXPECT_EQ(reader.size(), 60u);
  receipt = index.remove(ids_from(55, 100));
  EXPECT_EQ(receipt->sequence, 3u);
  EXPECT_EQ(receipt->count, 5u);
  receipt = index.clear();
  EXPECT_EQ(receipt->sequence, 4u);
  EXPECT_EQ(receipt->count, 55u);
  EXPECT_EQ(reader.count().rows, 0u);
  EXPECT_EQ(reader.count().sequence, 4u);
  EXPECT_EQ(index.try_stats()->dead, 0u);
  EXPECT_EQ(index.stats().rows, index.try_stats()->rows);
}

TEST(Index, ASearchSeesTheWriteWhoseSequenceItAsksForOrSaysWhatItSees) {
  Index index = make();
  ASSERT_TRUE(add(index, ids_from(0, 50)).ok());
  Reader reader = index.reader();
  Snapshot old = reader.snapshot();
  const auto query = vector_of(99, index.options().dim);
  const auto ids = ids_from(7, 1);
  for (std::uint64_t revision = 1; revision <= 3; ++revision) {
    SearchOptions options;
    options.k = 50;
    options.min_sequence = upsert(index, ids, revision)->sequence;
    EXPECT_EQ(reader.search(query, options)->sequence(), options.min_sequence);
    EXPECT_TRUE(reader.search_batch(query, options).ok());
    expect_status(old.search(query, options).status(), Code::would_block, 1, revision + 1);
    expect_status(old.search_batch(query, options).status(), Code::would_block, 1, revision + 1);
    options.min_sequence += 1;
    expect_status(reader.search_batch({}, options).status(), Code::would_block, revision + 1,
                  revision + 2);
    for (const std::size_t k : {std::size_t{0}, std::size_t{5}}) {
      options.k = k;
      const Status early = reader.search(query, options).status();
      expect_status(early, Code::would_block, revision + 1, revision + 2);
      EXPECT_NE(early.message().find(std::to_string(revision + 2)), std::string::npos);
    }
    // What is wrong with the search itself comes first, whatever the version.
    options.certainty = -1;
    EXPECT_EQ(reader.search(query, options).code(), Code::bad_option);
  }
  SearchOptions any;
  any.min_sequence = 1;
  EXPECT_TRUE(old.search(query, any).ok());
}

TEST(Index, WritesThatChangeNothingMakeNoVersion) {
  Index index = make();
  EXPECT_EQ(index.clear()->sequence, 0u);
  ASSERT_TRUE(add(index, ids_from(0, 10)).ok());
  const State before(index);
  for (const auto& receipt :
       {add(index, {}), upsert(index, {}, 1), index.remove({}), index.remove(ids_from(100, 9))}) {
    ASSERT_TRUE(receipt.ok());
    EXPECT_EQ(receipt->sequence, 1u);
    EXPECT_EQ(receipt->count, 0u);
  }
  EXPECT_EQ(State(index), before);
  EXPECT_EQ(index.clear()->sequence, 2u);
  EXPECT_EQ(index.clear()->sequence, 2u);
}

TEST(Index, AFailedWriteLeavesSizeSequenceAndResultsAsBefore) {
  Index index = make();
  ASSERT_TRUE(add(index, ids_from(0, 150)).ok());
  ASSERT_TRUE(index.remove(ids_from(3, 4)).ok());
  const State before(index);
  expect_status(add(index, {500, 501, 9}).status(), Code::duplicate_id, 9, 0);
  expect_status(add(index, {500, 501, 500}).status(), Code::duplicate_id, 500, 0);
  const std::vector<float> rows(kDim * 3);
  const std::vector<std::uint64_t> ids = {500, 501, 502};
  expect_status(index.add(ids, std::span(rows).first(kDim * 2)).status(), Code::dimension,
                kDim * 2, kDim * 3);
  expect_status(index.upsert(ids, std::span(rows).first(kDim * 3 - 1)).status(), Code::dimension,
                kDim * 3 - 1, kDim * 3);
  expect_status(index.add({}, rows).status(), Code::dimension, kDim * 3, 0);
  for (const float bad : {kNan, kInfinity, -kInfinity, 1e16f, -2e16f}) {
    for (const std::uint32_t at : {0u, kDim - 1, kDim + 7, 3 * kDim - 1}) {
      std::vector<float> broken(rows);
      broken[at] = bad;
      expect_status(index.add(ids, broken).status(), Code::not_finite, at / kDim, at % kDim);
      expect_status(index.upsert(ids, broken).status(), Code::not_finite, at / kDim, at % kDim);
    }
  }
  EXPECT_EQ(State(index), before);
}

TEST(Index, ARemovedIdMayBeAddedAgainAndAnUpsertTakesTheLastRowOfAnId) {
  Index index = make();
  ASSERT_TRUE(add(index, {1, 2, 3}).ok());
  ASSERT_TRUE(index.remove(std::vector<std::uint64_t>{2}).ok());
  ASSERT_TRUE(add(index, {2}, 5).ok());
  Reader reader = index.reader();
  Index other = make();
  ASSERT_TRUE(add(other, {2}, 5).ok());
  EXPECT_EQ(*reader.get(2), *other.reader().get(2));
  std::vector<float> rows = rows_of(std::vector<std::uint64_t>{2}, kDim, 8);
  const auto last = rows_of(std::vector<std::uint64_t>{2}, kDim, 9);
  rows.insert(rows.end(), last.begin(), last.end());
  EXPECT_EQ(index.upsert(std::vector<std::uint64_t>{2, 2}, rows)->count, 2u);
  EXPECT_EQ(index.remove(std::vector<std::uint64_t>{1, 1, 1})->count, 1u);
  ASSERT_TRUE(upsert(other, {2}, 9).ok());
  EXPECT_EQ(*reader.get(2), *other.reader().get(2));
  EXPECT_EQ(reader.size(), 2u);
}

TEST(Index, AnyIdIsAllowed) {
  Index index = make();
  const std::vector<std::uint64_t> ids = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  ASSERT_TRUE(add(index, ids).ok());
  Reader reader = index.reader();
  for (const std::uint64_t id : ids) EXPECT_TRUE(reader.has(id));
  EXPECT_FALSE(reader.has(2));
  expect_status(reader.get(2).status(), Code::unknown_id, 2, 0);
  std::vector<float> wrong(kDim - 1);
  expect_status(reader.get_into(0, wrong), Code::dimension, kDim - 1, kDim);
}

TEST(Index, KMayBeZeroOrMoreThanThereIs) {
  Index index = make();
  Reader reader = index.reader();
  const auto query = vector_of(1, kDim);
  for (const std::size_t k : {std::size_t{0}, std::size_t{10}, ~std::size_t{0}}) {
    SearchOptions options;
    options.k = k;
    EXPECT_EQ(reader.search(query, options)->size(), 0u);
  }
  ASSERT_TRUE(add(index, ids_from(0, 37)).ok());
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{36}, std::size_t{37},
                              std::size_t{38}, ~std::size_t{0}}) {
    SearchOptions options;
    options.k = k;
    EXPECT_EQ(reader.search(query, options)->size(), std::min<std::size_t>(k, 37));
  }
  EXPECT_EQ(reader.search_batch({})->size(), 0u);
  const std::vector<float> ragged(kDim + 1);
  expect_status(reader.search_batch(ragged).status(), Code::dimension, 1, kDim);
}

TEST(Index, ABatchOfQueriesEqualsItsSingleSearches) {
  Index index = make(small_options(kDim, Metric::l2, 3));
  ASSERT_TRUE(add(index, ids_from(0, 500)).ok());
  Reader reader = index.reader();
  std::vector<float> queries;
  for (std::uint64_t q = 0; q < 9; ++q) {
    const auto query = vector_of(q, kDim);
    queries.insert(queries.end(), query.begin(), query.end());
  }
  const auto batch = reader.search_batch(queries);
  ASSERT_EQ(batch->size(), 9u);
  for (std::size_t q = 0; q < 9; ++q) {
    const auto one = reader.search(std::span(queries).subspan(q * kDim, kDim));
    EXPECT_TRUE(equal_hits(copy_of(*one), copy_of((*batch)[q])));
    EXPECT_EQ((*batch)[q].sequence(), one->sequence());
  }
}

TEST(Index, ASnapshotKeepsItsVersionOnAnotherThreadWhenItsParentIsGone) {
  Index index = make();
  ASSERT_TRUE(add(index, ids_from(0, 300)).ok());
  SearchOptions all;
  all.k = 300;
  const auto query = vector_of(5, kDim);
  Reader reader = index.reader();
  const auto expected = copy_of(*reader.search(query, all));
  Snapshot inner = [&] {
    Snapshot outer = reader.snapshot();
    Snapshot middle = outer.snapshot();
    EXPECT_TRUE(upsert(index, ids_from(0, 300), 3).ok());
    return middle.snapshot();
  }();
  ASSERT_TRUE(index.clear().ok());
  ASSERT_TRUE(add(index, ids_from(1000, 500)).ok());
  index.pump(0);
  std::thread([&] {
    Snapshot mine = std::move(inner);
    EXPECT_EQ(mine.count().sequence, 1u);
    EXPECT_TRUE(equal_hits(copy_of(*mine.search(query, all)), expected));
    EXPECT_TRUE(mine.has(299));
    EXPECT_FALSE(mine.has(1000));
  }).join();
  EXPECT_FALSE(equal_hits(copy_of(*reader.search(query, all)), expected));
  index.pump(0);
  EXPECT_EQ(index.try_stats()->retired_bytes, 0u);
}

TEST(Index, AWeakReferenceOwnsNothing) {
  WeakIndex weak;
  EXPECT_EQ(weak.lock().code(), Code::closed);
  std::optional<Reader> reader;
  {
    Index index = make();
    weak = index.weak();
    ASSERT_TRUE(add(index, {4}).ok());
    Index second = std::move(weak.lock()).value();
    EXPECT_EQ(second.remove(std::vector<std::uint64_t>{4})->count, 1u);
    reader = index.reader();
  }
  EXPECT_TRUE(weak.lock().ok());  // the reader keeps the index
  EXPECT_EQ(reader->count().sequence, 2u);
  reader.reset();
  EXPECT_EQ(weak.lock().code(), Code::closed);
}

TEST(Index, AfterCloseEverythingSaysSo) {
  Index index = make();
  ASSERT_TRUE(add(index, {1, 2}).ok());
  Reader reader = index.reader();
  Snapshot snapshot = reader.snapshot();
  WriteQueue queue = index.write_queue();
  PendingWrite early = std::move(queue.make(WriteKind::clear, 0)).value();
  ASSERT_TRUE(queue.submit(early).ok());
  PendingWrite late = std::move(queue.make(WriteKind::clear, 0)).value();
  index.share().close();
  const std::vector<std::uint64_t> ids = {7};
  const auto rows = rows_of(ids, kDim);
  EXPECT_EQ(index.add(ids, rows).code(), Code::closed);
  EXPECT_EQ(index.add({}, {}).code(), Code::closed);
  EXPECT_EQ(index.upsert(ids, rows).code(), Code::closed);
  EXPECT_EQ(index.remove(ids).code(), Code::closed);
  EXPECT_EQ(index.clear().code(), Code::closed);
  EXPECT_EQ(index.try_stats().code(), Code::closed);
  EXPECT_EQ(index.stats().rows, 0u);
  EXPECT_EQ(index.to_bytes().code(), Code::closed);
  EXPECT_EQ(index.save("never.vic").code(), Code::closed);
  EXPECT_EQ(index.reader().status().code(), Code::closed);
  EXPECT_EQ(index.helper().code(), Code::closed);
  EXPECT_EQ(index.set_helpers(1).code(), Code::closed);
  EXPECT_TRUE(index.set_helpers(0).ok());
  EXPECT_EQ(queue.submit(late).code(), Code::closed);
  for (Reader* each : {&reader, &snapshot}) {
    EXPECT_EQ(each->status().code(), Code::closed);
    EXPECT_EQ(each->search(rows).code(), Code::closed);
    EXPECT_EQ(each->search_batch(rows).code(), Code::closed);
    EXPECT_EQ(each->get(1).code(), Code::closed);
    EXPECT_FALSE(each->has(1));
    EXPECT_EQ(each->count().rows, 0u);
    EXPECT_EQ(each->snapshot().status().code(), Code::closed);
  }
  EXPECT_EQ(early.result().code(), Code::would_block);
  EXPECT_EQ(index.pump(1000), 1u);
  EXPECT_EQ(early.result().code(), Code::closed);
}

TEST(Index, AReadOnlyIndexRefusesEveryWrite) {
  Index writable = make();
  ASSERT_TRUE(add(writable, {1, 2}).ok());
  const auto bytes = writable.to_bytes();
  OpenOptions options;
  options.read_only = true;
  Index index = std::move(Index::from_bytes(*bytes, options)).value();
  EXPECT_EQ(add(index, {5}).code(), Code::read_only);
  EXPECT_EQ(upsert(index, {1}, 1).code(), Code::read_only);
  EXPECT_EQ(index.remove(ids_from(1, 1)).code(), Code::read_only);
  EXPECT_EQ(index.clear().code(), Code::read_only);
  EXPECT_EQ(index.share().clear().code(), Code::read_only);
  EXPECT_EQ(index.weak().lock()->clear().code(), Code::read_only);
  WriteQueue queue = index.write_queue();
  PendingWrite write = std::move(queue.make(WriteKind::clear, 0)).value();
  EXPECT_EQ(queue.submit(write).code(), Code::read_only);
  EXPECT_EQ(index.reader().size(), 2u);
}

}  // namespace
}  // namespace vicinal::test
