// Saving a version and loading it, as a whole: the payload of a storage image. image_saver.hpp and
// image_loader.hpp do it a slice at a time.
//
// Thread safety: save with a reader of one's own; load makes a new index.
// I1: the payload is: options (40 bytes), from format version 2 on the calibration's origin (dim
//     floats, padded to 8 bytes with zeros), then ids (u64), factors (3 floats) and packed rows of
//     the live rows in slot order, each packed row followed by its original where those are kept.
//     Everything is little-endian.
// I2: an index whose ids are strings is written as a log (log_bytes.hpp), from memory for all of
//     it; its first page comes last, so that one that is cut short is never a valid one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/image_saver.hpp"
#include "engine/log_bytes.hpp"
#include "engine/reader.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class Image {
 public:
  // The sealed bytes of the reader's version. CLOSED, FULL, CORRUPT.
  [[nodiscard]] static Result<AlignedBuffer> save(ReaderCore& reader) noexcept;
  // CORRUPT, VERSION, FULL. `memory_bytes_max`: the new index's budget, 0 for none.
  [[nodiscard]] static Result<std::shared_ptr<Core>> load(std::span<const std::byte> bytes,
                                                          std::uint64_t memory_bytes_max) noexcept;
};

// A version on its way out, a slice at a time: it is kept until this is destroyed.
class ImageOut {
 public:
  // The version that the reader sees now. BUSY without a free slot, CLOSED, FULL.
  [[nodiscard]] static Result<std::unique_ptr<ImageOut>> begin(ReaderCore& reader) noexcept;
  // See ImageSaver.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return saver_.has_value() ? saver_->bytes() : log_.bytes().size();
  }
  // BAD_OPTION for less room than ImageSaver::kRoomBytesMin, CLOSED, CORRUPT.
  [[nodiscard]] Result<ImageSaver::Slice> next(std::span<std::byte> room) noexcept;

 private:
  ImageOut() = default;
  [[nodiscard]] static Result<std::unique_ptr<ImageOut>> begin_log(ReaderCore& reader) noexcept;
  [[nodiscard]] ImageSaver::Slice next_of_log(std::span<std::byte> room) noexcept;

  std::unique_ptr<ReaderCore> snapshot_;
  std::optional<ImageSaver> saver_;
  GrowingFile log_;             // I2: without a saver
  std::size_t log_written_ = 0;  // behind the first page
};

}  // namespace vicinal::engine
