// A whole index as bytes: round trips, damage, and payloads that lie under a valid checksum.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "storage/image.hpp"
#include "support/index_world.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kPayload = storage::kImageHeaderBytes;
constexpr std::size_t kHead = 40;

Index filled(const IndexOptions& options, std::uint64_t rows) {
  Index index = std::move(Index::create(options)).value();
  const auto ids = ids_from(10, rows);
  EXPECT_TRUE(index.add(ids, rows_of(ids, options.dim)).ok());
  if (rows > 9) {
    EXPECT_TRUE(index.remove(ids_from(12, 3)).ok());
    EXPECT_TRUE(index.upsert(ids_from(20, 2), rows_of(ids_from(20, 2), options.dim, 4)).ok());
  }
  return index;
}

void expect_same_answers(const Index& a, const Index& b) {
  Reader left = a.reader();
  Reader right = b.reader();
  const std::uint32_t dim = a.options().dim;
  SearchOptions all;
  all.k = 10'000;
  for (std::uint64_t q = 0; q < 5; ++q) {
    for (const bool exhaustive : {false, true}) {
      all.exhaustive = exhaustive;
      const auto query = vector_of(q + 7, dim);
      const auto found = copy_of(*left.search(query, all));
      const auto again = copy_of(*right.search(query, all));
      ASSERT_EQ(found.size(), again.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].id, again[i].id);
        ASSERT_EQ(std::memcmp(&found[i].score, &again[i].score, sizeof(float)), 0);
      }
    }
  }
  EXPECT_EQ(left.size(), right.size());
  EXPECT_EQ(*left.get(20), *right.get(20));
  EXPECT_FALSE(right.has(12));
}

TEST(SavedIndex, AnswersBitForBitAsBefore) {
  for (const Metric metric : {Metric::cosine, Metric::ip, Metric::l2}) {
    for (const int bits : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(metric)) + " " + std::to_string(bits));
      IndexOptions options = small_options(19, metric, static_cast<std::uint8_t>(bits));
      options.seed = 1234567;
      const Index index = filled(options, 333);
      const auto bytes = index.to_bytes();
      const auto loaded = Index::from_bytes(*bytes);
      ASSERT_TRUE(loaded.ok());
      EXPECT_EQ(loaded->options().seed, options.seed);
      expect_same_answers(index, *loaded);
      EXPECT_EQ(*loaded->to_bytes(), *bytes);
    }
  }
}

TEST(SavedIndex, MayBeEmptyAndIsWritableAfterwards) {
  const Index empty = std::move(Index::create(small_options(5))).value();
  Index loaded = std::move(Index::from_bytes(*empty.to_bytes())).value();
  EXPECT_EQ(loaded.reader().size(), 0u);
  const auto ids = ids_from(0, 40);
  EXPECT_TRUE(loaded.add(ids, rows_of(ids, 5)).ok());
  Index again = std::move(Index::from_bytes(*loaded.to_bytes())).value();
  EXPECT_EQ(again.add(ids_from(39, 1), rows_of(ids_from(39, 1), 5)).code(), Code::duplicate_id);
  EXPECT_EQ(again.remove(ids)->count, 40u);
}

TEST(SavedIndex, ASnapshotInTimeIsSavedWhateverIsWrittenMeanwhile) {
  Index index = filled(small_options(8), 100);
  const std::string path = testing::TempDir() + "vicinal_image_test.vic";
  ASSERT_TRUE(index.save(path).ok());
  ASSERT_TRUE(index.clear().ok());
  const auto loaded = Index::open(path);
  std::remove(path.c_str());
  EXPECT_EQ(loaded->reader().size(), 97u);
}

TEST(SavedIndex, MemoryThatIsTooSmallIsFull) {
  const Bytes bytes = *filled(small_options(64), 2000).to_bytes();
  OpenOptions options;
  for (options.memory_bytes_max = 1; options.memory_bytes_max < 1'000'000;
       options.memory_bytes_max *= 3) {
    const auto loaded = Index::from_bytes(bytes, options);
    if (loaded.ok()) {
      EXPECT_EQ(loaded->reader().size(), 1997u);
    } else {
      EXPECT_EQ(loaded.code(), Code::full);
    }
  }
}

TEST(DamagedImage, EveryFlippedBitAndEveryOtherLengthIsATypedError) {
  const Bytes bytes = *filled(small_options(8), 6).to_bytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes damaged(bytes);
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_EQ(Index::from_bytes(damaged).code(), Code::corrupt) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(Index::from_bytes(std::span(bytes).first(size)).code(), Code::corrupt) << size;
  }
  Bytes longer(bytes);
  longer.resize(bytes.size() + 100);
  EXPECT_EQ(Index::from_bytes(longer).code(), Code::corrupt);
  EXPECT_TRUE(Index::from_bytes(bytes).ok());
}

// Changes the payload and seals it again.
Bytes resealed(Bytes image, std::size_t payload_at, const void* value, std::size_t bytes) {
  std::memcpy(image.data() + kPayload + payload_at, value, bytes);
  storage::seal_image(image);
  return image;
}

template <class T>
Code code_with(const Bytes& image, std::size_t payload_at, T value) {
  return Index::from_bytes(resealed(image, payload_at, &value, sizeof value)).code();
}

