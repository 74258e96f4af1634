// Indexes whose ids are strings, through the public surface.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "support/index_world.hpp"
#include "support/memory_hook.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 16;

IndexOptions string_options() {
  IndexOptions options = small_options(kDim);
  options.ids = IdKind::string;
  return options;
}

Index string_index() { return std::move(Index::create(string_options())).value(); }

// Different for each key, of many lengths, some with bytes that are no text.
std::string name_of(std::uint64_t key) {
  if (key == 0) return {};
  const std::size_t more = key % 50 == 7 ? 9000 : mix64(key) % 60;
  return std::to_string(key) + '\0' + std::string(more, static_cast<char>(128 + key % 100));
}

std::uint64_t key_of(std::string_view name) {
  return name.empty() ? 0 : std::stoull(std::string(name.substr(0, 20)));
}

struct Batch {
  std::vector<std::string> texts;
  std::vector<std::string_view> ids;
  std::vector<float> rows;

  explicit Batch(std::span<const std::uint64_t> keys, std::uint64_t revision = 0)
      : rows(rows_of(keys, kDim, revision)) {
    for (const std::uint64_t key : keys) texts.push_back(name_of(key));
    ids.assign(texts.begin(), texts.end());
  }
};

using Model = std::map<std::uint64_t, std::uint64_t>;  // key to revision

// What a search for all rows has to find: by score, then by key where ages do not matter.
std::map<std::uint64_t, float> scores_of(Reader& reader, std::span<const float> query) {
  SearchOptions options;
  options.k = 100'000;
  options.exhaustive = true;
  const Hits hits = reader.search(query, options).value();
  std::map<std::uint64_t, float> scores;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const StringHit hit = hits.string_hit(i);
    EXPECT_EQ(hit.id, name_of(key_of(hit.id)));
    EXPECT_TRUE(scores.emplace(key_of(hit.id), hit.score).second);
  }
  EXPECT_TRUE(hits.ids().empty());
  return scores;
}

void expect_shows(Reader& reader, const Model& model) {
  Index numbers = std::move(Index::create(small_options(kDim))).value();
  for (const auto& [key, revision] : model) {
    (void)numbers.add(std::vector{key}, rows_of(std::vector{key}, kDim, revision));
  }
  Reader other = numbers.reader();
  SearchOptions options;
  options.k = 100'000;
  options.exhaustive = true;
  const std::vector<float> query = vector_of(99, kDim);
  std::map<std::uint64_t, float> expected;
  const Hits hits = other.search(query, options).value();
  for (const Hit hit : hits) expected[hit.id] = hit.score;
  EXPECT_EQ(scores_of(reader, query), expected);
  EXPECT_EQ(reader.size(), model.size());
}

TEST(StringIds, RandomWritesShowWhatAPlainMapShowsNowAndInSnapshots) {
  for (std::uint64_t seed = 1; seed <= scaled(6); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Index index = string_index();
    Reader reader = index.reader();
    Model model;
    std::vector<std::pair<Reader, Model>> held;
    for (int step = 0; step < 60; ++step) {
      std::vector<std::uint64_t> keys(random.below(40));
      for (std::uint64_t& key : keys) key = random.below(300);
      const auto revision = static_cast<std::uint64_t>(step);
      const Batch batch(keys, revision);
      const std::uint32_t kind = random.below(20);
      if (kind == 0) {
        ASSERT_EQ(index.clear()->count, model.size());
        model.clear();
      } else if (kind < 11) {
        ASSERT_TRUE(index.upsert(batch.ids, batch.rows).ok());
        for (const std::uint64_t key : keys) model[key] = revision;
      } else if (kind < 17) {
        std::size_t removed = 0;
        for (const std::uint64_t key : keys) removed += model.erase(key);
        ASSERT_EQ(index.remove(batch.ids)->count, removed);
      } else {
        ASSERT_TRUE(index.compact().ok());
      }
      if (step % 6 == 0) held.emplace_back(reader.snapshot(), model);
      if (step % 5 != 0) continue;
      expect_shows(reader, model);
      for (std::uint64_t key = 0; key < 300; key += 7) {
        EXPECT_EQ(reader.has(name_of(key)), model.contains(key));
        EXPECT_EQ(reader.get(name_of(key)).ok(), model.contains(key));
      }
    }
    for (auto& [snapshot, then] : held) expect_shows(snapshot, then);
  }
}

