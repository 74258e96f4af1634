// An index that was opened for reading, and follows who writes to its file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "engine/log_file.hpp"
#include "engine/opener.hpp"
#include "support/file_world.hpp"
#include "support/recorded_files.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint64_t kLive = storage::kLivePagePosition;

Index follower(const std::string& path, bool mapped = true) {
  return opened(path, reading(mapped));
}

// Bytes of a file that stays the same one.
class InPlace {
 public:
  explicit InPlace(const std::string& path) : number_(::open(path.c_str(), O_RDWR)) {}
  InPlace(const InPlace&) = delete;
  InPlace& operator=(const InPlace&) = delete;
  ~InPlace() { ::close(number_); }

  void write(std::uint64_t at, std::span<const std::byte> bytes) const {
    EXPECT_EQ(::pwrite(number_, bytes.data(), bytes.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(bytes.size()));
  }
  template <class T>
  void put(std::uint64_t at, T value) const {
    write(at, std::as_bytes(std::span(&value, 1)));
  }
  void say_end(std::uint64_t end) const { put(kLive + storage::kLiveEnd, end); }
  void cut(std::uint64_t bytes) const {
    EXPECT_EQ(::ftruncate(number_, static_cast<off_t>(bytes)), 0);
  }

 private:
  int number_;
};

std::uint64_t announced_in(std::span<const std::byte> bytes) {
  std::uint64_t end = 0;
  std::memcpy(&end, bytes.data() + kLive + storage::kLiveEnd, sizeof end);
  return end;
}

TEST(Follow, AReaderHasAfterEveryWriteWhatTheWriterHas) {
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    for (const int bits : {1, 2, 4, 8}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(metric)) + " " + std::to_string(bits));
      const Folder folder;
      const std::string path = folder.file("a.vic");
      const History history = varied_history(19, static_cast<std::uint8_t>(bits), metric,
                                             kBothKinds[bits % 4 == 0 ? 1 : 0]);
      const auto states = history.states(kHistoryIds);
      Index writer = opened(path, open_options(history));
      std::vector<Index> readers;
      readers.push_back(follower(path));
      readers.push_back(follower(path, false));
      for (std::size_t i = 0; i < history.steps().size(); ++i) {
        SCOPED_TRACE(i);
        const auto receipt = history.steps()[i](writer, {});
        ASSERT_TRUE(receipt.ok());
        for (const Index& reader : readers) {
          ASSERT_EQ(content_of(reader, kHistoryIds), states[i + 1]);
          ASSERT_EQ(reader.stats().sequence, writer.stats().sequence);
          ASSERT_EQ(reader.stats().dead, writer.stats().dead);
        }
        // One that comes now, and one that looks the first time at the end.
        readers.push_back(follower(path, i % 2 == 0));
      }
    }
  }
}

TEST(Follow, ManyCommitsAtOnceBecomeOneVersion) {
  for (const int turn : {0, 1, 2, 3}) {
    const bool mapped = turn % 2 == 0;
    const Folder folder;
    const std::string path = folder.file("a.vic");
    const History history = varied_history(8, 4, Metric::cosine, kBothKinds[turn / 2]);
    const auto states = history.states(kHistoryIds);
    for (std::size_t stop = 1; stop <= history.steps().size(); ++stop) {
      SCOPED_TRACE(stop);
      std::filesystem::remove(path);
      Index writer = opened(path, open_options(history));
      const Index reader = follower(path, mapped);
      for (std::size_t i = 0; i < stop; ++i) ASSERT_TRUE(history.steps()[i](writer, {}).ok());
      ASSERT_EQ(content_of(reader, kHistoryIds), states[stop]);
      for (std::size_t i = stop; i < history.steps().size(); ++i) {
        ASSERT_TRUE(history.steps()[i](writer, {}).ok());
      }
      ASSERT_EQ(content_of(reader, kHistoryIds), states.back());
    }
  }
}

