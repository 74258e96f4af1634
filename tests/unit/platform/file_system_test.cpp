#include "platform/file_system.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace vicinal::platform {
namespace {

namespace fs = std::filesystem;

class FileSystemTest : public testing::Test {
 protected:
  FileSystemTest() {
    std::string name = (fs::temp_directory_path() / "vicinal-files-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = (folder_ / "a").string();
    std::ofstream(path_) << "0123456789";
  }
  ~FileSystemTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::unique_ptr<File> opened(Access access = Access::write) const {
    auto file = system_files().open(path_.c_str(), access);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(file).value();
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }
  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  static std::string text_at(File& file, std::uint64_t offset, std::size_t bytes) {
    std::string text(bytes, '?');
    EXPECT_TRUE(file.read_at(offset, std::as_writable_bytes(std::span(text))).ok());
    return text;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(FileSystemTest, WhatIsWrittenAnywhereIsReadAndGapsAreZeros) {
  const auto file = opened();
  EXPECT_TRUE(file->write_at(12, bytes_of("ab")).ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(*file->size(), 14u);
  EXPECT_EQ(text_at(*file, 8, 6), std::string("89\0\0ab", 6));
  EXPECT_TRUE(file->truncate(3).ok());
  EXPECT_EQ(*file->size(), 3u);
  EXPECT_EQ(text_at(*file, 0, 3), "012");
}

TEST_F(FileSystemTest, AReadBehindTheEndIsAnErrorAndNotZeros) {
  const auto file = opened();
  std::byte byte{};
  EXPECT_EQ(file->read_at(10, {&byte, 1}).code(), Code::io);
  EXPECT_EQ(file->read_at(~std::uint64_t{0} - 1, {&byte, 1}).code(), Code::io);
}

TEST_F(FileSystemTest, AFileThatWasOpenedToReadCannotBeWritten) {
  const auto file = opened(Access::read);
  const Status refused = file->write_at(0, bytes_of("x"));
  EXPECT_EQ(refused.code(), Code::io);
  EXPECT_EQ(refused.a(), static_cast<std::uint64_t>(EBADF));
}

TEST_F(FileSystemTest, SharedMappingsSeeWritesAndPrivateStoresStayPrivate) {
  const auto file = opened();
  ASSERT_TRUE(file->truncate(2 * kMapBytes).ok());
  auto* reads = static_cast<char*>(*file->map(kMapBytes, kMapBytes, Mapping::read));
  auto* own = static_cast<char*>(*file->map(kMapBytes, kMapBytes, Mapping::private_write));
  auto* shared = static_cast<char*>(*file->map(kMapBytes, kMapBytes, Mapping::shared_write));
  EXPECT_TRUE(file->write_at(kMapBytes + 5, bytes_of("w")).ok());
  EXPECT_EQ(reads[5], 'w');
  own[6] = 'p';
  shared[7] = 's';
  EXPECT_EQ(reads[6], 0);
  EXPECT_EQ(reads[7], 's');
  EXPECT_EQ(text_at(*file, kMapBytes + 5, 3), std::string("w\0s", 3));
  for (char* mapped : {reads, own, shared}) unmap_file(mapped, kMapBytes);
}

TEST_F(FileSystemTest, AMappingReachesBehindTheEndAndIsReadableOnceTheFileHasGrown) {
  auto file = opened();
  auto* mapped = static_cast<char*>(*file->map(0, 64 * kMapBytes, Mapping::read));
  ASSERT_TRUE(file->write_at(63 * kMapBytes, bytes_of("far")).ok());
  file.reset();
  EXPECT_EQ(std::string(mapped + 63 * kMapBytes, 3), "far");
  unmap_file(mapped, 64 * kMapBytes);
}

TEST_F(FileSystemTest, OneOpenFileHasTheLockUntilItIsClosed) {
  auto first = opened();
  auto second = opened(Access::read);
  EXPECT_TRUE(first->lock().ok());
  EXPECT_TRUE(first->lock().ok());
  EXPECT_EQ(second->lock().code(), Code::busy);
  void* mapped = *first->map(0, kMapBytes, Mapping::private_write);
  first.reset();
  EXPECT_TRUE(second->lock().ok()) << "a mapping keeps it";
  unmap_file(mapped, kMapBytes);
}

TEST_F(FileSystemTest, AFileKnowsWhetherAPathStillLeadsToIt) {
  const auto file = opened();
  EXPECT_TRUE(*file->is_at(path_.c_str()));
  auto other = system_files().create_beside(path_.c_str());
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(*file->is_at(other->name.get()));
  ASSERT_TRUE(system_files().rename_over(*other).ok());
  EXPECT_FALSE(*file->is_at(path_.c_str()));
  EXPECT_TRUE(*other->file->is_at(path_.c_str()));
  fs::remove(path_);
  EXPECT_FALSE(*file->is_at(path_.c_str()));
}

TEST_F(FileSystemTest, ANewNameIsNeverTakenFromAFileThatHasIt) {
  auto late = system_files().create_beside(path_.c_str());
  const Status refused = system_files().rename_new(*late);
  EXPECT_EQ(refused.code(), Code::io);
  EXPECT_EQ(refused.a(), static_cast<std::uint64_t>(EEXIST));
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(fs::file_size(path_), 10u);
  const std::string fresh = (folder_ / "b").string();
  auto first = system_files().create_beside(fresh.c_str());
  ASSERT_TRUE(first->file->write_at(0, bytes_of("new")).ok());
  EXPECT_TRUE(system_files().rename_new(*first).ok());
  EXPECT_EQ(files(), 2u);
  EXPECT_EQ(fs::file_size(fresh), 3u);
}

TEST_F(FileSystemTest, ATemporaryFileThatIsGivenUpIsGone) {
  auto temporary = system_files().create_beside(path_.c_str());
  ASSERT_TRUE(temporary.ok());
  EXPECT_EQ(files(), 2u);
  system_files().discard(*temporary);
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileSystemTest, WhatADeadProcessLeftBesideAFileIsRemovedAnHourLater) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(61);
  const auto named = [&](pid_t process, const char* file = "a") {
    char name[32];
    std::snprintf(name, sizeof name, "%s.%08x.tmp", file,
                  0xa5400000u | (static_cast<unsigned>(process) & 0x3fffff));
    return std::string(name);
  };
  const auto put = [&](const std::string& name, bool is_old = true) {
    std::ofstream(folder_ / name) << "x";
    if (is_old) fs::last_write_time(folder_ / name, old);
  };
  put(named(dead));
  const std::string right = named(dead);
  std::string upper = right;
  upper[2] = 'A';
  for (const std::string& other :
       {named(::getpid()), named(dead, "b"), named(dead, "a.b"), right + "2", upper,
        right.substr(0, right.size() - 1), "a.+" + right.substr(3), "a. " + right.substr(3)}) {
    put(other);
  }
  const std::size_t before = files();
  auto temporary = system_files().create_beside(path_.c_str());
  ASSERT_TRUE(temporary.ok());
  EXPECT_EQ(files(), before);  // one came, and one went
  EXPECT_FALSE(fs::exists(folder_ / right));
  put(right, false);  // somebody elsewhere may be writing it
  auto another = system_files().create_beside(path_.c_str());
  ASSERT_TRUE(another.ok());
  EXPECT_TRUE(fs::exists(folder_ / right));
  system_files().discard(*temporary);
  system_files().discard(*another);
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace vicinal::platform
