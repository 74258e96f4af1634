#include "engine/log_bytes.hpp"

#include <cerrno>
#include <cstring>

#include "engine/live_copy.hpp"
#include "engine/log_file.hpp"

namespace vicinal::engine {

Status GrowingFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept {
  return MemoryFile(bytes_.bytes()).read_at(offset, bytes);
}

Status GrowingFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept {
  if (offset > ~std::size_t{0} / 2 - bytes.size()) return Status(Code::full, offset);
  const auto end = static_cast<std::size_t>(offset) + bytes.size();
  if (end > bytes_.size()) {
    const Status room = bytes_.append_zeros(end - bytes_.size());
    if (!room.ok()) return room;
  }
  if (!bytes.empty()) std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
  return {};
}

Status GrowingFile::truncate(std::uint64_t bytes) noexcept {
  if (bytes > bytes_.size()) return Status(Code::io, EINVAL);
  bytes_.truncate(static_cast<std::size_t>(bytes));
  return {};
}

Status write_log(GrowingFile& file, ReaderCore& reader) noexcept {
  return with_live_rows(reader, [&file](const Core& core, const segment::Version& version) {
    const auto uuid = uuid_of(core.options(), version);
    if (!uuid.ok()) return uuid.status();
    return write_log_file(file, *uuid, core.options(), core.quantiser().layout(), version);
  });
}

}  // namespace vicinal::engine
