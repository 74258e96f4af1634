// An index file is rewritten without its garbage: when, how large it is then, and what anybody sees
// of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "support/file_world.hpp"
#include "support/recorded_files.hpp"
#include "support/test_scale.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

using Kind = FileOperation::Kind;

constexpr std::uint8_t kAllBits[] = {1, 2, 3, 4, 8};

OpenOptions made_of(std::uint32_t dim, std::uint8_t bits = 4, RecordedFiles* files = nullptr) {
  OpenOptions options;
  options.create = small_options(dim, Metric::cosine, bits);
  options.files = files;
  return options;
}

std::uint64_t bound_of(std::uint64_t rows, std::uint32_t dim, std::uint32_t bits) {
  return rows * (dim * bits / 8 + 36) + 64 * 1024;
}

void add(Index& index, std::uint64_t first, std::uint64_t count, std::uint64_t revision = 0) {
  const auto ids = ids_from(first, count);
  const auto added = index.upsert(ids, rows_of(ids, index.options().dim, revision));
  ASSERT_TRUE(added.ok()) << added.status().message();
}

// Whether the file has these eight bytes anywhere.
bool has_word(const std::vector<std::byte>& bytes, std::uint64_t word) {
  const auto* first = reinterpret_cast<const std::byte*>(&word);
  return std::search(bytes.begin(), bytes.end(), first, first + sizeof word) != bytes.end();
}

TEST(RewrittenFile, IsWithinItsBoundWhateverCameBefore) {
  for (const std::uint32_t dim : {128u, 768u}) {
    for (const std::uint8_t bits : kAllBits) {
      SCOPED_TRACE(std::to_string(dim) + " " + std::to_string(bits));
      const Folder folder;
      const std::string path = folder.file("a.vic");
      Index index = opened(path, made_of(dim, bits));
      // One by one, then more than a segment, then less: every way to leave room unused.
      for (std::uint64_t id = 0; id < 150; ++id) add(index, id, 1);
      add(index, 150, 2000);
      ASSERT_TRUE(index.compact().ok());
      EXPECT_LE(bytes_of_file(path).size(), bound_of(2150, dim, bits));
      add(index, 10'000, 3);
      ASSERT_TRUE(index.remove(ids_from(0, 1500)).ok());
      ASSERT_TRUE(index.compact().ok());
      EXPECT_LE(bytes_of_file(path).size(), bound_of(653, dim, bits));
      const std::string saved = folder.file("b.vic");
      ASSERT_TRUE(index.save(saved).ok());
      EXPECT_LE(bytes_of_file(saved).size(), bound_of(653, dim, bits));
      ASSERT_TRUE(index.clear().ok());
      ASSERT_TRUE(index.compact().ok());
      EXPECT_LE(bytes_of_file(path).size(), bound_of(0, dim, bits));
      EXPECT_EQ(folder.files(), 2u);
    }
  }
}

TEST(RewrittenFile, OfSingleDurableAddsIsNeverThriceAsLargeAsACompactOne) {
  const std::uint64_t rows = scaled(4000);
  const Folder folder;
  const std::string path = folder.file("a.vic");
  RecordedFiles files;
  Index index = opened(path, made_of(768, 4, &files));
  WriteOptions durable;
  durable.durable = true;
  std::uint64_t rewritten = 0;
  for (std::uint64_t id = 0; id < rows; ++id) {
    ASSERT_TRUE(index.add(ids_from(id, 1), rows_of(ids_from(id, 1), 768), durable).ok());
    if (id % 50 != 0) continue;
    ASSERT_LE(std::filesystem::file_size(path), 3 * bound_of(id + 1, 768, 4)) << id;
    rewritten += files.count(Kind::rename);
    files.forget();
  }
  EXPECT_GE(rewritten, 5u);
  EXPECT_LE(rewritten, 100u) << "each has to pay";
  EXPECT_EQ(folder.files() - 1, files.count(Kind::create) - files.count(Kind::rename))
      << "a new file is there only while one is made";
}

TEST(RewrittenFile, HasNothingOfTheDead) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  constexpr std::uint64_t kSecret = 0x5ec2e70123456789;
  Index index = opened(path, made_of(64));
  add(index, 0, 500);
  add(index, kSecret, 1);
  add(index, 1000, 500);
  ASSERT_TRUE(index.flush().ok());
  ASSERT_TRUE(has_word(bytes_of_file(path), kSecret));
  ASSERT_TRUE(index.remove(ids_from(kSecret, 1)).ok());
  const std::string saved = folder.file("b.vic");
  ASSERT_TRUE(index.save(saved).ok());
  EXPECT_FALSE(has_word(bytes_of_file(saved), kSecret));
  ASSERT_TRUE(has_word(bytes_of_file(path), kSecret));
  ASSERT_TRUE(index.compact().ok());
  EXPECT_FALSE(has_word(bytes_of_file(path), kSecret));
}

