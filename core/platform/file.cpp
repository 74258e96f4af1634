#include "platform/file.hpp"

#include <utility>

#include "base/assert.hpp"
#include "platform/file_system.hpp"

namespace vicinal::platform {

Result<AlignedBuffer> read_file(const char* path, std::uint64_t bytes_max) noexcept {
  VICINAL_ASSERT(path != nullptr);
  auto file = system_files().open(path, Access::read);
  if (!file.ok()) return file.status();
  const auto length = (*file)->size();
  if (!length.ok()) return length.status();
  if (*length > bytes_max) return Status(Code::full, *length, bytes_max);
  if (*length > SIZE_MAX / 2) return Status(Code::full, *length);
  auto buffer = AlignedBuffer::create(static_cast<std::size_t>(*length));
  if (!buffer.ok()) return buffer;
  const Status read = (*file)->read_at(0, {buffer->data(), buffer->size()});
  if (!read.ok()) return read;
  return buffer;
}

Status write_file(const char* path, std::span<const std::byte> bytes) noexcept {
  VICINAL_ASSERT(path != nullptr);
  FileSystem& files = system_files();
  auto temporary = files.create_beside(path);
  if (!temporary.ok()) return temporary.status();
  Status written = temporary->file->write_at(0, bytes);
  if (written.ok()) written = temporary->file->sync();
  if (!written.ok()) {
    files.discard(*temporary);
    return written;
  }
  return files.rename_over(*temporary);
}

}  // namespace vicinal::platform