TEST(StringIds, ADuplicateNamesItsRowAndNothingIsAdded) {
  Index index = string_index();
  const Batch first(ids_from(0, 5));
  ASSERT_TRUE(index.add(first.ids, first.rows).ok());
  const Batch again(std::vector<std::uint64_t>{10, 11, 3, 12});
  Status status = index.add(again.ids, again.rows).status();
  EXPECT_EQ(status.code(), Code::duplicate_id);
  EXPECT_EQ(status.a(), 2u);
  EXPECT_EQ(status.b(), 1u);
  EXPECT_NE(status.message().find("row 2"), std::string::npos) << status.message();
  const Batch twice(std::vector<std::uint64_t>{10, 11, 12, 11});
  status = index.add(twice.ids, twice.rows).status();
  EXPECT_EQ(status.code(), Code::duplicate_id);
  EXPECT_EQ(status.a(), 3u);
  EXPECT_EQ(index.stats().rows, 5u);
}

TEST(StringIds, OfAWriteInPartsADuplicateNamesTheRowOfTheWhole) {
  Index index = string_index();
  const std::uint64_t rows = (std::uint64_t{4} << 20) / (kDim * sizeof(float)) + 10;
  auto keys = ids_from(1'000'000, rows);
  keys.back() = 1'000'000;
  const Batch batch(keys);
  WriteOptions options;
  options.atomic = false;
  Receipt landed;
  options.landed = &landed;
  const Status status = index.add(batch.ids, batch.rows, options).status();
  EXPECT_EQ(status.code(), Code::duplicate_id);
  EXPECT_EQ(status.a(), rows - 1);
  EXPECT_TRUE(landed.count > rows / 2 && landed.count < rows);  // long names fill a part sooner
  // Strings fill a part, too.
  const std::vector<std::string> long_texts(200, std::string(65535, 'x'));
  std::vector<std::string_view> ids(long_texts.begin(), long_texts.end());
  ASSERT_TRUE(index.remove(ids, options).ok());
  EXPECT_EQ(landed.count, 0u);
}

TEST(StringIds, OfTheOtherKindOrTooLongAreBadIds) {
  Index strings = string_index();
  Index numbers = std::move(Index::create(small_options(kDim))).value();
  const Batch batch(ids_from(0, 3));
  const auto ids = ids_from(0, 3);
  const auto is_bad = [](const Status& status, BadId why) {
    EXPECT_EQ(status.code(), Code::bad_id);
    EXPECT_TRUE(status.code() != Code::bad_id || status.b() == static_cast<std::uint64_t>(why))
        << status.message();
  };
  is_bad(strings.add(ids, batch.rows).status(), BadId::string_wanted);
  is_bad(strings.remove(ids).status(), BadId::string_wanted);
  is_bad(numbers.add(batch.ids, batch.rows).status(), BadId::number_wanted);
  is_bad(numbers.upsert(batch.ids, batch.rows).status(), BadId::number_wanted);
  Reader of_strings = strings.reader();
  Reader of_numbers = numbers.reader();
  is_bad(of_strings.get(1).status(), BadId::string_wanted);
  is_bad(of_numbers.get("1").status(), BadId::number_wanted);
  EXPECT_FALSE(of_strings.has(1));
  EXPECT_FALSE(of_numbers.has("1"));
  is_bad(of_strings.filter(ids).status(), BadId::string_wanted);
  is_bad(of_numbers.filter(batch.ids).status(), BadId::number_wanted);
  SearchOptions options;
  options.filter = ids;
  is_bad(of_strings.search(batch.rows.data() == nullptr ? std::span<const float>()
                                                        : std::span(batch.rows).first(kDim),
                           options).status(), BadId::string_wanted);
  options = {};
  options.after = Hit{1, 0.5f};
  is_bad(of_strings.search_batch(batch.rows, options).status(), BadId::string_wanted);
  options = {};
  options.string_after = StringHit{"1", 0.5f};
  is_bad(of_numbers.search(std::span(batch.rows).first(kDim), options).status(),
         BadId::number_wanted);
  const std::string long_text(65536, 'x');
  const std::vector<std::string_view> long_ids = {"a", long_text, "b"};
  const Status status = strings.add(long_ids, batch.rows).status();
  is_bad(status, BadId::too_long);
  EXPECT_EQ(status.a(), 1u);
  EXPECT_FALSE(of_strings.has(long_text));
  EXPECT_EQ(strings.stats().rows + numbers.stats().rows, 0u);
}

