#include "platform/file.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal::platform {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string name = (fs::temp_directory_path() / "vicinal-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FileTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }
  static Status write(const std::string& path, std::string_view text) {
    return write_file(path.c_str(), std::as_bytes(std::span(text)));
  }
  static std::string read(const std::string& path) {
    auto bytes = read_file(path.c_str());
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    if (!bytes.ok()) return {};
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }

  fs::path folder_;
};

void expect_io(Status status, int number) {
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(status.a(), static_cast<std::uint64_t>(number)) << std::strerror(number);
}

TEST_F(FileTest, WhatWasWrittenIsReadAndNothingElseIsLeftBehind) {
  EXPECT_TRUE(write(path("a"), "first").ok());
  EXPECT_EQ(read(path("a")), "first");
  EXPECT_TRUE(write(path("a"), "the second is longer").ok());
  EXPECT_EQ(read(path("a")), "the second is longer");
  EXPECT_TRUE(write(path("a"), "").ok());
  EXPECT_EQ(read(path("a")), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, LargeFilesComeBackWhole) {
  std::string text(5'000'017, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 3);
  EXPECT_TRUE(write(path("a"), text).ok());
  EXPECT_TRUE(read(path("a")) == text);
}

TEST_F(FileTest, APathWithoutAFolderIsInTheCurrentOne) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_TRUE(write("plain", "x").ok());
  EXPECT_EQ(read("plain"), "x");
  fs::current_path(before);
}

TEST_F(FileTest, WhatIsNotAFileIsRefusedWithItsErrno) {
  expect_io(read_file(path("missing").c_str()).status(), ENOENT);
  expect_io(read_file(folder_.c_str()).status(), EISDIR);
  expect_io(read_file("/dev/null").status(), EINVAL);
  expect_io(write(folder_.string(), "x"), EISDIR);
  expect_io(write("/dev/null", "x"), EINVAL);
  expect_io(write(path("missing/a"), "x"), ENOENT);
  expect_io(write("", "x"), ENOENT);
  EXPECT_TRUE(write(path("a"), "x").ok());
  expect_io(write(path("a/b"), "x"), ENOTDIR);
  expect_io(write(path(std::string(5000, 'n').c_str()), "x"), ENAMETOOLONG);
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AFileLongerThanTheLimitIsRefusedWithBothNumbers) {
  EXPECT_TRUE(write(path("a"), "12345").ok());
  EXPECT_TRUE(read_file(path("a").c_str(), 5).ok());
  const Status status = read_file(path("a").c_str(), 4).status();
  EXPECT_EQ(status.code(), Code::full);
  EXPECT_EQ(status.a(), 5u);
  EXPECT_EQ(status.b(), 4u);
}

TEST_F(FileTest, AFailedWriteKeepsTheOldContentAndRemovesItsTemporaryFile) {
  // A name that leaves no room for the temporary file's.
  const std::string name = path(std::string(250, 'n').c_str());
  std::ofstream(name) << "old";
  expect_io(write(name, "new"), ENAMETOOLONG);
  EXPECT_EQ(read(name), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, PermissionsAndSymbolicLinksStay) {
  EXPECT_TRUE(write(path("a"), "old").ok());
  fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path("a"), path("link"));
  EXPECT_TRUE(write(path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

}  // namespace
}  // namespace vicinal::platform