// One step of each kind on either side of a compaction.
TEST(RewrittenFile, IsTheSameIndexAfterEachStepOfAHistory) {
  for (const int bits : {1, 4}) {
    const History history = varied_history(19, static_cast<std::uint8_t>(bits), Metric::cosine,
                                           kBothKinds[bits / 4]);
    const auto states = history.states(kHistoryIds);
    for (const bool reopens : {false, true}) {
      const Folder folder;
      const std::string path = folder.file("a.vic");
      auto index = std::make_unique<Index>(opened(path, open_options(history)));
      for (std::size_t i = 0; i < history.steps().size(); ++i) {
        SCOPED_TRACE(i);
        ASSERT_TRUE(history.steps()[i](*index, {}).ok());
        const auto compacted = index->compact();
        ASSERT_TRUE(compacted.ok()) << compacted.status().message();
        ASSERT_EQ(content_of(*index, kHistoryIds), states[i + 1]);
        for (const bool mapped : {true, false}) {
          const Index other = opened(path, reading(mapped));
          ASSERT_EQ(content_of(other, kHistoryIds), states[i + 1]);
          ASSERT_EQ(other.stats().sequence, index->stats().sequence);
        }
        const auto report = verify_file(path);
        ASSERT_TRUE(report.ok()) << report.status().message();
        ASSERT_TRUE(report->clean());
        ASSERT_EQ(folder.files(), 1u);
        if (!reopens) continue;
        index.reset();
        index = std::make_unique<Index>(opened(path, open_options(history)));
        ASSERT_EQ(content_of(*index, kHistoryIds), states[i + 1]);
      }
    }
  }
}

TEST(RewrittenFile, KeepsItsWriterOutOfOthersHands) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Index index = opened(path, made_of(16));
  add(index, 0, 300);
  ASSERT_TRUE(index.compact().ok());
  EXPECT_EQ(Index::open(path).code(), Code::busy);
  Index other = std::move(Index::create(small_options(16))).value();
  const Status saved = other.save(path);
  EXPECT_EQ(saved.code(), Code::busy);
  EXPECT_EQ(saved.a(), static_cast<std::uint64_t>(::getpid()));
  index.close();
  EXPECT_TRUE(other.save(path).ok());
  EXPECT_EQ(opened(path).reader().size(), 0u);
}

// Whoever took its name away meant it.
TEST(RewrittenFile, IsNotPutWhereAnotherOneIs) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Index index = opened(path, made_of(16));
  add(index, 0, 300);
  std::filesystem::rename(path, folder.file("b.vic"));
  EXPECT_EQ(index.compact().code(), Code::io);
  EXPECT_EQ(folder.files(), 1u);
  add(index, 300, 10);
  ASSERT_TRUE(index.flush().ok());
  EXPECT_EQ(opened(folder.file("b.vic"), reading()).reader().size(), 310u);
}

