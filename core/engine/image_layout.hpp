// Where a payload's parts lie: shared by those who write one and who read one.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "base/bits.hpp"
#include "quant/quantiser.hpp"

namespace vicinal::engine {

struct ImageHead {
  std::uint32_t dim;
  std::uint8_t metric;
  std::uint8_t bits;
  std::uint8_t originals;
  std::uint8_t reserved8;
  std::uint64_t seed;
  std::uint64_t rows;
  std::uint64_t reserved[2];
};
static_assert(sizeof(ImageHead) == 40);

// Where the arrays of a payload lie; `bytes` is its exact length.
struct ImageLayout {
  std::uint64_t origin = 0, ids = 0, factors = 0, packed_rows = 0, bytes = 0;

  ImageLayout() noexcept = default;
  // `origin_bytes`: 0 without a calibration.
  ImageLayout(std::uint64_t origin_bytes, std::uint64_t rows, std::uint64_t row_bytes) noexcept {
    origin = sizeof(ImageHead);
    ids = round_up(origin + origin_bytes, sizeof(std::uint64_t));
    factors = ids + rows * sizeof(std::uint64_t);
    packed_rows = factors + rows * sizeof(quant::RowFactors);
    bytes = packed_rows + rows * row_bytes;
  }
};

}  // namespace vicinal::engine
