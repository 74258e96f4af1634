// Prepared filters: kept up to date through every kind of write, and refused where they do not
// belong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {
namespace {

constexpr std::uint32_t kDim = 12;
constexpr std::uint64_t kIds = 4000;

IndexOptions small_options() {
  IndexOptions options;
  options.dim = kDim;
  options.bits = 2;
  return options;
}

std::vector<float> random_rows(std::size_t count, Random& random) {
  std::vector<float> rows(count * kDim);
  for (float& x : rows) x = static_cast<float>(random.below(2001)) / 1000.0f - 1.0f;
  return rows;
}

std::vector<std::uint64_t> random_ids(std::size_t count, Random& random) {
  std::vector<std::uint64_t> ids(count);
  for (std::uint64_t& id : ids) id = random.below(kIds);
  return ids;
}

struct Copied {
  std::vector<std::uint64_t> ids;
  std::vector<float> scores;
  friend bool operator==(const Copied& a, const Copied& b) {
    return a.ids == b.ids && a.scores.size() == b.scores.size() &&
           (a.scores.empty() || std::memcmp(a.scores.data(), b.scores.data(),
                                            a.scores.size() * sizeof(float)) == 0);
  }
};

Copied search(Reader& reader, std::span<const float> query, const SearchOptions& options) {
  const auto hits = reader.search(query, options);
  EXPECT_TRUE(hits.ok()) << static_cast<int>(hits.status().code());
  if (!hits.ok()) return {};
  return {{hits->ids().begin(), hits->ids().end()}, {hits->scores().begin(), hits->scores().end()}};
}

// A filter and the list that it was made of.
struct Pair {
  std::vector<std::uint64_t> ids;
  Filter filter;
};

void expect_same(Reader& reader, std::vector<Pair>& pairs, Random& random) {
  const std::vector<float> query = random_rows(1, random);
  for (Pair& pair : pairs) {
    SearchOptions options;
    options.k = 1 + random.below(20);
    options.certainty = random.below(4) == 0 ? std::numeric_limits<float>::infinity() : 3.0f;
    options.filter = pair.ids;
    const Copied listed = search(reader, query, options);
    options.filter.reset();
    options.compiled_filter = &pair.filter;
    ASSERT_TRUE(search(reader, query, options) == listed)
        << pair.ids.size() << " ids, " << listed.ids.size() << " found";
  }
}

void write(Index& index, Random& random) {
  switch (random.below(12)) {
    case 0: {
      const auto cleared = index.clear();
      ASSERT_TRUE(cleared.ok());
      break;
    }
    case 1:
    case 2:
    case 3: {
      const auto removed = index.remove(random_ids(1 + random.below(200), random));
      ASSERT_TRUE(removed.ok());
      break;
    }
    case 4: {  // more rows than ids in most filters
      const auto ids = random_ids(3000, random);
      ASSERT_TRUE(index.upsert(ids, random_rows(ids.size(), random)).ok());
      break;
    }
    case 5: {  // every row may lie elsewhere afterwards
      ASSERT_TRUE(index.compact().ok());
      break;
    }
    default: {
      const auto ids = random_ids(1 + random.below(70), random);
      ASSERT_TRUE(index.upsert(ids, random_rows(ids.size(), random)).ok());
    }
  }
}

TEST(PreparedFilter, AllowsWhatItsListAllowsAfterEveryWriteAndInEverySnapshot) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  auto index = Index::create(small_options());
  ASSERT_TRUE(index.ok());
  Reader reader = index->reader();
  std::vector<Pair> pairs;
  for (const std::size_t count : {0u, 1u, 7u, 300u, 5000u}) {
    auto ids = random_ids(count, random);
    if (count == 7) ids.push_back(~std::uint64_t{0});  // never in the index
    auto filter = reader.filter(ids);
    ASSERT_TRUE(filter.ok());
    pairs.push_back({ids, std::move(filter).value()});
  }
  Reader snapshot = reader.snapshot();
  const std::uint64_t steps = test::scaled(150);
  for (std::uint64_t step = 0; step < steps; ++step) {
    write(*index, random);
    if (random.below(3) == 0) continue;  // several versions at once
    expect_same(reader, pairs, random);
    if (random.below(6) == 0) expect_same(snapshot, pairs, random);
    if (random.below(10) == 0) snapshot = reader.snapshot();
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A filter of two versions, the newer of which needs more memory.
struct GrownIndex {
  Index index = std::move(Index::create(small_options())).value();
  Reader reader = index.reader();
  std::vector<Pair> pairs;
  Reader before;

  GrownIndex(bool replaced, Random& random) : before(reader.snapshot()) {
    auto ids = random_ids(500, random);
    EXPECT_TRUE(index.upsert(ids, random_rows(ids.size(), random)).ok());
    before = reader.snapshot();
    ids.push_back(kIds + 1);
    pairs.push_back({ids, std::move(reader.filter(ids)).value()});
    expect_same(reader, pairs, random);
    if (replaced) {
      EXPECT_TRUE(index.clear().ok());
    }
    std::vector<std::uint64_t> more(9000);
    std::iota(more.begin(), more.end(), kIds);
    EXPECT_TRUE(index.upsert(more, random_rows(more.size(), random)).ok());
    EXPECT_TRUE(index.upsert(ids, random_rows(ids.size(), random)).ok());
  }
};

TEST(PreparedFilter, ThatFoundNoMemoryForAVersionServesOldOnesAndTriesAgain) {
  Random random(74);
  const std::vector<float> query = random_rows(1, random);
  for (const bool replaced : {false, true}) {
    for (const bool old_first : {false, true}) {
      std::uint64_t failures = 1;
      for (std::uint64_t at = 1; failures != 0; ++at) {
        ASSERT_LT(at, 100u);
        GrownIndex grown(replaced, random);
        SearchOptions options;
        options.compiled_filter = &grown.pairs[0].filter;
        {
          const test::FailingAllocations failing(at, ~std::uint64_t{0});
          const Status status = grown.reader.search(query, options).status();
          failures = failing.failed();
          EXPECT_EQ(status.code(), failures == 0 ? Code::ok : Code::full);
        }
        if (old_first) expect_same(grown.before, grown.pairs, random);
        expect_same(grown.reader, grown.pairs, random);
        expect_same(grown.before, grown.pairs, random);
        ASSERT_FALSE(testing::Test::HasFailure()) << "allocation " << at << " of " << replaced;
        EXPECT_TRUE(failures != 0 || at > 2);
      }
    }
  }
}

TEST(PreparedFilter, AndListInTheOrderOfTheRowsFindTheRowThatReplacedOneOfThem) {
  Random random(75);
  for (const std::size_t replaced : {std::size_t{1}, std::size_t{40}, std::size_t{128}}) {
    Index index = std::move(Index::create(small_options())).value();
    Reader reader = index.reader();
    std::vector<std::uint64_t> ids(200);
    std::iota(ids.begin(), ids.end(), std::uint64_t{1000});
    ASSERT_TRUE(index.add(ids, random_rows(ids.size(), random)).ok());
    const std::span<const std::uint64_t> some = std::span(ids).subspan(30, replaced);
    ASSERT_TRUE(index.upsert(some, random_rows(some.size(), random)).ok());
    Filter filter = std::move(reader.filter(ids)).value();
    const std::vector<float> query = random_rows(1, random);
    SearchOptions all;
    all.k = ids.size();
    const Copied everything = search(reader, query, all);
    EXPECT_EQ(everything.ids.size(), ids.size());
    SearchOptions listed = all;
    listed.filter = ids;
    EXPECT_TRUE(search(reader, query, listed) == everything) << replaced << " rows";
    SearchOptions compiled = all;
    compiled.compiled_filter = &filter;
    EXPECT_TRUE(search(reader, query, compiled) == everything) << replaced << " rows";
  }
}

TEST(PreparedFilter, ServesBatchesAndOtherReadersOfTheIndex) {
  Random random(71);
  auto index = Index::create(small_options());
  const std::vector<std::uint64_t> ids = {3, 1, 4, 15, 9, 2, 6};
  ASSERT_TRUE(index->add(ids, random_rows(ids.size(), random)).ok());
  Reader first = index->reader();
  Reader second = index->reader();
  const std::vector<std::uint64_t> wanted = {4, 2, 4, 77};
  auto filter = first.filter(wanted);
  ASSERT_TRUE(filter.ok());
  EXPECT_EQ(filter->size(), 3u);
  SearchOptions options;
  options.compiled_filter = &*filter;
  const std::vector<float> queries = random_rows(9, random);
  const auto batch = second.search_batch(queries, options);
  ASSERT_TRUE(batch.ok());
  ASSERT_EQ(batch->size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto alone = search(first, {queries.data() + i * kDim, kDim}, options);
    ASSERT_EQ(alone.ids.size(), 2u);
    for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ((*batch)[i][j].id, alone.ids[j]);
  }
}

TEST(PreparedFilter, OfAnotherIndexOrBesideAListIsABadOption) {
  Random random(72);
  auto one = Index::create(small_options());
  auto other = Index::create(small_options());
  Reader reader = one->reader();
  const std::vector<std::uint64_t> ids = {1, 2};
  auto own = reader.filter(ids);
  auto foreign = other->reader().filter(ids);
  ASSERT_TRUE(own.ok() && foreign.ok());
  const std::vector<float> query = random_rows(1, random);
  const auto name = [&](const SearchOptions& options) {
    const Status status = reader.search(query, options).status();
    EXPECT_EQ(status.code(), Code::bad_option);
    EXPECT_EQ(reader.search_batch(query, options).status().code(), Code::bad_option);
    return static_cast<OptionName>(status.a());
  };
  SearchOptions options;
  options.compiled_filter = &*foreign;
  EXPECT_EQ(name(options), OptionName::filter);
  options.compiled_filter = &*own;
  EXPECT_TRUE(reader.search(query, options).ok());
  options.filter = ids;
  EXPECT_EQ(name(options), OptionName::filter);
  const Filter moved = std::move(*own);
  options.filter.reset();
  EXPECT_EQ(name(options), OptionName::filter);  // a filter that was moved from is of no index
}

TEST(PreparedFilter, OutlivesItsReaderAndIsClosedWithItsIndex) {
  Random random(73);
  auto index = Index::create(small_options());
  const std::vector<std::uint64_t> ids = {1, 2};
  ASSERT_TRUE(index->add(ids, random_rows(2, random)).ok());
  auto filter = index->reader().filter(ids);
  ASSERT_TRUE(filter.ok());
  Reader reader = index->reader();
  SearchOptions options;
  options.compiled_filter = &*filter;
  const std::vector<float> query = random_rows(1, random);
  EXPECT_EQ(search(reader, query, options).ids.size(), 2u);
  index->close();
  EXPECT_EQ(reader.search(query, options).status().code(), Code::closed);
  EXPECT_EQ(reader.filter(ids).status().code(), Code::closed);
}

}  // namespace
}  // namespace vicinal
