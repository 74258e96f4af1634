#include "quant/layout.hpp"

#include <gtest/gtest.h>

#include "vicinal/types.hpp"

namespace vicinal::quant {
namespace {

constexpr std::uint32_t kBits[] = {1, 2, 3, 4, 8};

TEST(CodeLayout, CodesExactlyBitsACoordinate) {
  for (std::uint32_t dim = 1; dim <= kDimMax; dim = dim < 300 ? dim + 1 : dim + 997) {
    for (const std::uint32_t bits : kBits) {
      const CodeLayout layout = CodeLayout::of(dim, bits);
      EXPECT_EQ(layout.coded_dim % 8, 0u) << dim;
      EXPECT_GE(layout.coded_dim, dim);
      EXPECT_EQ(layout.packed_row_bytes, std::size_t{layout.coded_dim} * bits / 8);
      EXPECT_EQ(layout.sign_bytes + layout.rest_bytes, layout.packed_row_bytes);
      EXPECT_EQ(layout.plane_block_bytes % simd::kAlignment, 0u);
      EXPECT_GE(layout.plane_block_bytes, simd::kBlockRows * layout.sign_bytes);
      EXPECT_LE(layout.plane_block_bytes, simd::kBlockRows * (layout.sign_bytes + 1));
    }
  }
}

TEST(CodeLayout, ShortVectorsGetAtMostSixBytesMoreThanTheirCoordinatesTake) {
  for (std::uint32_t dim = 1; dim < 300; ++dim) {
    for (const std::uint32_t bits : kBits) {
      const CodeLayout layout = CodeLayout::of(dim, bits);
      const std::uint32_t plain = (dim + 7) / 8 * 8;
      EXPECT_LE((layout.coded_dim - plain) * bits / 8, kExtendBytesMax) << dim << ' ' << bits;
      EXPECT_LE(layout.coded_dim, plain < kExtendBelow ? kExtendBelow : plain) << dim;
    }
  }
  EXPECT_EQ(CodeLayout::of(100, 2).coded_dim, 128u);
  EXPECT_EQ(CodeLayout::of(100, 8).coded_dim, 104u);
}

}  // namespace
}  // namespace vicinal::quant