TEST(RewrittenFile, IsNotPutWhereAnotherOneCameMeanwhile) {
  for (const bool replaced : {true, false}) {
    const Folder folder;
    const std::string path = folder.file("a.vic");
    Index index = opened(path, made_of(64));
    std::uint64_t id = 0;
    for (; folder.files() == 1; ++id) add(index, id, 1);  // until a new file is being made
    add(index, 50'000, 1);
    std::filesystem::rename(path, folder.file("b.vic"));
    if (replaced) put_file(path, std::vector<std::byte>(1000, std::byte{7}));
    for (std::uint64_t more = 0; more < 3000; ++more) add(index, 100'000 + more, 1);
    ASSERT_TRUE(index.flush().ok());
    EXPECT_EQ(std::filesystem::exists(path), replaced);
    if (replaced) {
      EXPECT_EQ(bytes_of_file(path), std::vector<std::byte>(1000, std::byte{7}));
    }
    EXPECT_EQ(folder.files(), replaced ? 2u : 1u);
    EXPECT_EQ(opened(folder.file("b.vic"), reading()).reader().size(), id + 3001);
  }
}

// What nobody has asked for is not in the file, whatever is rewritten.
TEST(RewrittenFile, HasNothingThatWasNotFlushed) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  { const Index index = opened(path, made_of(32)); }
  OpenOptions options;
  options.commit_on_flush = true;
  Index index = opened(path, options);
  for (std::uint64_t round = 0; round < 30; ++round) {
    add(index, 0, 400, round);
    ASSERT_TRUE(index.flush().ok());
    add(index, 1000, 10, round);
    EXPECT_EQ(opened(path, reading()).reader().size(), round == 0 ? 400u : 410u);
  }
  EXPECT_LE(std::filesystem::file_size(path), 3 * bound_of(410, 32, 4))
      << "one that is flushed seldom is rewritten, too";
  index.close();
  EXPECT_EQ(content_of(opened(path, reading()), 400), content_of(opened(path), 400));
}

TEST(RewrittenFile, IsFoundWhereverTheProcessIs) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.file(""));
  Index index = opened("a.vic", made_of(16));
  std::filesystem::current_path(before);
  add(index, 0, 300);
  ASSERT_TRUE(index.compact().ok());
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_EQ(opened(folder.file("a.vic"), reading()).reader().size(), 300u);
}

// Every operation fails once, in each of three ways to go on.
TEST(RewrittenFile, IsTheOldOneWhenAnyOperationFails) {
  for (const int error : {EIO, ENOSPC}) {
    std::uint64_t failed = 1;
    for (std::uint64_t nth = 1; failed != 0; ++nth) {
      SCOPED_TRACE(nth);
      const Folder folder;
      const std::string path = folder.file("a.vic");
      RecordedFiles files;
      Index index = opened(path, made_of(16, 4, &files));
      add(index, 0, 200);
      ASSERT_TRUE(index.remove(ids_from(3, 100)).ok());
      ASSERT_TRUE(index.flush().ok());
      const std::uint64_t content = content_of(index, 300);
      files.fail(nth, nth, error);
      const auto compacted = index.compact();
      failed = files.failed();
      files.fail(0, 0, 0);
      EXPECT_EQ(compacted.ok(), failed == 0);
      EXPECT_EQ(compacted.code(), failed == 0 ? Code::ok : Code::io);
      EXPECT_EQ(content_of(index, 300), content);
      EXPECT_EQ(content_of(opened(path, reading()), 300), content);
      // The log has ended, or goes on: what is acknowledged is there.
      const auto ids = ids_from(250, 1);
      WriteOptions durable;
      durable.durable = true;
      const auto added = index.add(ids, rows_of(ids, 16), durable);
      const std::uint64_t now = content_of(index, 300);
      EXPECT_TRUE(added.ok() || added.code() == Code::read_only);
      const std::uint64_t found = content_of(opened(path, reading()), 300);
      EXPECT_EQ(found, added.ok() ? now : content);
      EXPECT_EQ(folder.files(), 1u);
    }
  }
}

