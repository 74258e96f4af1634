#include "storage/image.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/checksum.hpp"

namespace vicinal::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes sealed(std::size_t payload_bytes) {
  Bytes image(storage::kImageHeaderBytes + payload_bytes);
  for (std::size_t i = 0; i < payload_bytes; ++i) {
    image[storage::kImageHeaderBytes + i] = static_cast<std::byte>(i * 7);
  }
  storage::seal_image(image);
  return image;
}

// The header's own checksum, for headers that were changed on purpose.
void seal_header(Bytes& image) {
  const std::uint64_t sum = checksum64(image.data(), 56);
  std::memcpy(image.data() + 56, &sum, sizeof sum);
}

TEST(Image, ThePayloadComesBack) {
  for (const std::size_t bytes : {0u, 1u, 100u, 4096u}) {
    const Bytes image = sealed(bytes);
    const auto payload = storage::open_image(image);
    ASSERT_TRUE(payload.ok());
    ASSERT_EQ(payload->bytes.size(), bytes);
    EXPECT_EQ(payload->bytes.data(), image.data() + storage::kImageHeaderBytes);
  }
}

TEST(Image, EveryFlippedBitIsNoticed) {
  Bytes image = sealed(50);
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    image[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_EQ(storage::open_image(image).code(), Code::corrupt) << bit;
    image[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  EXPECT_TRUE(storage::open_image(image).ok());
}

TEST(Image, EveryOtherLengthIsNoticed) {
  const Bytes image = sealed(50);
  for (std::size_t bytes = 0; bytes < image.size(); ++bytes) {
    EXPECT_EQ(storage::open_image(std::span(image).first(bytes)).code(), Code::corrupt) << bytes;
  }
  Bytes longer(image);
  longer.push_back(std::byte{0});
  EXPECT_EQ(storage::open_image(longer).code(), Code::corrupt);
}

TEST(Image, ANewerVersionIsToldFromDamage) {
  for (const std::uint32_t version : {0u, 1u, 2u, 3u, 77u}) {
    Bytes image = sealed(10);
    std::memcpy(image.data() + 8, &version, sizeof version);
    EXPECT_EQ(storage::open_image(image).ok(), version == 1);
    seal_header(image);
    const auto opened = storage::open_image(image);
    EXPECT_EQ(opened.code(), version == 0 ? Code::corrupt
                                          : version <= 2 ? Code::ok : Code::version);
    if (version > 2) {
      EXPECT_EQ(opened.status().a(), version);
    }
  }
}

TEST(Image, HeadersThatLieAreCorruptEvenWithTheirChecksumRight) {
  for (std::size_t at = 12; at < 56; ++at) {
    Bytes image = sealed(10);
    image[at] ^= std::byte{0x81};
    seal_header(image);
    EXPECT_EQ(storage::open_image(image).code(), Code::corrupt) << at;
  }
}

}  // namespace
}  // namespace vicinal::test
