// An index in a file of a system that maps none, as a browser's: the same file; and a file without
// room, which such a system tells apart from one that fails.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>

#include "platform/file_system.hpp"
#include "storage/log_format.hpp"
#include "support/file_world.hpp"

namespace vicinal::test {
namespace {

// The operating system's files, none of which can be mapped. Writes number `first` to `last` from
// now on find no room: of those one may have written its first half.
class SmallFiles final : public platform::FileSystem {
 public:
  void refuse(std::uint64_t first, std::uint64_t last) noexcept {
    writes_ = 0;
    first_ = first;
    last_ = last;
  }
  [[nodiscard]] bool has_refused() const noexcept { return writes_ >= first_; }

  Result<std::unique_ptr<platform::File>> open(const char* path,
                                               platform::Access access) noexcept override {
    auto file = platform::system_files().open(path, access);
    if (!file.ok()) return file;
    return std::unique_ptr<platform::File>(new SmallFile(*this, std::move(file).value()));
  }
  Result<std::unique_ptr<char[]>> full_name(const char* path) noexcept override {
    return platform::system_files().full_name(path);
  }
  Result<platform::TemporaryFile> create_beside(const char* path) noexcept override {
    return platform::system_files().create_beside(path);
  }
  Status rename_over(platform::TemporaryFile& temporary) noexcept override {
    return platform::system_files().rename_over(temporary);
  }
  Status rename_new(platform::TemporaryFile& temporary) noexcept override {
    return platform::system_files().rename_new(temporary);
  }
  void discard(platform::TemporaryFile& temporary) noexcept override {
    platform::system_files().discard(temporary);
  }

 private:
  class SmallFile final : public platform::File {
   public:
    SmallFile(SmallFiles& files, std::unique_ptr<platform::File> file) noexcept
        : files_(files), file_(std::move(file)) {}
    Result<std::uint64_t> size() noexcept override { return file_->size(); }
    Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override {
      return file_->read_at(offset, bytes);
    }
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept override {
      // The pages before the records are there, so that writing them takes no room.
      if (offset < storage::kLogStart) return file_->write_at(offset, bytes);
      const std::uint64_t number = ++files_.writes_;
      if (number < files_.first_ || number > files_.last_) return file_->write_at(offset, bytes);
      if (number % 2 == 0) (void)file_->write_at(offset, bytes.first(bytes.size() / 2));
      return Status(Code::full);
    }
    Status sync() noexcept override { return file_->sync(); }
    Status truncate(std::uint64_t bytes) noexcept override { return file_->truncate(bytes); }
    Result<void*> map(std::uint64_t, std::size_t, platform::Mapping) noexcept override {
      return Status(Code::unsupported);
    }
    Status lock() noexcept override { return file_->lock(); }
    Result<bool> is_at(const char* path) noexcept override { return file_->is_at(path); }

   private:
    SmallFiles& files_;
    std::unique_ptr<platform::File> file_;
  };

