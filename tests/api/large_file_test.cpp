// A whole index in a file, and with VICINAL_TEST_SCALE=20 one of more than 4 GiB: every position in
// it is more than 32 bits can say.
#include <gtest/gtest.h>

#include "support/file_world.hpp"
#include "support/test_scale.hpp"
#include "vicinal/file_report.hpp"

namespace vicinal::test {
namespace {

constexpr std::uint32_t kDim = 16384;
constexpr std::uint64_t kBatch = 512;

TEST(LargeFile, IsWrittenOpenedSearchedVerifiedAndCompacted) {
  const bool large = scaled(1) >= 20;
  const std::uint64_t rows = large ? 280 * 1024 : 1024;
  const Folder folder;
  const std::string path = folder.file("large");
  OpenOptions create;
  create.create = small_options(kDim, Metric::l2, 8);
  // The same vectors for each batch, further and further away: which batch a row is of shows.
  std::vector<float> batch = rows_of(ids_from(0, kBatch), kDim);
  {
    Index index = opened(path, create);
    for (std::uint64_t first = 0; first < rows; first += kBatch) {
      const float away = static_cast<float>(first / kBatch + 1);
      std::vector<float> scaled_batch(batch);
      for (std::uint64_t row = 0; row < kBatch; ++row) scaled_batch[row * kDim] = 100 * away;
      ASSERT_TRUE(index.add(ids_from(first, kBatch), scaled_batch).ok()) << first;
    }
    ASSERT_TRUE(index.flush().ok());
  }
  const std::uint64_t bytes = std::filesystem::file_size(path);
  EXPECT_GT(bytes, large ? std::uint64_t{4} << 30 : rows * kDim);
  EXPECT_LE(bytes, rows * (kDim + 36) * 5 / 4 + (std::uint64_t{1} << 20));
  const auto finds = [&](Reader& reader, std::uint64_t id) {
    std::vector<float> query(batch.begin() + static_cast<std::ptrdiff_t>(id % kBatch * kDim),
                             batch.begin() + static_cast<std::ptrdiff_t>((id % kBatch + 1) * kDim));
    query[0] = 100 * static_cast<float>(id / kBatch + 1);
    SearchOptions options;
    options.k = 1;
    const auto hits = reader.search(query, options);
    ASSERT_TRUE(hits.ok()) << hits.status().message();
    ASSERT_EQ(hits->size(), 1u);
    EXPECT_EQ((*hits)[0].id, id);
  };
  const std::uint64_t probes[] = {0, kBatch - 1, rows / 2 + 7, rows - 2};
  {
    const Index index = opened(path, reading());
    Reader reader = index.reader();
    EXPECT_EQ(reader.size(), rows);
    for (const std::uint64_t id : probes) finds(reader, id);
  }
  const auto report = verify_file(path);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->bytes, bytes);
  Index index = opened(path);
  ASSERT_TRUE(index.remove(ids_from(1, 300)).ok());
  ASSERT_TRUE(index.compact().ok());
  const std::uint64_t left = rows - 300;
  // And a block: the rows of one that is not whole lie in the commit, and its place is kept.
  EXPECT_LE(std::filesystem::file_size(path),
            (left + 32) * (kDim + 36) + (std::uint64_t{64} << 10));
  Reader reader = index.reader();
  EXPECT_EQ(reader.size(), left);
  for (const std::uint64_t id : {std::uint64_t{0}, rows / 2 + 7, rows - 2}) finds(reader, id);
  EXPECT_FALSE(reader.has(5));
}

}  // namespace
}  // namespace vicinal::test
