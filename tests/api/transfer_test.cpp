// A file slice by slice: what comes out of a saver, and what a loader makes of pieces.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/checksum.hpp"
#include "base/random.hpp"
#include "storage/image.hpp"
#include "support/index_world.hpp"

namespace vicinal::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kHeader = storage::kImageHeaderBytes;

Index filled(const IndexOptions& options, std::uint64_t rows) {
  Index index = std::move(Index::create(options)).value();
  const auto ids = ids_from(10, rows);
  EXPECT_TRUE(index.add(ids, rows_of(ids, options.dim)).ok());
  if (rows > 9) {
    EXPECT_TRUE(index.remove(ids_from(12, 3)).ok());
  }
  return index;
}

// Rows of more than three parts; the codes are 8 bits, so that a row takes 64 bytes.
Index filled_with_parts() {
  Index index = filled(small_options(64, Metric::cosine, 8), 40'000);
  EXPECT_TRUE(index.remove(ids_from(20'000, 500)).ok());
  return index;
}

// What the loader says to bytes that come in pieces of this size.
Result<Index> loaded(const Bytes& bytes, std::size_t piece, const OpenOptions& options = {}) {
  auto loader = Loader::create(options);
  EXPECT_TRUE(loader.ok());
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t count = std::min(piece, bytes.size() - at);
    const Status taken = loader->take({bytes.data() + at, count});
    if (taken.ok()) continue;
    EXPECT_EQ(loader->take(bytes).code(), taken.code()) << "the first error stays";
    EXPECT_EQ(loader->finish().code(), taken.code());
    return taken;
  }
  return loader->finish();
}

TEST(Loader, PiecesOfAnySizeMakeTheSameIndex) {
  const Index small = filled(small_options(19, Metric::l2, 3), 333);
  const Bytes bytes = *small.to_bytes();
  for (const std::size_t piece : {1u, 7u, 64u, 65u, 1000u, 1u << 20}) {
    const auto made = loaded(bytes, piece);
    ASSERT_TRUE(made.ok()) << piece;
    EXPECT_EQ(*made->to_bytes(), bytes);
  }
  const Bytes large = *filled_with_parts().to_bytes();
  for (const std::size_t piece : {4093u, 1u << 18, 1u << 30}) {
    const auto made = loaded(large, piece);
    ASSERT_TRUE(made.ok()) << piece;
    EXPECT_EQ(*made->to_bytes(), large);
  }
  EXPECT_EQ(*loaded(*filled(small_options(3), 0).to_bytes(), 5)->to_bytes(),
            *filled(small_options(3), 0).to_bytes());
}

TEST(Loader, ACalibratedIndexComesInPieces) {
  Index index = std::move(Index::create(small_options(5))).value();
  ASSERT_TRUE(index.calibrate(rows_of(ids_from(0, 40), 5)).ok());
  const auto ids = ids_from(0, 40);
  ASSERT_TRUE(index.add(ids, rows_of(ids, 5)).ok());
  const Bytes bytes = *index.to_bytes();
  for (const std::size_t piece : {1u, 3u, 200u}) {
    EXPECT_EQ(*loaded(bytes, piece)->to_bytes(), bytes) << piece;
  }
}

TEST(Loader, EveryFlippedBitAndEveryOtherLengthIsATypedError) {
  const Bytes bytes = *filled(small_options(8), 6).to_bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes damaged(bytes);
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_EQ(loaded(damaged, 13).code(), Code::corrupt) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(loaded(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), 13)
                  .code(), Code::corrupt) << size;
  }
  Bytes longer(bytes);
  longer.push_back(std::byte{0});
  EXPECT_EQ(loaded(longer, 13).code(), Code::corrupt);
  EXPECT_EQ(loaded(longer, longer.size()).code(), Code::corrupt);
}

TEST(Loader, DamageInALaterPartIsFound) {
  const Bytes bytes = *filled_with_parts().to_bytes();
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    Bytes damaged(bytes);
    const std::uint64_t bit = random.below(bytes.size() * 8);
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_EQ(loaded(damaged, 1 << 16).code(), Code::corrupt) << bit;
  }
  Bytes twice(bytes);  // an id of the first part in the last
  std::memcpy(twice.data() + kHeader + 40 + 39'000 * 8, bytes.data() + kHeader + 40, 8);
  storage::seal_image(twice);
  EXPECT_EQ(loaded(twice, 1 << 16).code(), Code::corrupt);
}

TEST(Loader, AFileBeyondTheBudgetIsFullAtItsHeader) {
  const Bytes bytes = *filled(small_options(64), 2000).to_bytes();
  OpenOptions options;
  options.memory_bytes_max = 50'000;
  auto loader = Loader::create(options);
  EXPECT_EQ(loader->bytes(), 0u);
  EXPECT_TRUE(loader->take(std::span(bytes).first(kHeader - 1)).ok());
  EXPECT_EQ(loader->take(std::span(bytes).subspan(kHeader - 1, 1)).code(), Code::full);
  EXPECT_EQ(loader->bytes(), bytes.size());
  options.memory_bytes_max = 100 << 20;
  EXPECT_TRUE(loaded(bytes, 1000, options).ok());
}

TEST(Loader, APromiseOfManyRowsAsksForNoMemory) {
  // dim 8, 4 bits: the length of a file with 2^46 rows, rightly computed.
  Bytes bytes = *filled(small_options(8), 6).to_bytes();
  const std::uint64_t row_bytes = (bytes.size() - kHeader - 40) / 6;
  const std::uint64_t rows = std::uint64_t{1} << 46;
  std::memcpy(bytes.data() + kHeader + 16, &rows, sizeof rows);
  storage::write_header(std::span(bytes).first<kHeader>(), {1, 40 + rows * row_bytes, 0});
  auto loader = Loader::create();
  EXPECT_TRUE(loader->take(std::span(bytes).first(kHeader + 40)).ok());
  EXPECT_EQ(loader->bytes(), kHeader + 40 + rows * row_bytes);
  EXPECT_EQ(loader->finish().code(), Code::corrupt);
}

TEST(Loader, TellsTheLargestIdAndKeepsReadOnlyIndexesSo) {
  const Bytes bytes = *filled(small_options(8), 100).to_bytes();
  OpenOptions options;
  options.read_only = true;
  auto loader = Loader::create(options);
  ASSERT_TRUE(loader->take(bytes).ok());
  EXPECT_EQ(loader->largest_id(), 109u);
  auto index = loader->finish();
  EXPECT_EQ(index->add(ids_from(0, 1), rows_of(ids_from(0, 1), 8)).code(), Code::read_only);
  EXPECT_EQ(index->reader().size(), 97u);
  EXPECT_EQ(loader->take(bytes).code(), Code::closed);
}

// The whole file out of slices; checks that each byte comes once and the header last.
Bytes assembled(Saver& saver, std::size_t room_bytes, const std::function<void()>& between) {
  Bytes file(static_cast<std::size_t>(saver.bytes()));
  Bytes room(room_bytes);
  std::size_t expected = kHeader;
  for (;;) {
    const auto slice = saver.next(room);
    EXPECT_TRUE(slice.ok());
    if (!slice.ok() || slice->bytes == 0) break;
    if (slice->offset == 0) {
      EXPECT_EQ(expected, file.size());
      EXPECT_EQ(slice->bytes, kHeader);
      expected = 0;
    } else {
      EXPECT_EQ(slice->offset, expected);
      expected += slice->bytes;
    }
    std::copy_n(room.begin(), slice->bytes,
                file.begin() + static_cast<std::ptrdiff_t>(slice->offset));
    between();
  }
  EXPECT_EQ(expected, 0u);
  return file;
}

TEST(Saver, ItsSlicesAreTheFileOfOneVersionWhateverIsWrittenMeanwhile) {
  Index index = filled_with_parts();
  const Bytes expected = *index.to_bytes();
  for (const std::size_t room : {Saver::kRoomBytesMin, Saver::kRoomBytesMin + 77}) {
    Reader reader = index.reader();
    auto saver = reader.saver();
    ASSERT_TRUE(saver.ok());
    std::uint64_t id = 1'000'000 + room;
    const Bytes file = assembled(*saver, room, [&] {
      const auto ids = ids_from(++id, 1);
      ASSERT_TRUE(index.add(ids, rows_of(ids, 64)).ok());
    });
    EXPECT_EQ(file, expected);
    ASSERT_TRUE(index.remove(ids_from(1'000'000 + room, 1000)).ok());
  }
  Reader snapshot = index.reader().snapshot();
  ASSERT_TRUE(index.clear().ok());
  auto saver = snapshot.saver();
  EXPECT_EQ(assembled(*saver, 1 << 20, [] {}), expected);
  EXPECT_EQ(Index::from_bytes(expected)->reader().size(), 39'497u);
}

TEST(Saver, RefusesLessRoomAndEndsWithItsIndex) {
  Index index = filled(small_options(8), 100);
  Reader reader = index.reader();
  auto saver = reader.saver();
  Bytes room(Saver::kRoomBytesMin);
  EXPECT_EQ(saver->next(std::span(room).subspan(1)).code(), Code::bad_option);
  EXPECT_TRUE(saver->next(room).ok());
  index.close();
  EXPECT_EQ(saver->next(room).code(), Code::closed);
  EXPECT_EQ(reader.saver().code(), Code::closed);
}

TEST(ChecksumStream, IsTheSumOfTheWholeHoweverItWasCut) {
  Random random(1);
  Bytes bytes(5000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 3) {
    auto stream = ChecksumStream::create();
    for (std::size_t at = 0; at < size;) {
      const std::size_t count = std::min<std::size_t>(size - at, random.below(700));
      stream->update(bytes.data() + at, count);
      at += count;
    }
    EXPECT_EQ(stream->sum(), checksum64(bytes.data(), size)) << size;
  }
}

}  // namespace
}  // namespace vicinal::test
