#include "platform/file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace vicinal::platform {
namespace {

Status io_error(int error) noexcept { return Status(Code::io, static_cast<std::uint64_t>(error)); }

// Closes on destruction.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool open() const noexcept { return number_ >= 0; }
  [[nodiscard]] bool close_checked() noexcept {
    const int number = number_;
    number_ = -1;
    return ::close(number) == 0;
  }

 private:
  int number_;
};

Status read_all(int file, std::byte* to, std::size_t bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::read(file, to + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error(errno);
    if (count == 0) return io_error(EIO);  // it shrank while we read
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Status write_all(int file, std::span<const std::byte> bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error(errno);
    done += static_cast<std::size_t>(count);
  }
  return ::fsync(file) == 0 ? Status() : io_error(errno);
}

Status sync_directory(const std::string& path) noexcept {
  const std::size_t slash = path.find_last_of('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.open() || ::fsync(file.number()) != 0) return io_error(errno);
  return {};
}

}  // namespace

Result<AlignedBuffer> read_file(const char* path) noexcept {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.open()) return io_error(errno);
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) return io_error(errno);
  if (S_ISDIR(info.st_mode)) return io_error(EISDIR);
  if (!S_ISREG(info.st_mode)) return io_error(EINVAL);
  auto buffer = AlignedBuffer::create(static_cast<std::size_t>(info.st_size));
  if (!buffer.ok()) return buffer.status();
  const Status read = read_all(file.number(), buffer->data(), buffer->size());
  if (!read.ok()) return read;
  return buffer;
}

Status write_file(const char* path, std::span<const std::byte> bytes) noexcept {
  const std::string target(path);
  // Beside the target, so that the rename stays on one file system; unique, so that two writers do not
  // share it.
  std::string temporary = target + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.open()) return io_error(errno);
  Status status = ::fchmod(file.number(), 0644) == 0 ? Status() : io_error(errno);
  if (status.ok()) status = write_all(file.number(), bytes);
  if (status.ok() && !file.close_checked()) status = io_error(errno);
  if (status.ok() && ::rename(temporary.c_str(), path) != 0) status = io_error(errno);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return sync_directory(target);
}

}  // namespace vicinal::platform