  std::uint64_t writes_ = 0;
  std::uint64_t first_ = 1;
  std::uint64_t last_ = 0;
};

struct LiveFields {
  std::uint64_t end, sequence;
  std::uint32_t state, zeros;
  std::uint64_t writer;
};

LiveFields live_fields_of(const std::string& path) {
  const auto bytes = bytes_of_file(path);
  LiveFields fields{};
  std::memcpy(&fields, bytes.data() + storage::kLivePagePosition, sizeof fields);
  return fields;
}

OpenOptions in(SmallFiles& files) {
  OpenOptions options;
  options.mapped = false;
  options.files = &files;
  return options;
}

void write_unmapped(IdKind ids) {
  const Folder folder;
  const History history = varied_history(19, 4, Metric::cosine, ids);
  const auto states = history.states(kHistoryIds);
  SmallFiles files;
  OpenOptions small = in(files);
  small.create = open_options(history).create;
  const std::string path = folder.file("small.vic");
  for (std::size_t i = 0; i < history.steps().size(); ++i) {
    SCOPED_TRACE(i);
    // By a new writer each time, and one that maps in turn.
    auto index = i % 2 == 0 ? Index::open(path, small) : Index::open(path);
    ASSERT_TRUE(index.ok()) << index.status().message();
    ASSERT_EQ(live_fields_of(path).writer, platform::process_id());
    const auto receipt = history.steps()[i](*index, {});
    ASSERT_TRUE(receipt.ok()) << receipt.status().message();
    const LiveFields live = live_fields_of(path);
    EXPECT_EQ(live.sequence, index->stats().sequence);
    EXPECT_EQ(live.end, bytes_of_file(path).size());
    EXPECT_EQ(live.state, 0u);
    ASSERT_EQ(content_of(*index, kHistoryIds), states[i + 1]);
    index->close();
    EXPECT_EQ(live_fields_of(path).writer, 0u);
    const auto loaded = Index::from_bytes(bytes_of_file(path));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    ASSERT_EQ(content_of(*loaded, kHistoryIds), states[i + 1]);
  }
}

TEST(UnmappedFile, HasAfterEveryWriteWhatOneThatIsMappedHas) { write_unmapped(IdKind::number); }

TEST(UnmappedFile, OfStringsTheSame) { write_unmapped(IdKind::string); }

// Strings are so many that there are records of them.
void run_out_of_room(IdKind kind) {
  const std::size_t dim = 8;
  for (std::uint64_t first = 1;; ++first) {
    SCOPED_TRACE(first);
    ASSERT_LT(first, 200u);
    const Folder folder;
    const std::string path = folder.file("a.vic");
    SmallFiles files;
    OpenOptions options = in(files);
    options.create = small_options(dim);
    options.create->ids = kind;
    auto index = Index::open(path, options);
    ASSERT_TRUE(index.ok()) << index.status().message();
    const auto add = [&](std::uint64_t from, std::uint64_t count) {
      const auto ids = ids_from(from, count);
      return Names(*index, ids).with(
          [&](auto names) { return index->add(names, rows_of(ids, dim)); });
    };
    ASSERT_TRUE(add(0, 50).ok());
    ASSERT_TRUE(index->flush().ok());
    files.refuse(first, first + 2);
    // Two segments more, whole blocks, removals.
    ASSERT_TRUE(add(50, 2000).ok());
    ASSERT_TRUE(Names(*index, ids_from(0, 30)).with([&](auto names) {
      return index->remove(names);
    }).ok());
    EXPECT_EQ(index->reader().size(), 2020u);
    const bool refused = files.has_refused();
    for (int turn = 0; turn < 4; ++turn) {
      const auto flushed = index->flush();
      if (flushed.ok()) break;
      ASSERT_EQ(flushed.code(), Code::full) << "what can be tried again";
    }
    ASSERT_TRUE(index->flush().ok());
    const auto loaded = Index::from_bytes(bytes_of_file(path));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    ASSERT_EQ(content_of(*loaded, 2100), content_of(*index, 2100));
    if (!refused) break;
  }
}

TEST(UnmappedFile, WithoutRoomIsFullUntilThereIsAndThenHasEverything) {
  run_out_of_room(IdKind::number);
}

TEST(UnmappedFile, WithoutRoomForStringsTheSame) { run_out_of_room(IdKind::string); }

TEST(UnmappedFile, QuestionsForCertaintyAreAnsweredByWhoPumps) {
  const Folder folder;
  SmallFiles files;
  OpenOptions options = in(files);
  options.create = small_options(8);
  auto index = Index::open(folder.file("a.vic"), options);
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->serve_flush().asks, 0u) << "nobody has asked";
  ASSERT_TRUE(index->add(ids_from(0, 3), rows_of(ids_from(0, 3), 8)).ok());
  EXPECT_EQ(*index->ask_flush(), 1u);
  EXPECT_EQ(*index->ask_flush(), 2u);
  auto answer = index->serve_flush();
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.asks, 2u);
  EXPECT_EQ(answer.sequence, 1u);
  EXPECT_EQ(index->serve_flush().asks, 0u);
  files.refuse(1, 100);
  ASSERT_TRUE(index->add(ids_from(3, 3), rows_of(ids_from(3, 3), 8)).ok());
  EXPECT_EQ(*index->ask_flush(), 3u);
  answer = index->serve_flush();
  EXPECT_EQ(answer.status.code(), Code::full);
  EXPECT_EQ(answer.asks, 3u);
  EXPECT_EQ(answer.sequence, 1u);
  files.refuse(1, 0);
  EXPECT_EQ(*index->ask_flush(), 4u);
  answer = index->serve_flush();
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.sequence, 2u);
  files.refuse(1, 100);
  ASSERT_TRUE(index->add(ids_from(6, 3), rows_of(ids_from(6, 3), 8)).ok());
  EXPECT_EQ(index->close_file().code(), Code::full) << "the file lacks the last rows";
  EXPECT_TRUE(index->close_file().ok()) << "which is told once";
  EXPECT_EQ(index->ask_flush().code(), Code::closed);
  index->close();
  EXPECT_EQ(std::move(Index::create(small_options(8))).value().ask_flush().code(),
            Code::unsupported);
}

}  // namespace
}  // namespace vicinal::test
