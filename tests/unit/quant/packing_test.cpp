#include "quant/packing.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"
#include "simd/kernels.hpp"

namespace vicinal::quant {
namespace {

struct Row {
  CodeLayout layout;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> packed;
};

Row random_row(std::uint32_t dim, std::uint32_t bits, Random& random) {
  Row row{CodeLayout::of(dim, bits), {}, {}};
  row.codes.resize(row.layout.coded_dim);
  for (auto& code : row.codes) code = static_cast<std::uint8_t>(random.below(1u << bits));
  row.packed.resize(row.layout.packed_row_bytes);
  pack_row(row.layout, row.codes.data(), row.packed.data());
  return row;
}

constexpr std::uint32_t kBits[] = {1, 2, 3, 4, 8};

TEST(Packing, UnpacksWhatItPacked) {
  Random random(1);
  for (const std::uint32_t dim : {8u, 16u, 24u, 64u, 104u, 128u, 136u, 768u, 1032u}) {
    for (const std::uint32_t bits : kBits) {
      const Row row = random_row(dim, bits, random);
      std::vector<std::uint8_t> codes(row.layout.coded_dim, 0xff);
      unpack_row(row.layout, row.packed.data(), codes.data());
      EXPECT_EQ(codes, row.codes) << dim << ' ' << bits;
    }
  }
}

TEST(Packing, SignsAreHalfPackedNibblesOfGroups) {
  Random random(2);
  const Row row = random_row(104, 3, random);
  std::uint32_t seen = 0;
  for_each_sign_nibble(row.packed.data(), row.layout.groups,
                       [&](std::uint32_t group, std::uint8_t nibble) {
                         for (std::uint32_t t = 0; t < 4; ++t) {
                           EXPECT_EQ(nibble >> t & 1, row.codes[group * 4 + t] >> 2);
                         }
                         ++seen;
                       });
  EXPECT_EQ(seen, row.layout.groups);
}

TEST(Packing, EightBitsLieAsComponentsOfFourTwoAndOneBits) {
  Random random(3);
  const Row row = random_row(24, 8, random);
  const std::uint32_t groups = row.layout.groups;
  const std::uint32_t half = groups / 2;
  const std::uint8_t* rest = row.packed.data() + row.layout.sign_bytes;
  for (std::uint32_t j = 0; j < 24; ++j) {
    const std::uint32_t group = j / 4;
    const std::uint32_t t = j % 4;
    const std::uint32_t four = rest[t / 2 * groups + group] >> (t % 2 * 4) & 15;
    const std::uint32_t two = rest[2 * groups + group] >> (2 * t) & 3;
    const std::uint32_t one = rest[3 * groups + group % half] >> (group / half * 4 + t) & 1;
    EXPECT_EQ(four * 8 + two * 2 + one, row.codes[j] & 127u) << j;
  }
}

// The kernels read what is packed here: a query of one non-zero value picks one coordinate's level.
TEST(Packing, KernelsFindEveryCoordinateWhereItWasPacked) {
  Random random(4);
  constexpr std::uint32_t kDim = 72;
  for (const std::uint32_t bits : kBits) {
    const Row row = random_row(kDim, bits, random);
    std::vector<std::uint8_t> packed = row.packed;
    packed.resize(packed.size() + simd::kOverread);
    simd::Levels levels;
    levels.bits = bits;
    for (std::uint32_t m = 0; m < 1u << (bits - 1); ++m) {
      if (bits == 8) levels.wide[m] = static_cast<std::int16_t>(3 * m + 1);
      if (bits != 8) levels.biased[m] = static_cast<std::uint8_t>(64 + 7 * m);
    }
    const std::uint32_t groups = row.layout.groups;
    const std::uint32_t half = groups / 2;
    std::vector<std::uint8_t> plane(row.layout.plane_block_bytes + simd::kOverread);
    constexpr std::uint32_t kLane = 21;
    for_each_sign_nibble(packed.data(), groups, [&](std::uint32_t group, std::uint8_t nibble) {
      plane[group * 16 + kLane % 16] = static_cast<std::uint8_t>(nibble << 4);
    });
    const std::uint32_t chunks = (half + 15) / 16;
    for (std::uint32_t j = 0; j < kDim; ++j) {
      std::vector<std::int8_t> values8(2 * chunks * 64 + simd::kOverread);
      std::vector<std::int16_t> values16(values8.size());
      const std::uint32_t in_half = j / 4 % half;
      const std::uint32_t chunk = j / 4 / half * chunks + in_half / 16;
      const std::uint32_t at = chunk * 64 + j % 4 * 16 + in_half % 16;
      values8[at] = 1;
      values16[at] = 1;
      const simd::CodeQuery query{values8.data(), values16.data(), groups, chunks, 1};
      const std::uint32_t m = row.codes[j] & ((1u << (bits - 1)) - 1);
      const std::int64_t level = bits == 8 ? levels.wide[m] : 2 * levels.biased[m] - 127;
      const bool positive = row.codes[j] >> (bits - 1) != 0;
      const std::int64_t found = simd::best_kernels().code_dot[simd::bits_index(bits)](
          plane.data(), kLane, packed.data() + row.layout.sign_bytes, query, levels);
      EXPECT_EQ(found, positive ? level : -level) << bits << ' ' << j;
    }
  }
}

}  // namespace
}  // namespace vicinal::quant
