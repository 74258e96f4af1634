// A whole index as one sealed run of bytes: header, version, checksum, payload.
//
// Thread safety: pure functions.
// I1: `open_image` gives the payload only if every byte of header and payload is as it was written.
// I2: little-endian, the same bytes from every target.
// I3: nothing outside this header and engine/image*.cpp knows these bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vicinal/status.hpp"

namespace vicinal::storage {

inline constexpr std::size_t kImageHeaderBytes = 64;
// An index without a calibration is written in the first version, which older readers open.
inline constexpr std::uint32_t kImageVersionPlain = 1;
inline constexpr std::uint32_t kImageVersion = 2;

// What a header says of its payload.
struct ImageHeader {
  std::uint32_t version = 0;  // kImageVersionPlain..kImageVersion
  std::uint64_t payload_bytes = 0;
  std::uint64_t payload_checksum = 0;
};

struct ImagePayload {
  std::span<const std::byte> bytes;
  std::uint32_t version = 0;  // kImageVersionPlain..kImageVersion
};

// Fills the first kImageHeaderBytes of `image`, whose rest is the payload.
void seal_image(std::span<std::byte> image,
                std::uint32_t version = kImageVersionPlain) noexcept;

// For images in pieces: the first kImageHeaderBytes of one, and what they say.
void write_header(std::span<std::byte, kImageHeaderBytes> bytes,
                  const ImageHeader& header) noexcept;
// As open_image, of the header alone: the payload is the caller's to compare.
[[nodiscard]] Result<ImageHeader> read_header(
    std::span<const std::byte, kImageHeaderBytes> bytes) noexcept;

// The payload. CORRUPT: too short, foreign, truncated, longer than it says, or damaged.
// VERSION(found, known): sealed by a newer format.
[[nodiscard]] Result<ImagePayload> open_image(std::span<const std::byte> image) noexcept;

}  // namespace vicinal::storage