TEST(Follow, EveryCallLooksFirst) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(8);
  Index writer = opened(path, options);
  const Index index = follower(path);
  Reader reader = index.reader();
  std::uint64_t sequence = 0;
  const auto add = [&] {
    const auto ids = ids_from(sequence, 1);
    sequence = writer.add(ids, rows_of(ids, 8)).value().sequence;
  };
  const auto query = vector_of(1, 8);
  add();
  EXPECT_TRUE(reader.has(0));
  add();
  EXPECT_EQ(reader.size(), 2u);
  add();
  EXPECT_EQ(reader.sequence(), 3u);
  add();
  EXPECT_EQ(reader.search(query).value().size(), 4u);
  add();
  EXPECT_EQ(reader.search_batch(query).value().sequence(), 5u);
  add();
  EXPECT_TRUE(reader.get(5).ok());
  add();
  EXPECT_EQ(reader.snapshot().size(), 7u);
  add();
  EXPECT_EQ(index.stats().rows, 8u);
  add();
  EXPECT_EQ(Index::from_bytes(index.to_bytes().value()).value().reader().size(), 9u);
  add();
  SearchOptions wanted;
  wanted.min_sequence = 10;
  EXPECT_EQ(reader.search(query, wanted).value().sequence(), 10u);
  wanted.min_sequence = 11;
  EXPECT_EQ(reader.search(query, wanted).code(), Code::would_block);
}

TEST(Follow, RefreshTellsWhetherThereWasSomething) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(8);
  Index writer = opened(path, options);
  for (const bool mapped : {true, false}) {
    Index index = follower(path, mapped);
    EXPECT_FALSE(index.refresh().value());
    const auto ids = ids_from(mapped ? 0 : 1, 1);
    ASSERT_TRUE(writer.add(ids, rows_of(ids, 8)).ok());
    EXPECT_TRUE(index.refresh().value());
    EXPECT_FALSE(index.refresh().value());
    index.close();
    EXPECT_EQ(index.refresh().code(), Code::closed);
  }
  EXPECT_FALSE(writer.refresh().value());
  OpenOptions detached;
  detached.read_only = detached.detached = true;
  Index apart = opened(path, detached);
  ASSERT_TRUE(writer.clear().ok());
  EXPECT_FALSE(apart.refresh().value());
  EXPECT_EQ(apart.reader().size(), 2u);
}

TEST(Follow, ASnapshotStaysAndAFollowerTakesNoWrites) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  const History history = varied_history(16, 4);
  Index writer = opened(path, open_options(history));
  ASSERT_TRUE(history.steps()[0](writer, {}).ok());
  Index index = follower(path);
  std::vector<Reader> snapshots;
  std::vector<std::vector<float>> first;
  Reader reader = index.reader();
  const auto scores = [](Reader& snapshot) {
    const auto found = snapshot.search(vector_of(3, 16)).value().scores();
    return std::vector<float>(found.begin(), found.end());
  };
  for (const auto& step : history.steps()) {
    snapshots.push_back(reader.snapshot());
    first.push_back(scores(snapshots.back()));
    (void)step(writer, {});
  }
  for (std::size_t i = 0; i < snapshots.size(); ++i) EXPECT_EQ(scores(snapshots[i]), first[i]);
  EXPECT_EQ(index.clear().code(), Code::read_only);
  EXPECT_EQ(index.compact().code(), Code::read_only);
  EXPECT_EQ(index.flush().code(), Code::read_only);
}

TEST(Follow, CompactionsAndManySegmentsAreFollowed) {
  for (const bool mapped : {true, false}) {
    const Folder folder;
    const std::string path = folder.file("a.vic");
    OpenOptions options;
    options.create = small_options(16);
    Index writer = opened(path, options);
    const Index reader = follower(path, mapped);
    const auto ids = ids_from(0, 3000);
    for (std::uint64_t revision = 0; revision < 4; ++revision) {
      ASSERT_TRUE(writer.upsert(ids, rows_of(ids, 16, revision)).ok());
      ASSERT_EQ(content_of(reader, 3000), content_of(writer, 3000));
      ASSERT_TRUE(writer.remove(ids_from(revision * 100, 50)).ok());
      ASSERT_TRUE(writer.compact().ok());
      ASSERT_EQ(content_of(reader, 3000), content_of(writer, 3000));
      ASSERT_EQ(reader.stats().dead, 0u);
      ASSERT_EQ(reader.stats().segments, writer.stats().segments);
    }
  }
}

