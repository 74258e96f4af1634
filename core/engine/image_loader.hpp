// An index from the bytes of an image, as they come and without memory for the whole.
//
// Thread safety: one thread at a time.
// I1: bytes are hostile until checked. Nothing is allocated for more than has come, but one part;
//     a field is checked before it is used; and the index is given away only when the checksum of
//     all bytes is right. What stands in rows and seed harms nobody before.
// I2: rows enter the index in parts of about kPartBytes, each when it is complete, so that beside
//     the index only ids and factors wait, 20 bytes a row.
// I3: the first error stays. An option that this version does not have is told at the end, when it
//     is known not to be damage.
// I4: a file of format 3 has no order that it could be read in from one end: its bytes are kept as
//     they come, and opened at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/aligned_buffer.hpp"
#include "base/checksum.hpp"
#include "base/growing_buffer.hpp"
#include "engine/core.hpp"
#include "engine/image_layout.hpp"
#include "storage/image.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class ImageLoader {
 public:
  // `memory_bytes_max`: the new index's budget, 0 for none. FULL.
  [[nodiscard]] static Result<std::unique_ptr<ImageLoader>> create(
      std::uint64_t memory_bytes_max) noexcept;
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;
  ~ImageLoader();

  // The image's next bytes, any number. CORRUPT, VERSION, FULL: before any row is read where the
  // header shows it.
  Status take(std::span<const std::byte> bytes) noexcept;
  // After the last. CORRUPT when bytes are missing. May be called once.
  [[nodiscard]] Result<std::shared_ptr<Core>> finish() noexcept;

  // Of the whole image; 0 until its header has come.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Of the ids that have come; 0 without any.
  [[nodiscard]] std::uint64_t largest_id() const noexcept { return largest_id_; }

 private:
  static constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;
  enum class Stage : std::uint8_t {
    header, head, origin, ids, factors, rows, skipped, log, done,
  };

  // Rows that enter the index together.
  struct Part {
    Part* next = nullptr;
    std::uint64_t rows = 0;
    AlignedBuffer ids;
    AlignedBuffer factors;
  };

  ImageLoader(std::uint64_t memory_bytes_max, ChecksumStream checksum) noexcept
      : memory_bytes_max_(memory_bytes_max), checksum_(std::move(checksum)) {}

  // What came fills the target of this stage.
  [[nodiscard]] Status advance() noexcept;
  [[nodiscard]] Status take_header() noexcept;
  [[nodiscard]] Status take_head() noexcept;
  [[nodiscard]] Status take_origin() noexcept;
  [[nodiscard]] Status take_ids() noexcept;
  [[nodiscard]] Status take_factors() noexcept;
  [[nodiscard]] Status take_rows() noexcept;
  // Begin the stage, or the one behind it when it has no bytes.
  [[nodiscard]] Status want_ids() noexcept;
  [[nodiscard]] Status want_factors(Part* part) noexcept;
  [[nodiscard]] Status want_rows() noexcept;
  [[nodiscard]] Status end() noexcept;
  void want(Stage stage, void* target, std::uint64_t bytes) noexcept;
  // Of a packed row and its original.
  [[nodiscard]] std::uint64_t row_bytes() const noexcept;
  [[nodiscard]] Status check_originals(std::uint64_t rows) const noexcept;

  std::uint64_t memory_bytes_max_;
  ChecksumStream checksum_;
  Status failed_;
  Status told_at_end_;
  Stage stage_ = Stage::header;
  std::byte header_bytes_[storage::kImageHeaderBytes];
  storage::ImageHeader header_;
  ImageHead head_;
  ImageLayout at_;
  // Where the next bytes go.
  std::byte* target_ = header_bytes_;
  std::uint64_t target_bytes_ = sizeof header_bytes_;
  std::uint64_t filled_ = 0;

  std::shared_ptr<Core> core_;
  AlignedBuffer origin_;
  std::uint64_t part_rows_ = 0;  // of each but the last
  std::uint64_t rows_named_ = 0;
  std::uint64_t largest_id_ = 0;
  Part* first_ = nullptr;
  Part* last_ = nullptr;
  Part* part_ = nullptr;  // whose factors come
  AlignedBuffer rows_;
  GrowingBuffer log_;  // a file of format 3, as much as has come (I4)
};

}  // namespace vicinal::engine
