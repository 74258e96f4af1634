#include "cache/page_source.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "platform/file_system.hpp"
#include "unit/cache/test_source.hpp"

namespace vicinal::test {
namespace {

PageText read_of(cache::PageSource& source, std::uint64_t page) {
  PageBuffer room(kPageBytes);
  EXPECT_TRUE(source.read(page, PageRoom(room.data(), kPageBytes)).ok());
  return text_of(room.data());
}

TEST(MemorySource, HasWhatWasWrittenAndZerosElsewhere) {
  cache::MemorySource source(3);
  ASSERT_TRUE(source.resize(4).ok());
  EXPECT_TRUE(source.write(2, bytes_of(page_of({2, 9}))).ok());
  EXPECT_EQ(read_of(source, 2), (PageText{2, 9}));
  EXPECT_EQ(read_of(source, 3), (PageText{0, 0}));
  PageBuffer room(kPageBytes);
  EXPECT_EQ(source.read(4, PageRoom(room.data(), kPageBytes)).a(), std::uint64_t{EIO});
  EXPECT_EQ(source.write(4, bytes_of(room)).code(), Code::io);
  cache::MemorySource huge;
  EXPECT_EQ(huge.resize(~std::uint64_t{0}).code(), Code::full);
}

TEST(FileSource, IsAFileFromItsOffsetOn) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "vicinal_pages_XXXXXX").string() +
      std::to_string(platform::process_id());
  std::ofstream(path).close();
  {
    auto file = platform::system_files().open(path.c_str(), platform::Access::write);
    ASSERT_TRUE(file.ok());
    constexpr std::uint64_t kOffset = 4096;
    cache::FileSource source(**file, kOffset);
    EXPECT_TRUE(source.write(1, bytes_of(page_of({1, 5}))).ok());
    EXPECT_EQ((*file)->size().value(), kOffset + 2 * kPageBytes);
    EXPECT_EQ(read_of(source, 1), (PageText{1, 5}));
    EXPECT_EQ(read_of(source, 0), (PageText{0, 0}));
    PageBuffer room(kPageBytes);
    const PageRoom into(room.data(), kPageBytes);
    EXPECT_EQ(source.read(2, into).a(), std::uint64_t{EIO});
    for (const std::uint64_t page : {~std::uint64_t{0}, std::uint64_t{1} << 50}) {
      EXPECT_EQ(source.read(page, into).a(), std::uint64_t{EFBIG}) << page;
      EXPECT_EQ(source.write(page, bytes_of(room)).a(), std::uint64_t{EFBIG}) << page;
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace vicinal::test