TEST(Follow, SegmentsThatComeAndGoBetweenTwoLooksAreNotLookedAt) {
  for (const bool mapped : {true, false}) {
    for (std::uint64_t commits = 1; commits <= 12; ++commits) {
      SCOPED_TRACE(commits);
      const Folder folder;
      const std::string path = folder.file("a.vic");
      OpenOptions options;
      options.create = small_options(8);
      Index writer = opened(path, options);
      Index index = follower(path, mapped);
      const auto ids = ids_from(0, 45);
      for (std::uint64_t turn = 0; turn < 20; ++turn) {
        for (std::uint64_t i = 0; i < commits; ++i) {
          ASSERT_TRUE(writer.upsert(ids, rows_of(ids, 8, turn * commits + i)).ok());
        }
        ASSERT_TRUE(index.refresh().value());
        ASSERT_EQ(content_of(index, 45), content_of(writer, 45));
      }
    }
  }
}

TEST(Follow, ThreadsThatShareAFollowerEachSeeWholeCommitsInTheirOrder) {
  constexpr std::uint64_t kRows = 45;
  constexpr std::uint32_t kDim = 8;
  for (const bool mapped : {true, false}) {
    const Folder folder;
    const std::string path = folder.file("a.vic");
    OpenOptions options;
    options.create = small_options(kDim);
    Index writer = opened(path, options);
    const Index index = follower(path, mapped);
    const auto ids = ids_from(0, kRows);
    const std::uint64_t commits = scaled(120);
    const auto read = [&] {  // all rows of a version are the same vector
      Reader reader = index.reader();
      for (std::uint64_t before = 0; before < commits;) {
        Reader snapshot = reader.snapshot();
        const std::uint64_t sequence = snapshot.sequence();
        EXPECT_GE(sequence, before);
        before = sequence;
        if (sequence == 0) continue;
        const auto first = snapshot.get(0).value();
        for (std::uint64_t id = 1; id < kRows; ++id) EXPECT_EQ(snapshot.get(id).value(), first);
        EXPECT_EQ(reader.search(first).value().size(), 10u);
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(read);
    for (std::uint64_t revision = 1; revision <= commits; ++revision) {
      std::vector<float> rows;
      for (std::uint64_t i = 0; i < kRows; ++i) {
        const auto one = vector_of(revision, kDim);
        rows.insert(rows.end(), one.begin(), one.end());
      }
      EXPECT_TRUE(writer.upsert(ids, rows).ok());
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(content_of(index, kRows), content_of(writer, kRows));
  }
}

// Bytes of this process's own in mappings of the file.
std::size_t private_bytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t kib = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("-") < line.find(" ") && line.find(":") > line.find(" ")) {
      ours = line.ends_with(path);
    }
    if (ours && line.starts_with("Private_Dirty:")) kib += std::stoul(line.substr(14));
  }
  return kib * 1024;
}

TEST(Follow, WhatAReaderHasForItselfDoesNotGrowWithTheFile) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(64);
  Index writer = opened(path, options);
  const Index index = follower(path);
  Reader reader = index.reader();
  std::size_t most = 0;
  constexpr std::uint64_t kRows = 6000;
  for (std::uint64_t id = 0; id < kRows; ++id) {
    const auto ids = ids_from(id, 1);
    ASSERT_TRUE(writer.add(ids, rows_of(ids, 64)).ok());
    ASSERT_TRUE(reader.has(id));
    if (id % 50 == 0) most = std::max(most, private_bytes(path));
  }
  // Some 30 pages for each of the segments that were the last one once, of 1.3 MB and more.
  EXPECT_GT(most, 0u);
  EXPECT_LT(most / writer.stats().segments, 40u * 4096);
  EXPECT_EQ(content_of(index, kRows), content_of(writer, kRows));
}

