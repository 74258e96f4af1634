// A version as the bytes of an image, a slice at a time and without memory for the whole.
//
// Thread safety: one thread at a time; the version is pinned by the caller, from the first call to
// the last.
// I1: every byte of the image comes once. The header comes last, since it has the payload's
//     checksum: an image that is cut short is never a valid one.
// I2: a slice ends with a whole row's field, so that no state but the place of the next is kept.
// I3: where segment::Damage was said after a call, its slice is to be thrown away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/checksum.hpp"
#include "engine/image_layout.hpp"
#include "segment/version.hpp"
#include "vicinal/status.hpp"
#include "vicinal/types.hpp"

namespace vicinal::engine {

class ImageSaver {
 public:
  // The least room: a head with its origin, or any row.
  static constexpr std::size_t kRoomBytesMin = std::size_t{128} << 10;

  struct Slice {
    std::uint64_t offset = 0;  // in the image
    std::size_t bytes = 0;     // 0: there is no more
  };

  // FULL.
  [[nodiscard]] static Result<ImageSaver> create(const IndexOptions& options,
                                                 const quant::CodeLayout& layout,
                                                 const segment::Version& version) noexcept;
  // Of the whole image.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // The next bytes of the same version. `room`: at least kRoomBytesMin, or what is left of the
  // payload, then of the header.
  [[nodiscard]] Slice next(const segment::Version& version, std::span<std::byte> room) noexcept;

 private:
  enum class Stage : std::uint8_t { head, ids, factors, packed_rows, header, done };

  ImageSaver(const IndexOptions& options, const quant::CodeLayout& layout,
             const segment::Version& version, ChecksumStream checksum) noexcept;
  [[nodiscard]] std::uint64_t left() const noexcept;
  // Bytes of this stage that were put into `room`; on its end the stage is the next one.
  std::size_t fill(const segment::Version& version, std::span<std::byte> room) noexcept;
  std::size_t put_head(const segment::Version& version, std::span<std::byte> room) noexcept;
  template <class Put>
  std::size_t put_rows(const segment::Version& version, std::span<std::byte> room,
                       std::size_t row_bytes, Put put) noexcept;

  IndexOptions options_;
  quant::CodeLayout layout_;
  std::size_t original_bytes_;  // of a row
  ImageLayout at_;
  ChecksumStream checksum_;
  std::uint64_t written_ = 0;  // of the payload
  std::uint32_t format_;
  Stage stage_ = Stage::head;
  // The next row of the stage.
  std::uint32_t segment_ = 0;
  std::uint32_t row_ = 0;
};

}  // namespace vicinal::engine