TEST(HostileImage, OptionsAndCountsThatLieAreCorrupt) {
  const Bytes image = *filled(small_options(8), 6).to_bytes();
  ASSERT_EQ(code_with(image, 0, std::uint32_t{8}), Code::ok);
  for (const std::uint32_t dim : {0u, 7u + 10u, 16384u, 16385u, ~0u}) {
    EXPECT_EQ(code_with(image, 0, dim), Code::corrupt) << dim;
  }
  for (const int metric : {3, 4, 255}) {
    EXPECT_EQ(code_with(image, 4, static_cast<std::uint8_t>(metric)), Code::corrupt);
  }
  for (const int bits : {0, 5, 6, 7, 9, 200}) {
    EXPECT_EQ(code_with(image, 5, static_cast<std::uint8_t>(bits)), Code::corrupt);
  }
  // Originals that the rows have not; of an index without rows they are only its kind.
  const Bytes empty = *Index::create(small_options(8))->to_bytes();
  for (const std::uint8_t originals : {std::uint8_t{1}, std::uint8_t{2}}) {
    EXPECT_EQ(code_with(image, 6, originals), Code::corrupt);
    EXPECT_EQ(code_with(empty, 6, originals), Code::ok);
  }
  EXPECT_EQ(code_with(image, 6, std::uint8_t{3}), Code::corrupt);
  EXPECT_EQ(code_with(image, 7, std::uint8_t{1}), Code::corrupt);
  EXPECT_EQ(code_with(image, 24, std::uint64_t{1}), Code::corrupt);
  EXPECT_EQ(code_with(image, 32, std::uint64_t{1}), Code::corrupt);
  for (const std::uint64_t rows : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{7},
                                   std::uint64_t{1} << 32, std::uint64_t{1} << 58,
                                   (std::uint64_t{1} << 61) + 6, ~std::uint64_t{0}}) {
    EXPECT_EQ(code_with(image, 16, rows), Code::corrupt) << rows;
  }
  EXPECT_EQ(code_with(image, kHead, std::uint64_t{11}), Code::corrupt);  // an id twice
  for (std::size_t size = kPayload; size < kPayload + kHead; ++size) {
    Bytes head(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    storage::seal_image(head);
    EXPECT_EQ(Index::from_bytes(head).code(), Code::corrupt);
  }
}

TEST(HostileImage, FactorsThatNoEncoderMakesAreCorrupt) {
  const Bytes image = *filled(small_options(8), 6).to_bytes();
  const std::size_t factors = kHead + 6 * 8;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t at = factors; at < factors + 6 * 12; at += 4) {
    for (const float bad : {nan, -nan, infinity, -infinity, -1.0f, 2.1e18f, 3.4e38f}) {
      EXPECT_EQ(code_with(image, at, bad), Code::corrupt) << at << " " << bad;
    }
  }
}

void search_all(const Index& index) {
  Reader reader = index.reader();
  SearchOptions options;
  for (std::uint64_t q = 0; q < 3; ++q) {
    for (const float length : {1e-20f, 1.0f, 1e10f}) {
      auto query = vector_of(q, index.options().dim);
      for (float& x : query) x *= length;
      for (const bool exhaustive : {false, true}) {
        options.exhaustive = exhaustive;
        const auto hits = reader.search(query, options);
        ASSERT_TRUE(hits.ok());
        ASSERT_EQ(hits->size(), reader.size());
        for (const Hit hit : *hits) ASSERT_TRUE(std::isfinite(hit.score));
      }
    }
  }
  for (std::uint64_t id = 10; id < 16; ++id) ASSERT_TRUE(reader.get(id).ok());
}

TEST(HostileImage, AnyBytesThatAreAcceptedAreSearchedWithoutHarm) {
  Random random(5);
  std::uint64_t accepted = 0;
  for (std::uint64_t round = 0; round < scaled(300); ++round) {
    const auto metric = static_cast<Metric>(random.below(3));
    const std::uint8_t all_bits[] = {1, 2, 3, 4, 8};
    const Index index = filled(small_options(8, metric, all_bits[random.below(5)]), 6);
    Bytes image = *index.to_bytes();
    const std::size_t packed = kPayload + kHead + 6 * 20;
    for (std::size_t at = packed; at < image.size(); ++at) {
      image[at] = static_cast<std::byte>(random.next());
    }
    const float values[] = {0.0f, 1e-45f, 1e-38f, 1.0f, 1e16f, 1.9e18f};
    for (std::size_t at = kPayload + kHead + 48; at < packed; at += 4) {
      float value = values[random.below(6)];
      if ((at - kPayload - kHead - 48) % 12 == 8) value = random.below(2) == 0 ? 0.0f : 1.0f;
      std::memcpy(image.data() + at, &value, sizeof value);
    }
    storage::seal_image(image);
    const auto loaded = Index::from_bytes(image);
    if (!loaded.ok()) {
      ASSERT_EQ(loaded.code(), Code::corrupt);
      continue;
    }
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(search_all(*loaded)) << "round " << round;
  }
  std::printf("%d of the images were accepted\n", static_cast<int>(accepted));
}

}  // namespace
}  // namespace vicinal::test