// The file as it was and as it is after one more commit, and a follower that has the first.
struct OneMore {
  explicit OneMore(bool large) {
    path = folder.file("a.vic");
    History history(small_options(8));
    history.add(0, 30);
    history.remove(4, 3);
    if (large) {
      history.add(100, 200);
    } else {
      history.upsert(20, 4, 1);
    }
    const auto states = history.states(kHistoryIds);
    Index writer = opened(path, open_options(history));
    for (int step = 0; step < 2; ++step) {
      EXPECT_TRUE(history.steps()[static_cast<std::size_t>(step)](writer, {}).ok());
    }
    before = bytes_of_file(path);
    EXPECT_TRUE(history.steps()[2](writer, {}).ok());
    after = bytes_of_file(path);
    content_before = states[2];
    content_after = states[3];
    end = announced_in(after);
  }
  // The same file again, as it was.
  [[nodiscard]] Index start(bool mapped) const {
    put_file(path, before);
    return follower(path, mapped);
  }

  Folder folder;
  std::string path;
  std::vector<std::byte> before, after;
  std::uint64_t content_before = 0, content_after = 0, end = 0;
};

TEST(Follow, ACommitThatIsThereInPartIsNotTakenAndOneThatIsWholeLaterIs) {
  for (const bool large : {false, true}) {
    const OneMore world(large);
    for (const bool mapped : {true, false}) {
      const std::size_t step = large ? 1031 : 7;
      for (std::size_t bytes = world.before.size(); bytes < world.end; bytes += step) {
        SCOPED_TRACE(bytes);
        Index index = world.start(mapped);
        const InPlace file(world.path);
        auto part = world.after;
        std::fill(part.begin() + static_cast<std::ptrdiff_t>(bytes), part.end(), std::byte{0});
        file.write(storage::kLogStart, std::span(part).subspan(storage::kLogStart));
        file.say_end(world.end);
        const bool whole = part == world.after;  // only padding is missing
        ASSERT_EQ(content_of(index, kHistoryIds),
                  whole ? world.content_after : world.content_before);
        file.write(storage::kLogStart, std::span(world.after).subspan(storage::kLogStart));
        file.say_end(world.end + 64);
        ASSERT_EQ(content_of(index, kHistoryIds), world.content_after);
      }
    }
  }
}

TEST(Follow, AFlippedBitInACommitIsNeverServed) {
  for (const bool large : {false, true}) {
    const OneMore world(large);
    std::size_t refused = 0;
    const std::size_t step = large ? 37 : 1;
    for (std::size_t at = storage::kLogStart; at < world.after.size(); at += step) {
      if (at < world.before.size() && world.before[at] == world.after[at]) continue;
      SCOPED_TRACE(at);
      Index index = world.start(at % 2 == 0);
      const InPlace file(world.path);
      auto bytes = world.after;
      bytes[at] ^= std::byte{static_cast<unsigned char>(1u << at % 8)};
      file.write(storage::kLogStart, std::span(bytes).subspan(storage::kLogStart));
      file.say_end(world.end);
      const std::uint64_t content = content_of(index, kHistoryIds);
      // What no sum covers means nothing.
      ASSERT_TRUE(content == world.content_before || content == world.content_after);
      if (content == world.content_after) continue;
      ++refused;
      file.write(storage::kLogStart, std::span(world.after).subspan(storage::kLogStart));
      file.say_end(world.end + 64);
      ASSERT_EQ(content_of(index, kHistoryIds), world.content_after);
    }
    EXPECT_GT(refused, 20u);
  }
}

