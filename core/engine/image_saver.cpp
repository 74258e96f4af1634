#include "engine/image_saver.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "quant/original_row.hpp"
#include "storage/image.hpp"

namespace vicinal::engine {
namespace {

std::uint64_t origin_bytes(const segment::Version& version, std::uint32_t dim) noexcept {
  return version.origin() == nullptr ? 0 : dim * sizeof(float);
}

}  // namespace

static_assert(ImageSaver::kRoomBytesMin >=
                  sizeof(ImageHead) + kDimMax * sizeof(float) + sizeof(std::uint64_t),
              "a head and its origin come in one piece");

Result<ImageSaver> ImageSaver::create(const IndexOptions& options,
                                      const quant::CodeLayout& layout,
                                      const segment::Version& version) noexcept {
  auto checksum = ChecksumStream::create();
  if (!checksum.ok()) return checksum.status();
  return ImageSaver(options, layout, version, std::move(checksum).value());
}

ImageSaver::ImageSaver(const IndexOptions& options, const quant::CodeLayout& layout,
                       const segment::Version& version, ChecksumStream checksum) noexcept
    : options_(options),
      layout_(layout),
      original_bytes_(quant::original_row_bytes(options.originals, layout.dim)),
      at_(origin_bytes(version, layout.dim), version.live_rows,
          layout.packed_row_bytes + original_bytes_),
      checksum_(std::move(checksum)),
      format_(version.origin() == nullptr ? storage::kImageVersionPlain
                                          : storage::kImageVersion) {}

std::uint64_t ImageSaver::bytes() const noexcept {
  return storage::kImageHeaderBytes + at_.bytes;
}

std::uint64_t ImageSaver::left() const noexcept {
  return stage_ < Stage::header ? at_.bytes - written_ : storage::kImageHeaderBytes;
}

ImageSaver::Slice ImageSaver::next(const segment::Version& version,
                                   std::span<std::byte> room) noexcept {
  VICINAL_ASSERT(room.size() >= kRoomBytesMin || room.size() >= left());
  Slice slice{storage::kImageHeaderBytes + written_, 0};
  for (Stage before = Stage::done; stage_ < Stage::header && stage_ != before;) {
    before = stage_;
    slice.bytes += fill(version, room.subspan(slice.bytes));
  }
  if (slice.bytes > 0) {
    checksum_.update(room.data(), slice.bytes);
    written_ += slice.bytes;
  } else if (stage_ == Stage::header) {
    VICINAL_ASSERT(written_ == at_.bytes);  // I1
    slice = {0, storage::kImageHeaderBytes};
    storage::write_header(room.first<storage::kImageHeaderBytes>(),
                          {format_, at_.bytes, checksum_.sum()});
    stage_ = Stage::done;
  }
  return slice;
}

std::size_t ImageSaver::fill(const segment::Version& version, std::span<std::byte> room) noexcept {
  using segment::SegmentView;
  switch (stage_) {
    case Stage::head:
      return put_head(version, room);
    case Stage::ids:
      return put_rows(version, room, sizeof(std::uint64_t),
                      [](const SegmentView& view, std::uint32_t row, std::byte* to) {
                        std::memcpy(to, view.segment->ids() + row, sizeof(std::uint64_t));
                      });
    case Stage::factors:
      return put_rows(version, room, sizeof(quant::RowFactors),
                      [](const SegmentView& view, std::uint32_t row, std::byte* to) {
                        const quant::RowFactors factors = view.segment->factors(row);
                        std::memcpy(to, &factors, sizeof factors);
                      });
    default:
      return put_rows(version, room, layout_.packed_row_bytes + original_bytes_,
                      [this](const SegmentView& view, std::uint32_t row, std::byte* to) {
                        view.copy_packed_row(layout_, row, reinterpret_cast<std::uint8_t*>(to));
                        if (original_bytes_ == 0) return;
                        std::memcpy(to + layout_.packed_row_bytes,
                                    view.segment->originals().row(row), original_bytes_);
                      });
  }
}

std::size_t ImageSaver::put_head(const segment::Version& version,
                                 std::span<std::byte> room) noexcept {
  ImageHead head{};
  head.dim = options_.dim;
  head.metric = static_cast<std::uint8_t>(options_.metric);
  head.bits = options_.bits;
  head.originals = static_cast<std::uint8_t>(options_.originals);
  head.seed = options_.seed;
  head.rows = version.live_rows;
  std::memcpy(room.data(), &head, sizeof head);
  const auto bytes = static_cast<std::size_t>(at_.ids);
  std::memset(room.data() + sizeof head, 0, bytes - sizeof head);
  const float* origin = version.origin();
  if (origin != nullptr) std::memcpy(room.data() + at_.origin, origin, layout_.dim * sizeof(float));
  stage_ = Stage::ids;
  return bytes;
}

template <class Put>
std::size_t ImageSaver::put_rows(const segment::Version& version, std::span<std::byte> room,
                                 std::size_t row_bytes, Put put) noexcept {
  std::size_t bytes = 0;
  for (; segment_ < version.segment_end; ++segment_, row_ = 0) {
    const segment::SegmentView* view = version.view(segment_);
    if (view == nullptr) continue;
    for (; row_ < view->rows; ++row_) {
      const std::uint32_t block = row_ / simd::kBlockRows;
      // Damage is said, and looked for by who saves (I3).
      if (row_ % simd::kBlockRows == 0 && view->lanes(block) != 0) {
        (void)view->block_is_sound(block);
      }
      if (!view->is_live(row_)) continue;
      if (room.size() - bytes < row_bytes) return bytes;  // I2
      put(*view, row_, room.data() + bytes);
      bytes += row_bytes;
    }
  }
  segment_ = row_ = 0;
  stage_ = static_cast<Stage>(static_cast<std::uint8_t>(stage_) + 1);
  return bytes;
}

}  // namespace vicinal::engine
