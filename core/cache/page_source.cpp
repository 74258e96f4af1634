#include "cache/page_source.hpp"

#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "platform/memory.hpp"

namespace vicinal::cache {

MemorySource::~MemorySource() {
  if (memory_ != nullptr) platform::unmap(memory_, pages_ * kPageBytes);
}

Status MemorySource::resize(std::uint64_t pages) noexcept {
  VICINAL_ASSERT(memory_ == nullptr && pages > 0);
  if (pages > SIZE_MAX / 2 / kPageBytes) return Status(Code::full, pages);
  const auto bytes = static_cast<std::size_t>(pages) * kPageBytes;
  memory_ = static_cast<std::byte*>(platform::map_zeroed(bytes));
  if (memory_ == nullptr) return Status(Code::full, bytes);
  pages_ = pages;
  return {};
}

Status MemorySource::read(std::uint64_t page, PageRoom room) noexcept {
  if (page >= pages_) return Status(Code::io, EIO);
  std::memcpy(room.data(), memory_ + page * kPageBytes, kPageBytes);
  return {};
}

Status MemorySource::write(std::uint64_t page, PageBytes bytes) noexcept {
  if (page >= pages_) return Status(Code::io, EIO);
  std::memcpy(memory_ + page * kPageBytes, bytes.data(), kPageBytes);
  return {};
}

Result<std::uint64_t> FileSource::place_of(std::uint64_t page) const noexcept {
  // Files end at 2^63, wherever they are.
  constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 63;
  if (offset_ >= kFileBytesMax || page >= (kFileBytesMax - offset_) / kPageBytes) {
    return Status(Code::io, EFBIG);
  }
  return offset_ + page * kPageBytes;
}

Status FileSource::read(std::uint64_t page, PageRoom room) noexcept {
  const auto place = place_of(page);
  return place.ok() ? file_->read_at(*place, room) : place.status();
}

Status FileSource::write(std::uint64_t page, PageBytes bytes) noexcept {
  const auto place = place_of(page);
  return place.ok() ? file_->write_at(*place, bytes) : place.status();
}

}  // namespace vicinal::cache
