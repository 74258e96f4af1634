// Saving a version and loading it: the payload of a storage image.
//
// Thread safety: save with a reader of one's own; load makes a new index.
// I1: the payload is: options (40 bytes), from format version 2 on the calibration's origin (dim
//     floats, padded to 8 bytes with zeros), then ids (u64), factors (3 floats) and packed rows of
//     the live rows in slot order. Everything is little-endian.
// I2: a payload is hostile until checked: sizes before allocation, factors before use.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/reader.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class Image {
 public:
  // The sealed bytes of the reader's version.
  [[nodiscard]] static Result<AlignedBuffer> save(ReaderCore& reader) noexcept;
  // CORRUPT, VERSION, FULL. `memory_bytes_max`: the new index's budget, 0 for none.
  [[nodiscard]] static Result<std::shared_ptr<Core>> load(std::span<const std::byte> bytes,
                                                          std::uint64_t memory_bytes_max) noexcept;
};

}  // namespace vicinal::engine
