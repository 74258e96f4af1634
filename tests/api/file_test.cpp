// An index that lives in a file: opened, written, closed and opened again.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>

#include "support/file_world.hpp"
#include "support/recorded_files.hpp"

namespace vicinal::test {
namespace {

using Kind = FileOperation::Kind;

constexpr WriteOptions durable() {
  WriteOptions options;
  options.durable = true;
  return options;
}

TEST(IndexFile, HasAfterEveryWriteWhatTheIndexHasHoweverItIsOpened) {
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    for (const int bits : {1, 2, 4, 8}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(metric)) + " " + std::to_string(bits));
      const Folder folder;
      const std::string path = folder.file("a.vic");
      const History history = varied_history(19, static_cast<std::uint8_t>(bits), metric,
                                             kBothKinds[bits % 4 == 0 ? 1 : 0]);
      const auto states = history.states(kHistoryIds);
      Index index = opened(path, open_options(history));
      ASSERT_EQ(content_of(index, kHistoryIds), states[0]);
      for (std::size_t i = 0; i < history.steps().size(); ++i) {
        SCOPED_TRACE(i);
        const auto receipt = history.steps()[i](index, i % 3 == 0 ? durable() : WriteOptions{});
        ASSERT_TRUE(receipt.ok()) << receipt.status().message();
        for (const bool mapped : {true, false}) {
          OpenOptions options;
          options.read_only = true;
          options.mapped = mapped;
          const Index other = opened(path, options);
          ASSERT_EQ(content_of(other, kHistoryIds), states[i + 1]);
          ASSERT_EQ(other.stats().sequence, index.stats().sequence);
        }
        const auto loaded = Index::from_bytes(bytes_of_file(path));
        ASSERT_TRUE(loaded.ok()) << loaded.status().message();
        ASSERT_EQ(content_of(*loaded, kHistoryIds), states[i + 1]);
      }
    }
  }
}

TEST(IndexFile, IsWrittenOnByWhoeverOpensItAfterEachWrite) {
  for (const int turn : {0, 1, 2, 3}) {
    const Folder folder;
    const std::string path = folder.file("a.vic");
    const History history = varied_history(8, 4, Metric::cosine, kBothKinds[turn / 2]);
    const auto states = history.states(kHistoryIds);
    OpenOptions options = open_options(history);
    options.mapped = turn % 2 == 0;
    for (std::size_t i = 0; i < history.steps().size(); ++i) {
      SCOPED_TRACE(i);
      Index index = opened(path, options);
      ASSERT_EQ(content_of(index, kHistoryIds), states[i]);
      ASSERT_TRUE(history.steps()[i](index, {}).ok());
      ASSERT_EQ(content_of(index, kHistoryIds), states[i + 1]);
    }
    EXPECT_EQ(content_of(opened(path), kHistoryIds), states.back());
    EXPECT_EQ(folder.files(), 1u);
  }
}

TEST(IndexFile, CompactionsAndLargeSegmentsAreInItToo) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(16);
  std::uint64_t before = 0;
  {
    Index index = opened(path, options);
    const auto ids = ids_from(0, 3000);
    for (std::uint64_t revision = 0; revision < 4; ++revision) {
      ASSERT_TRUE(index.upsert(ids, rows_of(ids, 16, revision)).ok());
      ASSERT_TRUE(index.remove(ids_from(revision * 100, 50)).ok());
      ASSERT_TRUE(index.compact().ok());
    }
    before = content_of(index, 3000);
    ASSERT_NE(before, 0u);
  }
  const Index index = opened(path);
  EXPECT_EQ(content_of(index, 3000), before);
  EXPECT_EQ(index.stats().dead, 0u);
}