TEST(RewrittenFile, LosesNothingThatIsWrittenMeanwhile) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Index index = opened(path, made_of(32));
  add(index, 0, 2000);
  sync::Atomic<std::uint32_t> over;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 150; ++i) {
        const auto ids = ids_from(3000 + thread * 1000 + i * 3, 3);
        WriteOptions options;
        options.durable = i % 16 == 0;
        ASSERT_TRUE(index.add(ids, rows_of(ids, 32), options).ok());
        if (i % 5 == 0) {
          ASSERT_TRUE(index.remove(ids_from(thread * 600 + i, 5)).ok());
        }
      }
    });
  }
  threads.emplace_back([&] {
    while (over.load(sync::relaxed) == 0) ASSERT_TRUE(index.compact().ok());
  });
  threads.emplace_back([&] {
    while (over.load(sync::relaxed) == 0) ASSERT_TRUE(Index::open(path, reading()).ok());
  });
  for (std::size_t i = 0; i < 3; ++i) threads[i].join();
  over.store(1, sync::relaxed);
  threads[3].join();
  threads[4].join();
  ASSERT_TRUE(index.flush().ok());
  const std::uint64_t content = content_of(index, 7000);
  ASSERT_NE(content, 0u);
  EXPECT_EQ(content_of(opened(path, reading()), 7000), content);
  index.close();
  EXPECT_EQ(content_of(opened(path), 7000), content);
  EXPECT_TRUE(verify_file(path)->clean());
  EXPECT_EQ(folder.files(), 1u);
}

// A rewriting keeps one version: what a large write frees meanwhile is not kept with it for long.
TEST(RewrittenFile, DoesNotMakeWritesWaitForWhatItKeeps) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options = made_of(256);
  options.create->retired_bytes_max = 1 << 20;
  Index index = opened(path, options);
  for (std::uint64_t revision = 0; revision < 40; ++revision) {
    const auto ids = ids_from(0, 2000);
    const auto written = index.upsert(ids, rows_of(ids, 256, revision));
    ASSERT_TRUE(written.ok()) << revision << ' ' << written.status().message();
  }
  const std::uint64_t content = content_of(index, 2000);
  index.close();
  EXPECT_EQ(content_of(opened(path), 2000), content);
}

TEST(IdsInAFile, AreReadOnlyWhereNoTableHasThem) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  std::uint64_t content = 0;
  {
    Index index = opened(path, made_of(16));
    add(index, 0, 20'000);
    ASSERT_TRUE(index.remove(ids_from(100, 50)).ok());
    content = content_of(index, 21'000);
  }
  RecordedFiles files;
  OpenOptions options = reading(false);
  options.files = &files;
  EXPECT_EQ(content_of(opened(path, options), 21'000), content);
  {
    // Mapped, opening reads records and tables alone.
    OpenOptions mapped = reading();
    mapped.files = &files;
    files.forget();
    const Index index = opened(path, mapped);
    std::uint64_t tables = 0;
    for (const FileOperation& one : files.operations()) tables += one.kind == Kind::map ? 1 : 0;
    EXPECT_GE(tables, 2u) << "an extent and the table";
    EXPECT_EQ(content_of(index, 21'000), content);
  }
  // Rows of later commits are entered beside the table's, in all kinds of opening.
  {
    Index index = opened(path);
    add(index, 20'500, 100);
    add(index, 5, 1, 3);
    ASSERT_TRUE(index.remove(ids_from(19'000, 10)).ok());
    content = content_of(index, 21'000);
  }
  for (const bool mapped : {true, false}) {
    EXPECT_EQ(content_of(opened(path, reading(mapped)), 21'000), content);
  }
}

// Hints that are damaged are left out, and ids found all the same.
TEST(IdsInAFile, AreFoundWithoutATableThatIsDamaged) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  std::uint64_t content = 0;
  {
    Index index = opened(path, made_of(8));
    add(index, 0, 3000);
    ASSERT_TRUE(index.compact().ok());
    content = content_of(index, 3000);
  }
  const auto whole = bytes_of_file(path);
  // It lies behind the extents.
  std::uint64_t damaged = 0;
  for (std::size_t at = whole.size() - whole.size() / 5; at < whole.size(); at += 97) {
    auto bytes = whole;
    bytes[at] ^= std::byte{16};
    put_file(path, bytes);
    const auto report = verify_file(path);
    if (!report.ok()) {  // not in the table
      EXPECT_EQ(report.code(), Code::corrupt) << at;
      continue;
    }
    damaged += report->ids_damaged ? 1 : 0;
    for (const bool mapped : {true, false}) {
      EXPECT_EQ(content_of(opened(path, reading(mapped)), 3000), content) << at;
    }
  }
  EXPECT_GE(damaged, 20u);
}

}  // namespace
}  // namespace vicinal::test
