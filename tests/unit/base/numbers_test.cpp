#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "base/random.hpp"

namespace vicinal {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Bits, MultiplySaturatesInsteadOfWrapping) {
  EXPECT_EQ(multiply_saturated(3, 4), 12u);
  EXPECT_EQ(multiply_saturated(kMax, 0), 0u);
  EXPECT_EQ(multiply_saturated(0, kMax), 0u);
  EXPECT_EQ(multiply_saturated(kMax, 1), kMax);
  EXPECT_EQ(multiply_saturated(kMax / 2 + 1, 2), kMax);
  EXPECT_EQ(multiply_saturated(std::uint64_t{1} << 32, std::uint64_t{1} << 32), kMax);
}

TEST(Bits, RoundingGoesUpToTheNextStep) {
  EXPECT_EQ(round_up(0, 8), 0u);
  EXPECT_EQ(round_up(1, 8), 8u);
  EXPECT_EQ(round_up(8, 8), 8u);
  EXPECT_EQ(divide_up(9, 8), 2u);
  EXPECT_EQ(divide_up(8, 8), 1u);
}

TEST(Bits, BitCastKeepsTheBits) {
  EXPECT_EQ(bit_cast<std::uint32_t>(1.0f), 0x3f800000u);
  EXPECT_EQ(bit_cast<double>(std::uint64_t{0x3ff0000000000000}), 1.0);
}

// The reference outputs of SplitMix64 for seed 1234567, as published with it.
TEST(Random, IsSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, BelowReachesEveryValueAboutEquallyOften) {
  Random random(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) {
    const std::uint32_t value = random.below(counts.size());
    ASSERT_LT(value, counts.size());
    ++counts[value];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(Random(5).below(1), 0u);
}

// The published XXH3_64bits of nothing.
TEST(Checksum, IsXxh3With64Bits) {
  EXPECT_EQ(checksum64(nullptr, 0), 0x2d06800538d394c2u);
  EXPECT_EQ(checksum64("", 0), checksum64(nullptr, 0));
}

TEST(Checksum, EveryBitAndTheSeedCount) {
  std::array<std::uint8_t, 300> bytes{};
  const std::uint64_t sum = checksum64(bytes.data(), bytes.size());
  EXPECT_NE(checksum64(bytes.data(), bytes.size(), 1), sum);
  EXPECT_NE(checksum64(bytes.data(), bytes.size() - 1), sum);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_NE(checksum64(bytes.data(), bytes.size()), sum) << bit;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
  }
}

}  // namespace
}  // namespace vicinal