TEST(StringIds, AreWrittenToBytesAsALog) {
  Index index = string_index();
  Model model;
  for (std::uint64_t revision = 0; revision < 4; ++revision) {
    const Batch batch(ids_from(revision * 30, 100), revision);
    ASSERT_TRUE(index.upsert(batch.ids, batch.rows).ok());
    for (std::uint64_t key = revision * 30; key < revision * 30 + 100; ++key) model[key] = revision;
    const auto bytes = index.to_bytes();
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto copy = Index::from_bytes(*bytes);
    ASSERT_TRUE(copy.ok()) << copy.status().message();
    Reader reader = copy->reader();
    expect_shows(reader, model);
  }
}

TEST(StringIds, ComeInSlicesOfWhichTheFirstPageIsTheLast) {
  Index index = string_index();
  const Batch batch(ids_from(0, 3000));
  ASSERT_TRUE(index.add(batch.ids, batch.rows).ok());
  Reader reader = index.reader();
  auto saver = reader.saver();
  ASSERT_TRUE(saver.ok());
  ASSERT_TRUE(index.clear().ok());  // what is written is what was there
  std::vector<std::byte> bytes(static_cast<std::size_t>(saver->bytes()));
  std::vector<std::byte> room(Saver::kRoomBytesMin);
  std::uint64_t left = bytes.size();
  while (left != 0) {
    EXPECT_EQ(Index::from_bytes(bytes).code(), Code::corrupt);
    const auto slice = saver->next(room);
    ASSERT_TRUE(slice.ok());
    ASSERT_NE(slice->bytes, 0u);
    std::copy_n(room.begin(), slice->bytes,
                bytes.begin() + static_cast<std::ptrdiff_t>(slice->offset));
    left -= slice->bytes;
  }
  EXPECT_EQ(saver->next(room)->bytes, 0u);
  auto loader = Loader::create({});
  ASSERT_TRUE(loader.ok());
  for (std::size_t at = 0; at < bytes.size(); at += 1000) {
    const auto piece = std::span(bytes).subspan(at, std::min<std::size_t>(1000, bytes.size() - at));
    ASSERT_TRUE(loader->take(piece).ok());
  }
  const auto loaded = loader->finish();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Reader of_loaded = loaded->reader();
  Model model;
  for (std::uint64_t key = 0; key < 3000; ++key) model[key] = 0;
  expect_shows(of_loaded, model);
}

TEST(StringIds, TiesAreByAgeWhateverIsCompacted) {
  Index index = string_index();
  const std::vector<float> row = vector_of(5, kDim);
  std::vector<std::uint64_t> order(300);
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i * 7 % 311;
  std::vector<float> rows;
  for (std::size_t i = 0; i < order.size(); ++i) rows.insert(rows.end(), row.begin(), row.end());
  const Batch batch(order);
  ASSERT_TRUE(index.add(batch.ids, rows).ok());
  const std::vector<std::string_view> gone(batch.ids.begin() + 20, batch.ids.begin() + 200);
  Reader reader = index.reader();
  SearchOptions options;
  options.k = 1000;
  const auto found = [&] {
    std::vector<std::string> names;
    const Hits hits = reader.search(row, options).value();
    for (std::size_t i = 0; i < hits.size(); ++i) names.emplace_back(hits.string_ids()[i]);
    return names;
  };
  EXPECT_EQ(found(), batch.texts);
  ASSERT_TRUE(index.remove(gone).ok());
  const auto before = found();
  ASSERT_TRUE(index.compact().ok());
  EXPECT_EQ(found(), before);
  // Page by page, each after the last hit of the one before.
  std::vector<std::string> paged;
  std::string last;
  options.k = 7;
  for (;;) {
    const auto page = found();
    if (page.empty()) break;
    paged.insert(paged.end(), page.begin(), page.end());
    const Hits hits = reader.search(row, options).value();
    last = paged.back();  // the options refer to it
    options.string_after = StringHit{last, hits.scores().back()};
  }
  EXPECT_EQ(paged, before);
  // After a row that is gone all of its score come again, and none is left out.
  ASSERT_TRUE(index.remove(std::vector<std::string_view>{paged.back()}).ok());
  options.k = 1000;
  EXPECT_EQ(found().size(), before.size() - 1);
}