TEST(IndexFile, ADurableAddOfOneRowIsTwoSyncsAndFewBytes) {
  const Folder folder;
  RecordedFiles files;
  OpenOptions options;
  options.create = small_options(768);
  options.files = &files;
  Index index = opened(folder.file("a.vic"), options);
  for (std::uint64_t id = 0; id < 300; ++id) {
    files.forget();
    ASSERT_TRUE(index.add(ids_from(id, 1), rows_of(ids_from(id, 1), 768), durable()).ok());
    // The one that ends a rewriting syncs the new file, too.
    ASSERT_EQ(files.count(Kind::sync), 2u + files.count(Kind::rename));
    if (files.count(Kind::rename) == 0) {
      ASSERT_LE(files.bytes_written(), 64u * 1024);
    }
    ASSERT_EQ(files.count(Kind::read), 0u);
  }
  files.forget();
  ASSERT_TRUE(index.add(ids_from(300, 1), rows_of(ids_from(300, 1), 768)).ok());
  EXPECT_EQ(files.count(Kind::sync), 0u);
  EXPECT_GE(files.count(Kind::write), 1u);
  ASSERT_TRUE(index.flush().ok());
  EXPECT_EQ(files.count(Kind::sync), 2u);
  ASSERT_EQ(index.flush()->sequence, index.stats().sequence);
  EXPECT_EQ(files.count(Kind::sync), 2u) << "nothing was left to make certain";
}

