// Indexes whose ids are strings, in files: what is only theirs. Histories of both kinds are run
// through by file_test, file_crash_test, file_kill_test, file_rewrite_test and follow_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "storage/log_format.hpp"
#include "support/file_world.hpp"
#include "support/memory_hook.hpp"
#include "support/recorded_files.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using Kind = FileOperation::Kind;

constexpr std::uint32_t kDim = 16;

OpenOptions made_of_strings(RecordedFiles* files = nullptr, std::uint32_t dim = kDim) {
  OpenOptions options;
  options.create = small_options(dim);
  options.create->ids = IdKind::string;
  options.files = files;
  return options;
}

Status put(Index& index, std::span<const std::uint64_t> keys, std::uint64_t revision = 0,
           bool durable = false) {
  WriteOptions how;
  how.durable = durable;
  return Names(index, {keys.begin(), keys.end()}).with([&](auto names) {
    return index.upsert(names, rows_of(keys, index.options().dim, revision), how).status();
  });
}

Status take(Index& index, std::vector<std::uint64_t> keys) {
  return Names(index, std::move(keys)).with([&](auto names) {
    return index.remove(names).status();
  });
}

bool has_text(const std::vector<std::byte>& bytes, std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return std::search(bytes.begin(), bytes.end(), first, first + text.size()) != bytes.end();
}

// Names of all rows in the order of a search in which all have one score.
std::vector<std::string> order_of(const Index& index) {
  Reader reader = index.reader();
  SearchOptions all;
  all.k = 100'000;
  const Hits hits = reader.search(std::vector<float>(index.options().dim, 1.0f), all).value();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < hits.size(); ++i) names.emplace_back(hits.string_ids()[i]);
  return names;
}

struct Record {
  std::uint64_t position;
  storage::RecordHeader header;
};

// The records of a file, found by their lengths.
std::vector<Record> records_of(std::span<const std::byte> bytes) {
  storage::Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes.data() + 16, uuid.bytes.size());
  std::vector<Record> records;
  for (std::uint64_t at = storage::kLogStart; at < bytes.size();) {
    const auto header = storage::read_record_header_unchained(
        bytes.subspan(at).first<storage::kRecordHeaderBytes>(), uuid, at, bytes.size());
    EXPECT_TRUE(header.ok());
    if (!header.ok()) break;
    records.push_back({at, *header});
    at = header->end();
  }
  return records;
}

std::vector<Record> strings_records_of(std::span<const std::byte> bytes) {
  auto records = records_of(bytes);
  std::erase_if(records, [](const Record& record) {
    return record.header.kind != storage::RecordKind::strings;
  });
  return records;
}

// Whoever changes a file on purpose makes its sums, too.
void make_sums(std::vector<std::byte>& bytes) {
  storage::Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes.data() + 16, uuid.bytes.size());
  std::uint64_t previous = 0;
  for (Record& record : records_of(bytes)) {
    const std::byte* body = bytes.data() + record.position + storage::kRecordHeaderBytes;
    record.header.previous = previous;
    record.header.body_sum =
        checksum64(body, static_cast<std::size_t>(record.header.body_bytes));
    previous = storage::write_record_header(
        std::span(bytes).subspan(record.position).first<storage::kRecordHeaderBytes>(), uuid,
        record.header);
  }
}

TEST(StringFile, RandomWritesAreThereInEveryOpening) {
  for (std::uint64_t seed = 1; seed <= scaled(4); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Folder folder;
    const std::string path = folder.file("a.vic");
    auto writer = std::make_unique<Index>(opened(path, made_of_strings()));
    const Index follower = opened(path, reading());
    Index memory = std::move(Index::create(writer->options())).value();
    for (std::uint64_t step = 0; step < 70; ++step) {
      SCOPED_TRACE(step);
      std::vector<std::uint64_t> keys(random.below(60));
      for (std::uint64_t& key : keys) key = random.below(500);
      const std::uint32_t kind = random.below(24);
      for (Index* index : {writer.get(), &memory}) {
        if (kind == 0) {
          ASSERT_TRUE(index->clear().ok());
        } else if (kind < 12) {
          ASSERT_TRUE(put(*index, keys, step).ok());
        } else if (kind < 20) {
          ASSERT_TRUE(take(*index, keys).ok());
        } else {
          ASSERT_TRUE(index->compact().ok());
        }
      }
      const std::uint64_t content = content_of(memory, 500);
      ASSERT_NE(content, 0u);
      ASSERT_EQ(content_of(*writer, 500), content);
      ASSERT_EQ(content_of(follower, 500), content);
      if (step % 4 == 0) {
        ASSERT_EQ(content_of(opened(path, reading(step % 8 == 0)), 500), content);
      }
      if (step % 9 != 8) continue;
      ASSERT_TRUE(verify_file(path)->clean());
      writer.reset();
      writer = std::make_unique<Index>(opened(path, made_of_strings()));
      ASSERT_EQ(content_of(*writer, 500), content);
    }
  }
}

