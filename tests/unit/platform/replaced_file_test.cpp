// A file that takes another one's name.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "platform/file_system.hpp"

namespace vicinal::platform {
namespace {

namespace fs = std::filesystem;

class ReplacedFileTest : public testing::Test {
 protected:
  ReplacedFileTest() {
    std::string name = (fs::temp_directory_path() / "vicinal-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ReplacedFileTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++count;
    return count;
  }
  static Status write(const std::string& path, std::string_view text) {
    auto temporary = system_files().create_beside(path.c_str());
    if (!temporary.ok()) return temporary.status();
    EXPECT_TRUE(temporary->file->write_at(0, std::as_bytes(std::span(text))).ok());
    EXPECT_TRUE(temporary->file->sync().ok());
    return system_files().rename_over(*temporary);
  }
  static std::string read(const std::string& path) {
    auto file = system_files().open(path.c_str(), Access::read);
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok()) return {};
    std::string text(static_cast<std::size_t>(*(*file)->size()), '?');
    EXPECT_TRUE((*file)->read_at(0, std::as_writable_bytes(std::span(text))).ok());
    return text;
  }
  static Status opened(const std::string& path) {
    return system_files().open(path.c_str(), Access::read).status();
  }

  fs::path folder_;
};

void expect_io(Status status, int number) {
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(status.a(), static_cast<std::uint64_t>(number)) << std::strerror(number);
}

TEST_F(ReplacedFileTest, WhatWasWrittenIsReadAndNothingElseIsLeftBehind) {
  EXPECT_TRUE(write(path("a"), "first").ok());
  EXPECT_EQ(read(path("a")), "first");
  EXPECT_TRUE(write(path("a"), "the second is longer").ok());
  EXPECT_EQ(read(path("a")), "the second is longer");
  EXPECT_TRUE(write(path("a"), "").ok());
  EXPECT_EQ(read(path("a")), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplacedFileTest, LargeFilesComeBackWhole) {
  std::string text(5'000'017, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 3);
  EXPECT_TRUE(write(path("a"), text).ok());
  EXPECT_TRUE(read(path("a")) == text);
}

TEST_F(ReplacedFileTest, APathWithoutAFolderIsInTheCurrentOne) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_TRUE(write("plain", "x").ok());
  EXPECT_EQ(read("plain"), "x");
  fs::current_path(before);
}

TEST_F(ReplacedFileTest, WhatIsNotAFileIsRefusedWithItsErrno) {
  expect_io(opened(path("missing")), ENOENT);
  expect_io(opened(folder_.string()), EISDIR);
  expect_io(opened("/dev/null"), EINVAL);
  expect_io(write(folder_.string(), "x"), EISDIR);
  expect_io(write("/dev/null", "x"), EINVAL);
  expect_io(write(path("missing/a"), "x"), ENOENT);
  expect_io(write("", "x"), ENOENT);
  EXPECT_TRUE(write(path("a"), "x").ok());
  expect_io(write(path("a/b"), "x"), ENOTDIR);
  expect_io(write(path(std::string(5000, 'n').c_str()), "x"), ENAMETOOLONG);
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplacedFileTest, AFailedWriteKeepsTheOldContentAndRemovesItsTemporaryFile) {
  // A name that leaves no room for the temporary file's.
  const std::string name = path(std::string(250, 'n').c_str());
  std::ofstream(name) << "old";
  expect_io(write(name, "new"), ENAMETOOLONG);
  EXPECT_EQ(read(name), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplacedFileTest, PermissionsAndSymbolicLinksStay) {
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
