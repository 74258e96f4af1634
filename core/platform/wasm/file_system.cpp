// Files through the functions that the loader provides: node:fs in Node, sync access handles in the
// workers of browsers (web/src/files/file_table.ts).
#include "platform/file_system.hpp"

#include <cerrno>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "base/growing_buffer.hpp"

// Numbers of open files are the calling realm's. What is below 0 is a FileError, negated.
extern "C" {
std::int32_t vicinal_file_open(const char* path, std::uint32_t path_bytes, std::uint32_t how);
void vicinal_file_close(std::int32_t file);
double vicinal_file_size(std::int32_t file);
// Bytes moved; 0: the file ends there.
std::int32_t vicinal_file_read(std::int32_t file, double offset, void* to, std::uint32_t bytes);
std::int32_t vicinal_file_write(std::int32_t file, double offset, const void* from,
                                std::uint32_t bytes);
std::int32_t vicinal_file_sync(std::int32_t file);
std::int32_t vicinal_file_truncate(std::int32_t file, double bytes);
std::int32_t vicinal_file_lock(std::int32_t file);
std::int32_t vicinal_file_is_at(std::int32_t file, const char* path, std::uint32_t path_bytes);
void vicinal_random(void* to, std::uint32_t bytes);
double vicinal_process_id();
}

namespace vicinal::platform {
namespace {

// As web/src/files/file_table.ts has them; errno's numbers are of the C library, not the system's.
enum class FileError : std::int32_t {
  missing = 1, directory = 2, not_a_file = 3, no_space = 4, busy = 5, stopped = 6, unsupported = 7,
  other = 8,
  errno_base = 1000,  // and above: the system's number
};

// How vicinal_file_open opens: the same.
enum class Open : std::uint32_t { read = 0, write = 1, begin = 2 };

constexpr std::uint64_t kOffsetMax = std::uint64_t{1} << 53;  // what a double counts exactly
constexpr std::size_t kTransferBytesMax = std::size_t{1} << 30;

[[nodiscard]] Status error_of(double result) noexcept {
  const auto number = static_cast<std::int32_t>(-result);
  if (number >= static_cast<std::int32_t>(FileError::errno_base)) {
    return Status(Code::io, static_cast<std::uint64_t>(
                                number - static_cast<std::int32_t>(FileError::errno_base)));
  }
  switch (static_cast<FileError>(number)) {
    case FileError::missing: return Status(Code::io, ENOENT);
    case FileError::directory: return Status(Code::io, EISDIR);
    case FileError::not_a_file: return Status(Code::io, EINVAL);
    case FileError::no_space: return Status(Code::full);
    case FileError::busy: return Status(Code::busy);
    case FileError::stopped: return Status(Code::aborted);
    case FileError::unsupported: return Status(Code::unsupported);
    default: return Status(Code::io, EIO);
  }
}

[[nodiscard]] std::uint32_t length_of(const char* path) noexcept {
  return static_cast<std::uint32_t>(std::strlen(path));
}

[[nodiscard]] std::unique_ptr<char[]> copy_of(const char* path) noexcept {
  const std::size_t bytes = std::strlen(path) + 1;
  std::unique_ptr<char[]> text(new (std::nothrow) char[bytes]);
  if (text != nullptr) std::memcpy(text.get(), path, bytes);
  return text;
}

[[nodiscard]] Status outcome(double result) noexcept {
  return result < 0 ? error_of(result) : Status();
}

// Tells this realm from all that were before it: a realm's number is given again after its death,
// and a file's number is the realm's own.
[[nodiscard]] std::uint32_t incarnation() noexcept {
  static std::uint32_t last = 0;       // of all realms
  thread_local std::uint32_t own = 0;  // 0: not told yet
  if (own == 0) own = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  return own;
}

// An open file belongs to one realm. When that has ended, its successor opens the file again: by
// then the loader has it ready under the same path, and with its lock.
class RealmFile final : public File {
 public:
  RealmFile(std::unique_ptr<char[]> path, Access access, std::int32_t number) noexcept
      : path_(std::move(path)), number_(number), realm_(incarnation()), access_(access) {}
  ~RealmFile() override {
    if (realm_ == incarnation()) vicinal_file_close(number_);
  }

  Result<std::uint64_t> size() noexcept override {
    const double bytes = vicinal_file_size(number());
    if (bytes < 0) return error_of(bytes);
    return static_cast<std::uint64_t>(bytes);
  }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override {
    const std::int32_t file = number();
    return transfer_all(offset, bytes.size(), [&](std::size_t done, std::uint32_t count) {
      return vicinal_file_read(file, static_cast<double>(offset + done), bytes.data() + done,
                               count);
    });
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept override {
    const std::int32_t file = number();
    return transfer_all(offset, bytes.size(), [&](std::size_t done, std::uint32_t count) {
      return vicinal_file_write(file, static_cast<double>(offset + done), bytes.data() + done,
                                count);
    });
  }
  Status sync() noexcept override { return outcome(vicinal_file_sync(number())); }
  Status truncate(std::uint64_t bytes) noexcept override {
    if (bytes > kOffsetMax) return Status(Code::io, EFBIG);
    return outcome(vicinal_file_truncate(number(), static_cast<double>(bytes)));
  }
  Result<void*> map(std::uint64_t, std::size_t, Mapping) noexcept override {
    return Status(Code::unsupported);
  }
  Status lock() noexcept override { return outcome(vicinal_file_lock(number())); }
  Result<bool> is_at(const char* path) noexcept override {
    const std::int32_t found = vicinal_file_is_at(number(), path, length_of(path));
    if (found < 0) return error_of(found);
    return found != 0;
  }

 private:
  // This realm's; one that cannot be opened stays an error, and so does each call with it.
  [[nodiscard]] std::int32_t number() noexcept {
    if (realm_ != incarnation()) {
      realm_ = incarnation();
      const Open how = access_ == Access::write ? Open::write : Open::read;
      number_ = vicinal_file_open(path_.get(), length_of(path_.get()),
                                  static_cast<std::uint32_t>(how));
    }
    return number_;
  }

  template <class Transfer>
  [[nodiscard]] static Status transfer_all(std::uint64_t offset, std::size_t bytes,
                                           Transfer transfer) noexcept {
    if (offset > kOffsetMax - bytes) return Status(Code::io, EOVERFLOW);
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t left = bytes - done;
      const std::int32_t moved = transfer(
          done, static_cast<std::uint32_t>(left < kTransferBytesMax ? left : kTransferBytesMax));
      if (moved < 0) return error_of(moved);
      if (moved == 0) return Status(Code::io, EIO);  // the file ends before
      done += static_cast<std::size_t>(moved);
    }
    return {};
  }