TEST(StringIds, FiltersAllowTheirRowsAndFollowWrites) {
  Index index = string_index();
  const Batch batch(ids_from(0, 200));
  ASSERT_TRUE(index.add(batch.ids, batch.rows).ok());
  Reader reader = index.reader();
  const std::vector<std::string> wanted = {name_of(3), name_of(77), name_of(3), name_of(250), ""};
  const std::vector<std::string_view> list(wanted.begin(), wanted.end());
  Filter filter = std::move(reader.filter(list)).value();
  EXPECT_EQ(filter.size(), 4u);
  const auto keys = [&](bool compiled) {
    SearchOptions options;
    options.k = 10;
    if (compiled) options.compiled_filter = &filter;
    else options.string_filter = list;
    std::vector<std::uint64_t> found;
    const Hits hits = reader.search(vector_of(1, kDim), options).value();
    for (std::size_t i = 0; i < hits.size(); ++i) found.push_back(key_of(hits.string_ids()[i]));
    std::sort(found.begin(), found.end());
    return found;
  };
  using Keys = std::vector<std::uint64_t>;
  EXPECT_EQ(keys(true), (Keys{0, 3, 77}));
  EXPECT_EQ(keys(false), (Keys{0, 3, 77}));
  const Batch more(std::vector<std::uint64_t>{250, 251});
  ASSERT_TRUE(index.add(more.ids, more.rows).ok());
  EXPECT_EQ(keys(true), (Keys{0, 3, 77, 250}));
  ASSERT_TRUE(index.remove(std::vector<std::string_view>{wanted[1]}).ok());
  EXPECT_EQ(keys(true), (Keys{0, 3, 250}));
  ASSERT_TRUE(index.remove(std::span(batch.ids).subspan(10, 180)).ok());
  ASSERT_TRUE(index.compact().ok());
  EXPECT_EQ(keys(true), (Keys{0, 3, 250}));
  EXPECT_EQ(keys(false), (Keys{0, 3, 250}));
  const std::vector<std::string_view> none;
  SearchOptions options;
  options.string_filter = none;
  EXPECT_TRUE(reader.search(vector_of(1, kDim), options)->empty());
}

TEST(StringIds, ABatchFindsWhatSingleSearchesFind) {
  Index index = string_index();
  const Batch batch(ids_from(0, 400));
  ASSERT_TRUE(index.add(batch.ids, batch.rows).ok());
  Reader reader = index.reader();
  const std::vector<float> queries = rows_of(ids_from(900, 20), kDim);
  const BatchHits made = reader.search_batch(queries).value();
  const BatchHits all = made;  // owns its memory
  for (std::size_t q = 0; q < 20; ++q) {
    const Hits one = reader.search(std::span(queries).subspan(q * kDim, kDim)).value();
    ASSERT_EQ(all[q].size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(all[q].string_ids()[i], one.string_ids()[i]);
      EXPECT_EQ(all[q].scores()[i], one.scores()[i]);
    }
  }
}

TEST(StringIds, AWarmSearchAllocatesNothing) {
  Index index = string_index();
  const Batch batch(ids_from(0, 300));
  ASSERT_TRUE(index.add(batch.ids, batch.rows).ok());
  Reader reader = index.reader();
  const std::vector<float> query = vector_of(1, kDim);
  SearchOptions options;
  options.k = 300;
  ASSERT_TRUE(reader.search(query, options).ok());
  const std::uint64_t before = allocations_of_this_thread();
  ASSERT_TRUE(reader.search(query, options).ok());
  EXPECT_EQ(allocations_of_this_thread(), before);
}

