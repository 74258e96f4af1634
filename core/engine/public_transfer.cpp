// The public saver and loader over the engine's.
#include "engine/image.hpp"
#include "engine/image_loader.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {

static_assert(Saver::kRoomBytesMin == engine::ImageSaver::kRoomBytesMin);

Saver::Saver(std::unique_ptr<engine::ImageOut> out) noexcept : out_(std::move(out)) {}
Saver::Saver(Saver&&) noexcept = default;
Saver& Saver::operator=(Saver&&) noexcept = default;
Saver::~Saver() = default;

std::uint64_t Saver::bytes() const noexcept { return out_ == nullptr ? 0 : out_->bytes(); }

Result<Saver::Slice> Saver::next(std::span<std::byte> room) {
  if (out_ == nullptr) return Status(Code::closed);
  const auto slice = out_->next(room);
  if (!slice.ok()) return slice.status();
  return Slice{slice->offset, slice->bytes};
}

Result<Saver> Reader::saver() {
  if (core_ == nullptr) return status();
  auto out = engine::ImageOut::begin(*core_);
  if (!out.ok()) return out.status();
  return Saver(std::move(out).value());
}

Loader::Loader(std::unique_ptr<engine::ImageLoader> loader, bool read_only) noexcept
    : loader_(std::move(loader)), read_only_(read_only) {}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

Result<Loader> Loader::create(const OpenOptions& options) {
  auto loader = engine::ImageLoader::create(options.memory_bytes_max);
  if (!loader.ok()) return loader.status();
  return Loader(std::move(loader).value(), options.read_only);
}

Status Loader::take(std::span<const std::byte> bytes) {
  return loader_ == nullptr ? Status(Code::closed) : loader_->take(bytes);
}

Result<Index> Loader::finish() {
  if (loader_ == nullptr) return Status(Code::closed);
  auto core = loader_->finish();
  if (!core.ok()) return core.status();
  loader_.reset();
  return Index(std::move(core).value(), read_only_);
}

std::uint64_t Loader::bytes() const noexcept { return loader_ == nullptr ? 0 : loader_->bytes(); }

std::uint64_t Loader::largest_id() const noexcept {
  return loader_ == nullptr ? 0 : loader_->largest_id();
}

}  // namespace vicinal