TEST(StringFile, OfManyRowsHasRecordsOfThemAndIsReadByAll) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  std::uint64_t content = 0;
  {
    Index index = opened(path, made_of_strings());
    const Index follower = opened(path, reading());
    ASSERT_TRUE(put(index, ids_from(0, 9000)).ok());
    // And more than a commit may have, one by one.
    for (std::uint64_t key = 9000; key < 10'500; ++key) {
      ASSERT_TRUE(put(index, ids_from(key, 1)).ok());
    }
    ASSERT_TRUE(take(index, ids_from(300, 2000)).ok());
    content = content_of(index, 10'500);
    ASSERT_NE(content, 0u);
    EXPECT_EQ(content_of(follower, 10'500), content);
    EXPECT_EQ(follower.stats().string_bytes != 0, true);
  }
  EXPECT_GE(strings_records_of(bytes_of_file(path)).size(), 4u);
  for (const bool mapped : {true, false}) {
    EXPECT_EQ(content_of(opened(path, reading(mapped)), 10'500), content);
  }
  const auto report = verify_file(path);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->clean());
  // Whoever writes on goes on with the ordinals.
  Index index = opened(path);
  ASSERT_TRUE(put(index, ids_from(20'000, 10)).ok());
  ASSERT_TRUE(take(index, ids_from(20'000, 10)).ok());
  EXPECT_EQ(content_of(index, 10'500), content);
}

TEST(StringFile, ADurableAddOfOneRowIsTwoSyncsAndFewBytes) {
  const Folder folder;
  RecordedFiles files;
  Index index = opened(folder.file("a.vic"), made_of_strings(&files, 768));
  std::size_t records = 0;
  for (std::uint64_t key = 0; key < 900; ++key) {
    files.forget();
    ASSERT_TRUE(put(index, ids_from(key, 1), 0, true).ok());
    if (files.count(Kind::rename) == 0) {  // else a new file was made, and synced
      ASSERT_EQ(files.count(Kind::sync), 2u);
      ASSERT_LE(files.bytes_written(), 64u * 1024);
    }
    ASSERT_EQ(files.count(Kind::read), 0u);
    if (key % 100 == 99) {
      records = std::max(records, strings_records_of(bytes_of_file(folder.file("a.vic"))).size());
    }
  }
  EXPECT_GE(records, 1u);
}

TEST(StringFile, IsTheSameForEqualIndexesAndHasRowsInTheirOrder) {
  const Folder folder;
  Index index = std::move(Index::create(*made_of_strings().create)).value();
  std::vector<std::uint64_t> keys(700);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i * 37 % 701;
  std::vector<float> rows(keys.size() * kDim, 1.0f);
  const Names names(index, keys);
  ASSERT_TRUE(names.with([&](auto ids) { return index.add(ids, rows).ok(); }));
  const std::string a = folder.file("a.vic");
  const std::string b = folder.file("b.vic");
  ASSERT_TRUE(index.save(a).ok());
  ASSERT_TRUE(index.save(b).ok());
  EXPECT_EQ(bytes_of_file(a), bytes_of_file(b));
  EXPECT_EQ(order_of(opened(a, reading())), order_of(index));
  // With rows that died and were moved: the same order, and nothing of the dead.
  ASSERT_TRUE(take(index, {keys.begin() + 10, keys.begin() + 400}).ok());
  ASSERT_TRUE(index.save(a).ok());
  EXPECT_EQ(order_of(opened(a, reading())), order_of(index));
  ASSERT_TRUE(index.compact().ok());
  ASSERT_TRUE(index.save(b).ok());
  EXPECT_EQ(order_of(opened(b, reading())), order_of(index));
  EXPECT_EQ(order_of(index).size(), 310u);
  const auto loaded = Index::from_bytes(bytes_of_file(b));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(order_of(*loaded), order_of(index));
  const auto is_long = [](std::uint64_t key) { return key % 97 == 5; };
  const auto dead = std::find_if(keys.begin() + 10, keys.begin() + 400, is_long);
  const auto live = std::find_if(keys.begin() + 400, keys.end(), is_long);
  for (const std::string& path : {a, b}) {
    EXPECT_TRUE(has_text(bytes_of_file(path), text_of(*live)));
    EXPECT_FALSE(has_text(bytes_of_file(path), text_of(*dead)));
  }
}

TEST(StringFile, RewrittenHasNothingOfTheDeadAndKeepsTheOrder) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Index index = opened(path, made_of_strings());
  const std::vector<float> row(kDim, 1.0f);
  for (std::uint64_t key = 0; key < 600; ++key) {
    const Names name(index, {key * 13 % 601 + 1000});
    ASSERT_TRUE(name.with([&](auto ids) { return index.add(ids, row).ok(); }));
  }
  const std::string secret = "a text that nobody else has";
  ASSERT_TRUE(index.add(std::vector<std::string_view>{secret}, row).ok());
  ASSERT_TRUE(index.flush().ok());
  ASSERT_TRUE(has_text(bytes_of_file(path), secret));
  const Index follower = opened(path, reading());
  ASSERT_EQ(order_of(follower), order_of(index));
  ASSERT_TRUE(index.remove(std::vector<std::string_view>{secret}).ok());
  ASSERT_TRUE(take(index, ids_from(1100, 300)).ok());
  ASSERT_TRUE(index.compact().ok());
  EXPECT_FALSE(has_text(bytes_of_file(path), secret));
  EXPECT_EQ(order_of(follower), order_of(index));
  EXPECT_EQ(order_of(opened(path, reading(false))), order_of(index));
  EXPECT_EQ(order_of(index).size(), 300u);
  ASSERT_TRUE(put(index, ids_from(0, 5)).ok());
  EXPECT_EQ(order_of(follower).size(), 305u);
}

// Strings that come and go are garbage of the file, too.
TEST(StringFile, OfReplacedRowsDoesNotGrowForEver) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Index index = opened(path, made_of_strings());
  const Index follower = opened(path, reading());
  std::uint64_t largest = 0;
  std::uint64_t most = 0;
  for (std::uint64_t round = 0; round < scaled(120); ++round) {
    ASSERT_TRUE(put(index, ids_from(0, 400), round).ok());
    largest = std::max(largest, std::filesystem::file_size(path));
    most = std::max(most, follower.stats().string_bytes);
  }
  EXPECT_LE(largest, 2u << 20);
  EXPECT_LE(most, 2u << 20);
  EXPECT_EQ(follower.stats().rows, 400u);
}

TEST(StringFile, IsOfItsKindAndSaysSo) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  { const Index index = opened(path, made_of_strings()); }
  EXPECT_EQ(opened(path).options().ids, IdKind::string);
  OpenOptions numbers;
  numbers.create = small_options(kDim);
  const Status other = Index::open(path, numbers).status();
  EXPECT_EQ(other.code(), Code::bad_option);
  EXPECT_EQ(other.a(), static_cast<std::uint64_t>(OptionName::ids));
}

// A file of which everything that stands alone is whole, but not what belongs together.
TEST(StringFile, WithRecordsThatWereExchangedIsCorrupt) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  {
    Index index = opened(path, made_of_strings());
    ASSERT_TRUE(put(index, ids_from(0, 4000)).ok());
    ASSERT_TRUE(put(index, ids_from(4000, 4000)).ok());
  }
  const auto whole = bytes_of_file(path);
  const auto records = strings_records_of(whole);
  ASSERT_GE(records.size(), 3u);
  const auto copy = [&](std::vector<std::byte>& to, const Record& from, const Record& at) {
    std::memcpy(to.data() + at.position, whole.data() + from.position,
                static_cast<std::size_t>(std::min(from.header.bytes, at.header.bytes)));
  };
  auto swapped = whole;
  copy(swapped, records[0], records[1]);
  copy(swapped, records[1], records[0]);
  auto replayed = whole;
  copy(replayed, records[0], records[2]);
  // The same record of another file.
  const std::string other = folder.file("b.vic");
  {
    Index index = opened(other, made_of_strings());
    ASSERT_TRUE(put(index, ids_from(0, 4000)).ok());
  }
  const auto foreign_bytes = bytes_of_file(other);
  auto foreign = whole;
  const Record of_other = strings_records_of(foreign_bytes).at(0);
  ASSERT_EQ(of_other.position, records[0].position);
  std::memcpy(foreign.data() + of_other.position, foreign_bytes.data() + of_other.position,
              static_cast<std::size_t>(of_other.header.bytes));
  // As a writer of such a file would have made them: every sum is right.
  auto swapped_well = swapped;
  auto replayed_well = replayed;
  for (auto* bytes : {&swapped_well, &replayed_well}) {
    for (const Record& record : records) {  // each says where it is, and how long
      std::memcpy(bytes->data() + record.position, whole.data() + record.position,
                  storage::kRecordHeaderBytes);
    }
    make_sums(*bytes);
  }
  for (const auto& bytes : {swapped, replayed, foreign, swapped_well, replayed_well}) {
    put_file(path, bytes);
    for (const bool mapped : {true, false}) {
      EXPECT_EQ(Index::open(path, reading(mapped)).code(), Code::corrupt);
    }
    EXPECT_EQ(Index::from_bytes(bytes).code(), Code::corrupt);
    EXPECT_EQ(verify_file(path).code(), Code::corrupt);
  }
}

// Sums are right, and rows carry handles of strings that are others. Where rows are read they are
// looked at; where they are mapped, whoever needs the string finds that it is not there.
TEST(StringFile, WhoseRowsHaveNoStringIsCorruptWhenThatIsMet) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  {
    Index index = opened(path, made_of_strings());
    ASSERT_TRUE(put(index, ids_from(0, 3000)).ok());
  }
  auto bytes = bytes_of_file(path);
  const std::string text = text_of(1234);
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  const auto found = std::search(bytes.begin(), bytes.end(), first, first + text.size());
  ASSERT_NE(found, bytes.end());
  *found ^= std::byte{1};  // another string, whose hash is not the handle's
  make_sums(bytes);
  put_file(path, bytes);
  EXPECT_EQ(Index::from_bytes(bytes).code(), Code::corrupt);
  EXPECT_EQ(Index::open(path, reading(false)).code(), Code::corrupt);
  EXPECT_EQ(verify_file(path).code(), Code::corrupt);
  const auto mapped = Index::open(path, reading());
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  Reader reader = mapped->reader();
  EXPECT_TRUE(reader.get(text_of(1)).ok());
  EXPECT_EQ(reader.get(text).code(), Code::corrupt);
  SearchOptions all;
  all.k = 3000;
  EXPECT_EQ(opened(path, reading()).reader().search(vector_of(1, kDim), all).code(),
            Code::corrupt);
  // Nobody writes a file without it: not who saves what is mapped, and not who rewrites.
  const Index saver = opened(path, reading());
  EXPECT_EQ(saver.save(folder.file("b.vic")).code(), Code::corrupt);
  EXPECT_EQ(saver.to_bytes().code(), Code::corrupt);
  Index writer = opened(path);
  EXPECT_EQ(writer.compact().code(), Code::corrupt);
  EXPECT_FALSE(std::filesystem::exists(folder.file("b.vic")));
}

// The table of ids covers a row that it does not find: no string may go for that.
TEST(StringFile, WhoseTableLeavesARowOutKeepsItsString) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  {
    Index index = opened(path, made_of_strings());
    ASSERT_TRUE(put(index, ids_from(0, 400)).ok());
    ASSERT_TRUE(index.compact().ok());
  }
  auto bytes = bytes_of_file(path);
  std::size_t left_out = 0;
  for (const Record& record : records_of(bytes)) {
    if (record.header.kind != storage::RecordKind::ids) continue;
    std::byte* const start = bytes.data() + record.position;
    std::byte* const head = start + storage::kRecordHeaderBytes;
    for (std::size_t table = 0; table < 64; ++table) {
      std::uint64_t offset = 0;
      std::uint32_t counts[2];
      std::byte* const entry = head + 8 + table * 24;
      std::memcpy(&offset, entry, sizeof offset);
      std::memcpy(counts, entry + 8, sizeof counts);
      if (counts[0] == 0) continue;
      std::memset(start + offset, 0, counts[0] * sizeof(std::uint32_t));
      left_out += counts[1];
      counts[1] = 0;
      const std::uint64_t sum =
          checksum64(start + offset, counts[0] * sizeof(std::uint32_t));
      std::memcpy(entry + 8, counts, sizeof counts);
      std::memcpy(entry + 16, &sum, sizeof sum);
    }
  }
  ASSERT_GE(left_out, 400u);
  make_sums(bytes);
  put_file(path, bytes);
  OpenOptions read_whole;
  read_whole.mapped = false;
  {
    Index index = opened(path, read_whole);
    ASSERT_TRUE(take(index, ids_from(0, 250)).ok());
    ASSERT_TRUE(index.compact().ok());
    Reader reader = index.reader();
    for (std::uint64_t id = 250; id < 400; ++id) EXPECT_TRUE(reader.has(text_of(id))) << id;
  }
  {
    const Index again = opened(path, reading());
    Reader reader = again.reader();
    for (std::uint64_t id = 0; id < 400; ++id) EXPECT_EQ(reader.has(text_of(id)), id >= 250) << id;
  }
  // Mapped, its rows are not found; but nothing is written that has lost their strings.
  put_file(path, bytes);
  Index mapped = opened(path);
  EXPECT_EQ(mapped.compact().code(), Code::corrupt);
  EXPECT_TRUE(opened(path, reading(false)).reader().has(text_of(399)));
}

TEST(StringFile, WhereTwoRowsHaveOneStringIsCorruptForWhoCompares) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  {
    OpenOptions options = made_of_strings();
    Index index = opened(path, options);
    const std::vector<std::string_view> names = {"one", "two"};
    ASSERT_TRUE(index.add(names, rows_of(ids_from(0, 2), kDim)).ok());
  }
  auto bytes = bytes_of_file(path);
  // Both the text and the handle's bits of its hash.
  const auto replace = [&bytes](const auto& from, const auto& to, std::size_t count) {
    std::size_t replaced = 0;
    const auto* first = reinterpret_cast<const std::byte*>(&from);
    for (auto at = bytes.begin();;) {
      at = std::search(at, bytes.end(), first, first + count);
      if (at == bytes.end()) return replaced;
      std::memcpy(&*at, &to, count);
      ++replaced;
    }
  };
  const auto handle_of = [](std::uint64_t ordinal, std::string_view text) {
    return ordinal << 16 | checksum64(text.data(), text.size()) >> 48;
  };
  const char onetwo[] = {'o', 'n', 'e', 't', 'w', 'o'};
  const char oneone[] = {'o', 'n', 'e', 'o', 'n', 'e'};
  ASSERT_GE(replace(onetwo, oneone, sizeof onetwo), 1u);
  ASSERT_GE(replace(*std::make_unique<std::uint64_t>(handle_of(2, "two")),
                    *std::make_unique<std::uint64_t>(handle_of(2, "one")), 8), 1u);
  make_sums(bytes);
  EXPECT_EQ(Index::from_bytes(bytes).code(), Code::corrupt) << "no id table has them";
  put_file(path, bytes);
  EXPECT_EQ(verify_file(path).code(), Code::corrupt);
}

TEST(StringFile, WithoutMemoryIsFullWhicheverAllocationFails) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  std::uint64_t content = 0;
  {
    Index index = opened(path, made_of_strings());
    ASSERT_TRUE(put(index, ids_from(0, 3000)).ok());
    ASSERT_TRUE(put(index, ids_from(5000, 10)).ok());
    ASSERT_TRUE(take(index, ids_from(5, 100)).ok());
    content = content_of(index, 6000);
  }
  std::uint64_t full = 0;
  for (const bool mapped : {true, false}) {
    for (std::uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE(nth);
      Result<Index> index = Status(Code::closed);
      std::uint64_t failed = 0;
      {
        const FailingAllocations failing(nth, nth);
        index = Index::open(path, reading(mapped));
        failed = failing.failed();
      }
      if (index.ok()) {
        ASSERT_EQ(content_of(*index, 6000), content);
      } else {
        ASSERT_EQ(index.code(), Code::full);
        ++full;
      }
      if (failed == 0) break;
    }
  }
  EXPECT_GT(full, 20u);
  // A budget that has no room for the strings.
  OpenOptions little = reading();
  little.memory_bytes_max = 40'000;
  EXPECT_EQ(Index::open(path, little).code(), Code::full);
}

}  // namespace
}  // namespace vicinal::test
