#include "engine/image.hpp"

#include <new>

#include "engine/image_loader.hpp"
#include "engine/image_saver.hpp"
#include "storage/image.hpp"

namespace vicinal::engine {

namespace {

// The image has no place for strings, nor for originals.
[[nodiscard]] Status check_kind(const Core& core) noexcept {
  if (core.options().originals != Originals::none) {
    return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::originals));
  }
  if (core.options().ids == IdKind::number) return {};
  return Status(Code::unsupported, static_cast<std::uint64_t>(OptionName::ids));
}

}  // namespace

Result<AlignedBuffer> Image::save(ReaderCore& reader) noexcept {
  if (const Status kind = check_kind(reader.core()); !kind.ok()) return kind;
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
  if (const Status kind = check_kind(reader.core()); !kind.ok()) return kind;
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
  std::unique_ptr<ImageOut> out(new (std::nothrow) ImageOut(
      std::move(snapshot).value(), std::move(saver).value()));
  if (out == nullptr) return Status(Code::full, sizeof(ImageOut));
  return out;
}

Result<ImageSaver::Slice> ImageOut::next(std::span<std::byte> room) noexcept {
  if (room.size() < ImageSaver::kRoomBytesMin) return Status(Code::bad_option);
  const ReaderCore::Entry entry(*snapshot_);
  if (!entry.status().ok()) return entry.status();
  const ImageSaver::Slice slice = saver_.next(entry.version(), room);
  const Status damaged = snapshot_->core().damaged();
  if (!damaged.ok()) return damaged;
  return slice;
}

}  // namespace vicinal::engine