TEST(Follow, ALivePageThatLiesChangesNothing) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  const History history = varied_history(8, 4);
  const auto states = history.states(kHistoryIds);
  Index writer = opened(path, open_options(history));
  std::vector<Index> readers;
  readers.push_back(follower(path));
  readers.push_back(follower(path, false));
  const InPlace file(path);
  Random random(17);
  for (std::size_t i = 0; i < history.steps().size(); ++i) {
    for (int turn = 0; turn < 40; ++turn) {
      std::uint64_t end = random.next() >> random.below(64);
      if (turn % 3 == 0) end = 16384 + random.below(2000) * 64;
      file.say_end(end);
      file.put(kLive + storage::kLiveState, static_cast<std::uint32_t>(random.below(3)));
      for (const Index& reader : readers) {
        ASSERT_EQ(content_of(reader, kHistoryIds), states[i]);
      }
    }
    file.put(kLive + storage::kLiveState, std::uint32_t{0});
    ASSERT_TRUE(history.steps()[i](writer, {}).ok());
    // After a state that led nowhere readers come back in a while.
    for (Index& reader : readers) {
      ASSERT_TRUE(reader.refresh().ok());
      ASSERT_EQ(content_of(reader, kHistoryIds), states[i + 1]);
    }
  }
}

TEST(Follow, AFileThatShrinksEndsNoProcessWhereItIsNotMapped) {
  const OneMore world(true);
  Index index = world.start(false);
  const InPlace file(world.path);
  for (const std::uint64_t bytes : {world.before.size() - 100, std::size_t{16384}, std::size_t{9},
                                    std::size_t{0}}) {
    file.cut(bytes);
    file.say_end(world.end);
    file.cut(bytes);
    (void)index.refresh();
    EXPECT_EQ(content_of(index, kHistoryIds), world.content_before);
  }
  EXPECT_EQ(index.refresh().code(), Code::io);
}

TEST(Follow, AFileThatGetsTheNameWithoutAWordIsNotFollowed) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  OpenOptions options;
  options.create = small_options(8);
  const auto ids = ids_from(0, 40);
  {
    Index writer = opened(path, options);
    ASSERT_TRUE(writer.add(ids, rows_of(ids, 8)).ok());
  }
  Index reader = follower(path);
  const std::uint64_t content = content_of(reader, 100);
  Index other = std::move(Index::create(small_options(8))).value();
  ASSERT_TRUE(other.save(path).ok());
  EXPECT_FALSE(reader.refresh().value());
  EXPECT_EQ(content_of(reader, 100), content);
}

// A rewritten file in place of the one that the path leads to; the old one says so.
void rewrite(const std::string& path, bool says_so = true) {
  const InPlace old(path);
  platform::FileSystem& files = platform::system_files();
  engine::Opener::Options apart;
  apart.detached = true;
  const auto core = std::move(engine::Opener::open(files, path.c_str(), apart)).value();
  const auto& version = static_cast<const segment::Version&>(*core->root().newest());
  ASSERT_TRUE(engine::save_version(files, path.c_str(), *core, version).ok());
  if (says_so) old.put(kLive + storage::kLiveState, sync::LivePage::kMoved);
}

TEST(Follow, AReaderGoesToTheFileThatTookTheOnesPlace) {
  for (const Metric metric : {Metric::l2, Metric::ip}) {
    const Folder folder;
    const std::string path = folder.file("a.vic");
    const History history = varied_history(8, 4, metric);
    const auto states = history.states(kHistoryIds);
    std::vector<Index> readers;
    for (std::size_t i = 0; i < history.steps().size(); ++i) {
      SCOPED_TRACE(i);
      {
        Index writer = opened(path, open_options(history));
        readers.push_back(follower(path, i % 2 == 0));
        ASSERT_TRUE(history.steps()[i](writer, {}).ok());
        // Some look before the file is rewritten.
        if (i % 3 == 0) {
          for (const Index& reader : readers) {
            ASSERT_EQ(content_of(reader, kHistoryIds), states[i + 1]);
          }
        }
      }
      if (i % 2 == 0) rewrite(path);
      if (i % 4 == 0) rewrite(path);  // once more before anybody has looked
      for (Index& reader : readers) {
        ASSERT_TRUE(reader.refresh().ok());
        ASSERT_EQ(content_of(reader, kHistoryIds), states[i + 1]);
      }
    }
    const Index writer = opened(path, {});
    for (const Index& reader : readers) {
      EXPECT_EQ(reader.stats().sequence, writer.stats().sequence);
      EXPECT_EQ(reader.stats().dead, writer.stats().dead);
    }
  }
}