TEST(IndexFile, WritersOfSeveralThreadsShareSyncs) {
  const Folder folder;
  RecordedFiles files;
  OpenOptions options;
  options.create = small_options(8);
  options.files = &files;
  Index index = opened(folder.file("a.vic"), options);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&index, thread] {
      for (std::uint64_t i = 0; i < 100; ++i) {
        const auto ids = ids_from(thread * 100 + i, 1);
        const auto options_of = i % 2 == 0 ? durable() : WriteOptions{};
        ASSERT_TRUE(index.add(ids, rows_of(ids, 8), options_of).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::uint64_t content = content_of(index, 400);
  OpenOptions reading;
  reading.read_only = true;
  EXPECT_EQ(content_of(opened(folder.file("a.vic"), reading), 400), content);
  EXPECT_LE(files.count(Kind::sync), 1 + 2 * 200u + 10);
}

// Whoever finds the log taken leaves, and who has it looks once more.
TEST(IndexFile, HasWhatOthersWroteWhileOneWasAtTheLog) {
  const Folder folder;
  RecordedFiles files;
  OpenOptions options;
  options.create = small_options(8);
  options.files = &files;
  Index index = opened(folder.file("a.vic"), options);
  const auto add = [&index](std::uint64_t id, const WriteOptions& how) {
    const auto ids = ids_from(id, 1);
    ASSERT_TRUE(index.add(ids, rows_of(ids, 8), how).ok());
  };
  OpenOptions reading;
  reading.read_only = true;
  for (const WriteOptions& how : {WriteOptions{}, durable()}) {
    const std::uint64_t first = index.reader().size();
    files.before_next_write([&] { std::thread(add, first + 1, WriteOptions{}).join(); });
    add(first, how);
    ASSERT_EQ(index.reader().size(), first + 2);
    EXPECT_EQ(opened(folder.file("a.vic"), reading).reader().size(), first + 2);
  }
}

TEST(IndexFile, HasOneWriterAndSaysWhoItIs) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(8);
  Index index = opened(path, options);
  const auto second = Index::open(path);
  EXPECT_EQ(second.code(), Code::busy);
  EXPECT_EQ(second.status().a(), static_cast<std::uint64_t>(::getpid()));
  EXPECT_NE(second.status().message().find(std::to_string(::getpid())), std::string::npos);
  OpenOptions reading;
  reading.read_only = true;
  Index reader = opened(path, reading);
  EXPECT_EQ(reader.add(ids_from(0, 1), rows_of(ids_from(0, 1), 8)).code(), Code::read_only);
  EXPECT_EQ(reader.flush().code(), Code::read_only);
  ASSERT_TRUE(index.add(ids_from(0, 1), rows_of(ids_from(0, 1), 8)).ok());
  const Reader kept = index.reader();
  index.close();
  EXPECT_EQ(index.flush().code(), Code::closed);
  EXPECT_EQ(opened(path).reader().size(), 1u) << "a reader of a closed index keeps no file";
}

TEST(IndexFile, AnIndexInMemoryPromisesNothing) {
  Index index = std::move(Index::create(small_options(8))).value();
  EXPECT_EQ(index.add(ids_from(0, 1), rows_of(ids_from(0, 1), 8), durable()).code(),
            Code::unsupported);
  EXPECT_EQ(index.reader().size(), 0u);
  EXPECT_EQ(index.flush().code(), Code::unsupported);
  EXPECT_NE(index.flush().status().message().find("durable"), std::string::npos);
}

TEST(IndexFile, IsMadeOnlyWhereItIsMissingAndOnlyAsItWasAskedFor) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  const Status missing = Index::open(path).status();
  EXPECT_EQ(missing.code(), Code::io);
  EXPECT_EQ(missing.a(), static_cast<std::uint64_t>(ENOENT));
  OpenOptions options;
  options.create = small_options(8);
  {
    Index index = opened(path, options);
    ASSERT_TRUE(index.add(ids_from(0, 9), rows_of(ids_from(0, 9), 8)).ok());
  }
  EXPECT_EQ(opened(path, options).reader().size(), 9u);
  options.create->dim = 9;
  EXPECT_EQ(Index::open(path, options).status().a(), static_cast<std::uint64_t>(OptionName::dim));
  options.create = small_options(8);
  options.create->bits = 2;
  EXPECT_EQ(Index::open(path, options).status().a(), static_cast<std::uint64_t>(OptionName::bits));
  options.create->bits = 7;
  EXPECT_EQ(Index::open(folder.file("b.vic"), options).code(), Code::bad_option);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(IndexFile, WhatIsNoIndexFileIsATypedError) {
  const Folder folder;
  for (const bool read_only : {true, false}) {
    OpenOptions options;
    options.read_only = read_only;
    const auto code = [&](const std::string& path) { return Index::open(path, options).code(); };
    const Status directory = Index::open(folder.file("."), options).status();
    EXPECT_EQ(directory.code(), Code::io);
    EXPECT_EQ(directory.a(), static_cast<std::uint64_t>(EISDIR));
    put_file(folder.file("empty"), {});
    EXPECT_EQ(code(folder.file("empty")), Code::corrupt);
    put_file(folder.file("foreign"), std::vector<std::byte>(100'000, std::byte{'x'}));
    EXPECT_EQ(code(folder.file("foreign")), Code::corrupt);
    EXPECT_EQ(code("/dev/null"), Code::io);
  }
}

TEST(IndexFile, SavedOntoItselfIsFlushedAndStaysTheFile) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(64);
  std::uint64_t content = 0;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    Index index = opened(path, options);
    const auto ids = ids_from(turn * 1000, 1000);
    ASSERT_TRUE(index.add(ids, rows_of(ids, 64)).ok());
    ASSERT_TRUE(index.save(path).ok());
    ASSERT_TRUE(index.remove(ids_from(turn * 1000 + 77, 3)).ok());
    content = content_of(index, 4000);
    index.close();  // while its segments are mapped
    ASSERT_EQ(content_of(opened(path), 4000), content);
  }
  EXPECT_EQ(folder.files(), 1u);
}

TEST(IndexFile, FilesOfOlderFormatsAreLoadedAndNotWritten) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  Index index = std::move(Index::create(small_options(8))).value();
  ASSERT_TRUE(index.add(ids_from(0, 9), rows_of(ids_from(0, 9), 8)).ok());
  put_file(path, *index.to_bytes());
  Index old = opened(path);
  EXPECT_EQ(content_of(old, 20), content_of(index, 20));
  EXPECT_EQ(old.add(ids_from(9, 1), rows_of(ids_from(9, 1), 8), durable()).code(),
            Code::unsupported);
  ASSERT_TRUE(old.add(ids_from(9, 1), rows_of(ids_from(9, 1), 8)).ok());
  EXPECT_EQ(old.flush().code(), Code::unsupported);
  EXPECT_EQ(opened(path).reader().size(), 9u);
}

}  // namespace
}  // namespace vicinal::test
