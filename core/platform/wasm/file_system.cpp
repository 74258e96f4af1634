#include "platform/file_system.hpp"

#include "base/assert.hpp"
#include "base/random.hpp"
#include "platform/clock.hpp"

namespace vicinal::platform {
namespace {

// The TypeScript above reads and writes whatever the realm has, and passes bytes.
class NoFiles final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const char*, Access) noexcept override {
    return Status(Code::unsupported);
  }
  Result<TemporaryFile> create_beside(const char*) noexcept override {
    return Status(Code::unsupported);
  }
  Status rename_over(TemporaryFile&) noexcept override { return Status(Code::unsupported); }
  Status rename_new(TemporaryFile&) noexcept override { return Status(Code::unsupported); }
  void discard(TemporaryFile&) noexcept override {}
};

}  // namespace

FileSystem& system_files() noexcept {
  static NoFiles files;
  return files;
}

void unmap_file(void*, std::size_t) noexcept { VICINAL_ASSERT(false); }  // nothing is ever mapped

bool forget_stores(void*, std::size_t) noexcept { return false; }

void draw_random(std::span<std::byte> bytes) noexcept {
  Random random(monotonic_ns() ^ reinterpret_cast<std::uintptr_t>(bytes.data()) << 32);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
}

std::uint64_t process_id() noexcept { return 0; }

}  // namespace vicinal::platform
