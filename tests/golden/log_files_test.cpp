// Index files of version 3, byte for byte: NAME.vic as the codecs write it, and NAME.rows with its
// rows, which tests/format reads out of it with nothing of the core. A test that fails here has
// found another format, which needs another version number and files of its own. New files:
//   VICINAL_WRITE_GOLDEN=1 build/native/tests/vicinal_test_golden --gtest_filter='LogFiles.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "support/log_composer.hpp"

namespace vicinal::test {
namespace {

storage::Superblock superblock(std::uint32_t dim, std::uint8_t bits, Metric metric) {
  storage::Superblock block;
  block.dim = dim;
  block.bits = bits;
  block.metric = metric;
  block.seed = dim;
  Random random(dim * 8 + bits);
  for (std::byte& byte : block.uuid.bytes) byte = static_cast<std::byte>(random.next());
  return block;
}

void add_rows(LogComposer& log, Random& random, std::uint32_t number, std::uint64_t first_id,
              std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) log.add(number, first_id + i, random);
}

// Everything that a log may have: extents, id tables, commits with every list, directories, and a
// commit behind what the meta slots know.
LogComposer every_record() {
  Random random(1);
  LogComposer log(superblock(20, 4, Metric::l2));
  std::vector<float> origin(20);
  for (std::size_t i = 0; i < origin.size(); ++i) origin[i] = 0.5f * static_cast<float>(i) - 3;
  log.set_origin(origin);
  log.open(0, 128);
  add_rows(log, random, 0, 1000, 20);
  log.commit();
  log.meta();
  add_rows(log, random, 0, 2000, 50);  // ends the first block, and the second
  log.kill(0, 3);
  log.kill(0, 69);
  log.commit();
  log.directory();
  log.meta();
  log.open(2, 32);
  add_rows(log, random, 2, 3000, 32);
  log.open(1, 64);
  add_rows(log, random, 1, std::uint64_t{1} << 53, 33);
  log.commit();
  log.ids();
  for (std::uint32_t row = 4; row < 34; ++row) log.kill(0, row);
  log.kill(2, 0);
  log.commit(20);  // a live page of segment 0, a dead slot of segment 2
  log.directory();
  log.meta();
  log.drop(1);
  log.open(1, 96);
  add_rows(log, random, 1, 5000, 70);
  log.kill(1, 5);
  add_rows(log, random, 0, 6000, 1);
  log.commit();
  log.drop(2);
  log.commit();
  return log;
}

// No rest rows, one block to a segment, and neither commit nor directory behind the meta slot.
LogComposer one_bit() {
  Random random(2);
  LogComposer log(superblock(9, 1, Metric::ip));
  log.meta();
  log.open(5, 32);
  add_rows(log, random, 5, 0, 31);
  log.commit();
  add_rows(log, random, 5, 31, 1);
  log.open(9, 32);
  add_rows(log, random, 9, 32, 2);
  log.commit();
  log.meta();
  return log;
}

LogComposer empty() {
  LogComposer log(superblock(128, 8, Metric::cosine));
  log.meta();
  return log;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_golden(const std::string& name, const LogComposer& log) {
  const std::string path = std::string(VICINAL_TEST_DATA) + "/../golden/" + name;
  const std::string bytes(reinterpret_cast<const char*>(log.bytes().data()), log.bytes().size());
  const std::string rows = "sequence " + std::to_string(log.sequence()) + '\n' + log.lines();
  if (std::getenv("VICINAL_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path + ".vic", std::ios::binary) << bytes;
    std::ofstream(path + ".rows") << rows;
  }
  EXPECT_TRUE(content(path + ".vic") == bytes) << name;
  EXPECT_TRUE(content(path + ".rows") == rows) << name;
}

TEST(LogFiles, AreWrittenAsTheyEverWere) {
  expect_golden("every_record", every_record());
  expect_golden("one_bit", one_bit());
  expect_golden("empty", empty());
}

}  // namespace
}  // namespace vicinal::test