  std::unique_ptr<char[]> path_;
  std::int32_t number_;
  std::uint32_t realm_;
  Access access_;
};

// What a file is to begin with, in memory: it goes there as one write. So a file that is empty and
// locked by the loader becomes an index's at once or not at all, where no other can replace it.
class Beginning final : public File {
 public:
  Result<std::uint64_t> size() noexcept override { return std::uint64_t{bytes_.size()}; }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override {
    if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset) {
      return Status(Code::io, EIO);
    }
    if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
    return {};
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept override {
    const std::uint64_t end = offset + bytes.size();
    if (end > kBytesMax || end < offset) return Status(Code::full, end, kBytesMax);
    if (end > bytes_.size()) {
      const Status room = bytes_.append_zeros(static_cast<std::size_t>(end - bytes_.size()));
      if (!room.ok()) return room;
    }
    if (!bytes.empty()) std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return {};
  }
  Status sync() noexcept override { return {}; }
  Status truncate(std::uint64_t) noexcept override { return Status(Code::unsupported); }
  Result<void*> map(std::uint64_t, std::size_t, Mapping) noexcept override {
    return Status(Code::unsupported);
  }
  Status lock() noexcept override { return {}; }  // nobody else can have it
  Result<bool> is_at(const char*) noexcept override { return false; }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_.bytes(); }

 private:
  static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 20;  // an index without rows

  GrowingBuffer bytes_;
};

// The loader opens, makes and locks the files of indexes before the core hears of them, since
// browsers do none of it at once; other names lead to nothing.
class LoaderFiles final : public FileSystem {
 public:
  // A file that is there and empty is as good as missing.
  Result<std::unique_ptr<File>> open(const char* path, Access access) noexcept override {
    return open_in(path, access, access == Access::write ? Open::write : Open::read);
  }
  Result<std::unique_ptr<char[]>> full_name(const char* path) noexcept override {
    auto name = copy_of(path);
    if (name == nullptr) return Status(Code::full);
    return name;
  }
  // Nothing here can take the place of a file that has something in it.
  Result<TemporaryFile> create_beside(const char* path) noexcept override {
    const auto how = static_cast<std::uint32_t>(Open::read);
    if (vicinal_file_open(path, length_of(path), how) >= 0) return Status(Code::unsupported);
    TemporaryFile beginning{std::unique_ptr<File>(new (std::nothrow) Beginning), nullptr,
                            copy_of(path)};
    if (beginning.file == nullptr || beginning.target == nullptr) return Status(Code::full);
    return beginning;
  }
  Status rename_over(TemporaryFile&) noexcept override { return Status(Code::unsupported); }
  Status rename_new(TemporaryFile& temporary) noexcept override {
    auto file = open_in(temporary.target.get(), Access::write, Open::begin);
    if (!file.ok()) return file.status();
    const auto bytes = static_cast<const Beginning&>(*temporary.file).bytes();
    const Status written = (*file)->write_at(0, bytes);
    return written.ok() ? (*file)->sync() : written;
  }
  void discard(TemporaryFile& temporary) noexcept override { temporary = {}; }

 private:
  [[nodiscard]] static Result<std::unique_ptr<File>> open_in(const char* path, Access access,
                                                             Open how) noexcept {
    auto kept = copy_of(path);
    if (kept == nullptr) return Status(Code::full);
    const std::int32_t number = vicinal_file_open(path, length_of(path),
                                                  static_cast<std::uint32_t>(how));
    if (number < 0) return error_of(number);
    std::unique_ptr<File> file(new (std::nothrow) RealmFile(std::move(kept), access, number));
    if (file == nullptr) {
      vicinal_file_close(number);
      return Status(Code::full, sizeof(RealmFile));
    }
    return file;
  }
};

LoaderFiles loader_files;

}  // namespace

FileSystem& system_files() noexcept { return loader_files; }

void unmap_file(void*, std::size_t) noexcept { VICINAL_ASSERT(false); }  // nothing is ever mapped

bool forget_stores(void*, std::size_t) noexcept { return false; }

void draw_random(std::span<std::byte> bytes) noexcept {
  vicinal_random(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
}

std::uint64_t process_id() noexcept { return static_cast<std::uint64_t>(vicinal_process_id()); }

}  // namespace vicinal::platform
