// Every kept index file opens, and has the rows that are listed beside it: what some version of
// this library has written, all later ones read. Files of the journal, whose uuids are drawn, come
// from journal_files_test.cpp; they are added to, never made again.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/opener.hpp"
#include "support/version_rows.hpp"

namespace vicinal::test {
namespace {

const std::string kFolder = std::string(VICINAL_TEST_DATA) + "/../golden/";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".vic") found.push_back(entry.path().stem());
  }
  return found;
}

Result<std::shared_ptr<engine::Core>> load(const std::string& bytes) {
  return engine::Opener::load(std::as_bytes(std::span(bytes)), 0);
}

void expect_rows(const std::string& name, const std::string& bytes) {
  const auto core = load(bytes);
  ASSERT_TRUE(core.ok()) << name << ": " << core.status().message();
  const auto& version = static_cast<const segment::Version&>(*(*core)->root().newest());
  EXPECT_TRUE(rows_of(version, (*core)->quantiser().layout()) == content(kFolder + name + ".rows"))
      << name;
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const segment::SegmentView* view = version.view(number);
    for (std::uint32_t row = 0; view != nullptr && row < view->rows; ++row) {
      if (!view->is_live(row)) continue;
      EXPECT_EQ(slot_of(version, view->segment->ids()[row]), segment::Slot::of(number, row))
          << name;
    }
  }
}

TEST(KeptFiles, AllOpenAndHaveTheirRows) {
  EXPECT_GE(names().size(), 5u);
  for (const std::string& name : names()) expect_rows(name, content(kFolder + name + ".vic"));
}

TEST(KeptFiles, OpenWithoutTheirMetaSlots) {
  for (const std::string& name : names()) {
    std::string bytes = content(kFolder + name + ".vic");
    std::fill_n(bytes.begin() + 4096, 8192, '\0');
    expect_rows(name, bytes);
  }
}

TEST(KeptFiles, AChangedSuperblockOrLogStartIsRefused) {
  for (const std::string& name : names()) {
    for (const std::size_t at : {0u, 8u, 16u, 64u, 4095u, 16384u, 16400u}) {
      std::string bytes = content(kFolder + name + ".vic");
      std::fill_n(bytes.begin() + 4096, 8192, '\0');
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      EXPECT_EQ(load(bytes).code(), Code::corrupt) << name << ' ' << at;
    }
  }
}

}  // namespace
}  // namespace vicinal::test