TEST(Follow, AFileThatIsNotTheSameIndexIsNotTakenForIt) {
  const Folder folder;
  const std::string path = folder.file("a.vic");
  const std::string kept = folder.file("kept.vic");
  OpenOptions options;
  options.create = small_options(8);
  const auto ids = ids_from(0, 40);
  Index writer = opened(path, options);
  ASSERT_TRUE(writer.add(ids, rows_of(ids, 8)).ok());
  Index reader = follower(path);
  const std::uint64_t content = content_of(reader, 100);
  std::filesystem::rename(path, kept);
  const InPlace old(kept);
  old.put(kLive + storage::kLiveState, sync::LivePage::kMoved);
  EXPECT_EQ(content_of(reader, 100), content);  // nothing has the name
  options.create = small_options(16);
  { Index other = opened(path, options); }
  ASSERT_TRUE(reader.refresh().ok());
  EXPECT_EQ(content_of(reader, 100), content);  // another kind
  std::filesystem::remove(path);
  options.create = small_options(8);
  { Index other = opened(path, options); }
  ASSERT_TRUE(reader.refresh().ok());
  EXPECT_EQ(content_of(reader, 100), content);  // one that has less
  // The old file is what there is.
  ASSERT_TRUE(writer.remove(ids_from(0, 10)).ok());
  ASSERT_TRUE(reader.refresh().ok());
  EXPECT_EQ(content_of(reader, 100), content_of(writer, 100));
}

TEST(Follow, EveryFailingOperationLeavesTheIndexAsItWas) {
  for (const bool mapped : {true, false}) {
    const Folder folder;
    const std::string path = folder.file("a.vic");
    History history(small_options(8));
    history.add(0, 40);
    history.add(50, 70);
    history.remove(3, 20);
    history.add(200, 100);
    const auto states = history.states(kHistoryIds);
    for (std::uint64_t operation = 1;; ++operation) {
      SCOPED_TRACE(operation);
      std::filesystem::remove(path);
      Index writer = opened(path, open_options(history));
      ASSERT_TRUE(history.steps()[0](writer, {}).ok());
      RecordedFiles files;
      OpenOptions options;
      options.read_only = true;
      options.mapped = mapped;
      options.files = &files;
      Index reader = opened(path, options);
      for (std::size_t i = 1; i < 4; ++i) ASSERT_TRUE(history.steps()[i](writer, {}).ok());
      if (operation % 2 == 0) {
        writer.close();
        rewrite(path);
        Index next = opened(path, {});
        ASSERT_TRUE(next.clear().ok());
      }
      files.fail(operation, operation, EIO);
      const auto refreshed = reader.refresh();
      const bool failed = files.failed() != 0;
      files.fail(0, 0, 0);
      if (failed && !refreshed.ok()) {
        ASSERT_EQ(refreshed.code(), Code::io);
        ASSERT_TRUE(reader.reader().has(0));  // what it has is answered with
      }
      for (int turn = 0; turn < 3; ++turn) ASSERT_TRUE(reader.refresh().ok());
      const auto last = operation % 2 == 0 ? content_of(opened(path, {}), kHistoryIds) : states[4];
      ASSERT_EQ(content_of(reader, kHistoryIds), last);
      if (!failed && operation % 2 == 1) break;
    }
  }
}

}  // namespace
}  // namespace vicinal::test
