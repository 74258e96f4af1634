#include "engine/image.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/image_loader.hpp"
#include "engine/image_saver.hpp"
#include "storage/image.hpp"
#include "storage/log_format.hpp"

namespace vicinal::engine {

namespace {

// Originals have no place in a log yet, which is what an index of strings is written as.
[[nodiscard]] Status check_kind(ReaderCore& reader) noexcept {
  const IndexOptions& options = reader.core().options();
  if (options.originals == Originals::none || options.ids == IdKind::number) return {};
  return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::originals));
}

[[nodiscard]] bool is_written_as_log(ReaderCore& reader) noexcept {
  return reader.core().options().ids == IdKind::string;
}

[[nodiscard]] Result<AlignedBuffer> save_log(ReaderCore& reader) noexcept {
  GrowingFile file;
  const Status written = write_log(file, reader);
  if (!written.ok()) return written;
  auto bytes = AlignedBuffer::create(file.bytes().size());
  if (bytes.ok()) std::memcpy(bytes->data(), file.bytes().data(), file.bytes().size());
  return bytes;
}

}  // namespace

Result<AlignedBuffer> Image::save(ReaderCore& reader) noexcept {
  if (const Status kind = check_kind(reader); !kind.ok()) return kind;
  if (is_written_as_log(reader)) return save_log(reader);
  const ReaderCore::Entry entry(reader);
  if (!entry.status().ok()) return entry.status();
  Core& core = reader.core();
  auto saver = ImageSaver::create(core.options(), core.quantiser().layout(), entry.version());
  if (!saver.ok()) return saver.status();
  auto image = AlignedBuffer::create(static_cast<std::size_t>(saver->bytes()));
  if (!image.ok()) return image.status();
  const std::span<std::byte> bytes(image->data(), image->size());
  for (std::size_t at = storage::kImageHeaderBytes; at < bytes.size();) {
    at += saver->next(entry.version(), bytes.subspan(at)).bytes;
    if (const Status damaged = core.damaged(); !damaged.ok()) return damaged;
  }
  (void)saver->next(entry.version(), bytes.first(storage::kImageHeaderBytes));
  return image;
}

Result<std::shared_ptr<Core>> Image::load(std::span<const std::byte> bytes,
                                          std::uint64_t memory_bytes_max) noexcept {
  // Here the length is known: one that lies is damage, whatever memory it would ask for.
  if (bytes.size() < storage::kImageHeaderBytes) return Status(Code::corrupt);
  const auto header = storage::read_header(bytes.first<storage::kImageHeaderBytes>());
  if (!header.ok()) return header.status();
  if (header->payload_bytes != bytes.size() - storage::kImageHeaderBytes) {
    return Status(Code::corrupt);
  }
  auto loader = ImageLoader::create(memory_bytes_max);
  if (!loader.ok()) return loader.status();
  const Status taken = (*loader)->take(bytes);
  if (!taken.ok()) return taken;
  return (*loader)->finish();
}

Result<std::unique_ptr<ImageOut>> ImageOut::begin(ReaderCore& reader) noexcept {
  if (const Status kind = check_kind(reader); !kind.ok()) return kind;
  if (is_written_as_log(reader)) return begin_log(reader);
  auto snapshot = reader.snapshot();
  if (!snapshot.ok()) return snapshot.status();
  // The entry ends before the snapshot moves: it refers to its reader.
  auto saver = [&]() -> Result<ImageSaver> {
    const ReaderCore::Entry entry(**snapshot);
    if (!entry.status().ok()) return entry.status();
    const Core& core = reader.core();
    return ImageSaver::create(core.options(), core.quantiser().layout(), entry.version());
  }();
  if (!saver.ok()) return saver.status();
  std::unique_ptr<ImageOut> out(new (std::nothrow) ImageOut);
  if (out == nullptr) return Status(Code::full, sizeof(ImageOut));
  out->snapshot_ = std::move(snapshot).value();
  out->saver_.emplace(std::move(saver).value());
  return out;
}

Result<std::unique_ptr<ImageOut>> ImageOut::begin_log(ReaderCore& reader) noexcept {
  std::unique_ptr<ImageOut> out(new (std::nothrow) ImageOut);
  if (out == nullptr) return Status(Code::full, sizeof(ImageOut));
  const Status written = write_log(out->log_, reader);
  if (!written.ok()) return written;
  return out;
}

ImageSaver::Slice ImageOut::next_of_log(std::span<std::byte> room) noexcept {
  constexpr std::size_t kHead = storage::kFilePageBytes;
  static_assert(ImageSaver::kRoomBytesMin >= kHead);
  const auto bytes = log_.bytes();
  ImageSaver::Slice slice{kHead + log_written_, 0};
  if (slice.offset > bytes.size()) return {0, 0};  // all was given
  slice.bytes = std::min(room.size(), bytes.size() - static_cast<std::size_t>(slice.offset));
  if (slice.bytes == 0) slice = {0, kHead};
  std::memcpy(room.data(), bytes.data() + slice.offset, slice.bytes);
  log_written_ += slice.offset == 0 ? 1 : slice.bytes;
  return slice;
}

Result<ImageSaver::Slice> ImageOut::next(std::span<std::byte> room) noexcept {
  if (room.size() < ImageSaver::kRoomBytesMin) return Status(Code::bad_option);
  if (!saver_.has_value()) return next_of_log(room);
  const ReaderCore::Entry entry(*snapshot_);
  if (!entry.status().ok()) return entry.status();
  const ImageSaver::Slice slice = saver_->next(entry.version(), room);
  const Status damaged = snapshot_->core().damaged();
  if (!damaged.ok()) return damaged;
  return slice;
}

}  // namespace vicinal::engine