TEST(StringIds, OfRemovedRowsGiveTheirMemoryBack) {
  Index index = string_index();
  const Batch batch(ids_from(1, 20'000));
  ASSERT_TRUE(index.add(batch.ids, batch.rows).ok());
  const std::uint64_t full = index.stats().string_bytes;
  EXPECT_GT(full, 20'000u * 20);
  EXPECT_GE(index.stats().total_bytes, full);
  ASSERT_TRUE(index.remove(std::span(batch.ids).subspan(1000)).ok());
  ASSERT_TRUE(index.compact().ok());
  EXPECT_LT(index.stats().string_bytes, full / 10);
  Reader reader = index.reader();
  EXPECT_EQ(scores_of(reader, vector_of(3, kDim)).size(), 1000u);
  // The same under writes that never pause: dead ones are about as many as live ones at most.
  for (std::uint64_t round = 0; round < 200; ++round) {
    const Batch again(ids_from(1, 1000), round);
    ASSERT_TRUE(index.upsert(again.ids, again.rows).ok());
  }
  EXPECT_LT(index.stats().string_bytes, full / 2);
}

TEST(StringIds, SubmittedWithoutWaitingAreCheckedFirst) {
  Index index = string_index();
  WriteQueue queue = index.write_queue();
  PendingWrite write = std::move(queue.make(WriteKind::upsert, 3, 12)).value();
  EXPECT_TRUE(write.ids().empty());
  ASSERT_EQ(write.string_ends().size(), 3u);
  ASSERT_EQ(write.text().size(), 12u);
  const std::string text = "onetwo";
  std::copy(text.begin(), text.end(), write.text().begin());
  ASSERT_TRUE(write.encode(0, rows_of(ids_from(0, 3), kDim)).ok());
  const std::vector<std::vector<std::uint32_t>> wrong = {{3, 2, 6}, {3, 6, 13}, {3, 0xffffffff, 6}};
  for (const auto& ends : wrong) {
    std::copy(ends.begin(), ends.end(), write.string_ends().begin());
    EXPECT_EQ(queue.submit(write).code(), Code::bad_id);
  }
  const std::vector<std::uint32_t> ends = {3, 6, 6};
  std::copy(ends.begin(), ends.end(), write.string_ends().begin());
  ASSERT_TRUE(queue.submit(write).ok());
  while (index.pump(1000) > 0) {
  }
  ASSERT_TRUE(write.result().ok());
  Reader reader = index.reader();
  for (const std::string_view id : {"one", "two", ""}) EXPECT_TRUE(reader.has(id));
  EXPECT_EQ(reader.size(), 3u);
}

// Readers against writers of the same strings, which are replaced, removed and compacted all the
// time: whatever is found is a whole string with its own score.
TEST(StringIds, ReadersOfStringsThatAreReplacedSeeWholeOnes) {
  constexpr std::uint64_t kKeys = 400;
  Index index = string_index();
  const std::vector<float> query = vector_of(11, kDim);
  const Batch all(ids_from(0, kKeys));
  ASSERT_TRUE(index.add(all.ids, all.rows).ok());
  Reader first = index.reader();
  const auto scores = scores_of(first, query);
  sync::Atomic<std::uint32_t> stop;
  sync::Atomic<std::uint64_t> searches;
  const auto write = [&](std::uint64_t seed) {
    Random random(seed);
    for (std::uint64_t round = 0; round < 150 * scaled(1); ++round) {
      std::vector<std::uint64_t> keys(1 + random.below(60));
      for (std::uint64_t& key : keys) key = random.below(kKeys);
      const Batch batch(keys);
      if (random.below(4) == 0) (void)index.remove(batch.ids);
      else EXPECT_TRUE(index.upsert(batch.ids, batch.rows).ok());
      if (round % 40 == 9) (void)index.compact();
    }
  };
  const auto read = [&] {
    Reader reader = index.reader();
    Filter filter = std::move(reader.filter(all.ids)).value();
    SearchOptions options;
    options.k = kKeys;
    options.exhaustive = true;
    while (stop.load(sync::acquire) == 0) {
      options.compiled_filter = searches.fetch_add(1, sync::relaxed) % 2 == 0 ? &filter : nullptr;
      const Hits hits = reader.search(query, options).value();
      for (std::size_t i = 0; i < hits.size(); ++i) {
        const std::string_view id = hits.string_ids()[i];
        const std::uint64_t key = key_of(id);
        ASSERT_TRUE(id == name_of(key) && hits.scores()[i] == scores.at(key));
      }
      const std::uint64_t key = searches.load(sync::relaxed) % kKeys;
      (void)reader.has(name_of(key));
    }
  };
  std::thread readers[] = {std::thread(read), std::thread(read)};
  while (searches.load(sync::relaxed) < 2) std::this_thread::yield();
  std::thread writers[] = {std::thread(write, 1), std::thread(write, 2)};
  for (std::thread& writer : writers) writer.join();
  stop.store(1, sync::release);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace vicinal::test
