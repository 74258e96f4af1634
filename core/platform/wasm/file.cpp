#include "platform/file.hpp"

namespace vicinal::platform {

// The TypeScript above reads and writes whatever the realm has, and passes bytes.
Result<AlignedBuffer> read_file(const char*, std::uint64_t) noexcept {
  return Status(Code::unsupported);
}
Status write_file(const char*, std::span<const std::byte>) noexcept {
  return Status(Code::unsupported);
}

}  // namespace vicinal::platform
