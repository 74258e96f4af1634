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
      const std::size_t plain = simd::kBlockRows * layout.sign_bytes;
      const std::size_t half = plain / 2;
      EXPECT_GE(layout.plane_block_bytes, (plain + 63) / 64 * 64) << dim;
      EXPECT_GE(layout.plane_block_bytes, half + (half + 63) / 64 * 64) << dim;
      EXPECT_LE(layout.plane_block_bytes, plain + simd::kBlockRows * 3 / 2) << dim;
      if (layout.coded_dim % 32 == 0) {
        EXPECT_EQ(layout.plane_block_bytes, plain) << dim;
      }
    }
  }
}

TEST(CodeLayout, ShortVectorsGetAtMostSevenBytesMoreThanTheirCoordinatesTake) {
  for (std::uint32_t dim = 1; dim < 300; ++dim) {
    for (const std::uint32_t bits : kBits) {
      const CodeLayout layout = CodeLayout::of(dim, bits);
      const std::uint32_t plain = (dim + 7) / 8 * 8;
      if (layout.coded_dim > plain) {
        const double bytes = static_cast<double>(layout.plane_block_bytes) / simd::kBlockRows +
                             static_cast<double>(layout.rest_bytes) - plain * bits / 8.0;
        EXPECT_LE(bytes, kExtendBytesMax) << dim << ' ' << bits;
      }
      EXPECT_LE(layout.coded_dim, plain < kExtendBelow ? kExtendBelow : plain) << dim;
    }
  }
  EXPECT_EQ(CodeLayout::of(100, 2).coded_dim, 128u);
  EXPECT_EQ(CodeLayout::of(100, 8).coded_dim, 104u);
}

}  // namespace
}  // namespace vicinal::quant
