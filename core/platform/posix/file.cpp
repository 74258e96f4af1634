#include "platform/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "platform/clock.hpp"

namespace vicinal::platform {
namespace {

// One call moves at most this much: Linux transfers no more than 2 GiB - 4 KiB at a time.
constexpr std::size_t kTransferBytesMax = std::size_t{1} << 30;
constexpr int kNameTriesMax = 100;

[[nodiscard]] Status error(int number) noexcept {
  return Status(Code::io, static_cast<std::uint64_t>(number));
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] bool open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }
  // Closing can report a write that failed late. Not repeated on EINTR: the number is gone by then.
  [[nodiscard]] bool close() noexcept {
    const int number = number_;
    number_ = -1;
    return ::close(number) == 0 || errno == EINTR;
  }

 private:
  int number_;
};

struct Path {
  char text[PATH_MAX];
};

// Calls transfer(bytes done, bytes wanted) until all `bytes` are done. 0 or errno.
template <class Transfer>
[[nodiscard]] int transfer_all(std::size_t bytes, Transfer transfer) noexcept {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t left = bytes - done;
    const ssize_t moved = transfer(done, left < kTransferBytesMax ? left : kTransferBytesMax);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno;
    if (moved == 0) return EIO;  // the file ends before the length that it had
    done += static_cast<std::size_t>(moved);
  }
  return 0;
}

[[nodiscard]] int kind_error(const struct stat& about) noexcept {
  if (S_ISDIR(about.st_mode)) return EISDIR;
  return S_ISREG(about.st_mode) ? 0 : EINVAL;
}

// Where the new content goes: the file that `path` leads to, if one exists. 0 or errno.
[[nodiscard]] int resolve(const char* path, Path& target) noexcept {
  if (realpath(path, target.text) != nullptr) return 0;
  if (errno != ENOENT) return errno;
  const std::size_t length = std::strlen(path);
  if (length == 0) return ENOENT;
  if (length >= sizeof target.text) return ENAMETOOLONG;
  std::memcpy(target.text, path, length + 1);
  return 0;
}

// A new file beside `target`, whose name goes to `name`. Closed, with errno set, on failure.
[[nodiscard]] int create_beside(const Path& target, mode_t mode, Path& name) noexcept {
  Random random(monotonic_ns() ^ static_cast<std::uint64_t>(getpid()) << 40);
  for (int tries = 0; tries < kNameTriesMax; ++tries) {
    const int length = std::snprintf(name.text, sizeof name.text, "%s.%08x.tmp", target.text,
                                     static_cast<unsigned>(random.next() >> 32));
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof name.text) {
      errno = ENAMETOOLONG;
      return -1;
    }
    const int number = ::open(name.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (number >= 0 || errno != EEXIST) return number;
  }
  return -1;
}

// The rename itself is durable once the directory is. 0 or errno.
[[nodiscard]] int flush_directory_of(Path target) noexcept {
  char* slash = std::strrchr(target.text, '/');
  const char* directory = ".";
  if (slash != nullptr) {
    directory = slash == target.text ? "/" : target.text;
    *slash = '\0';
  }
  const Descriptor opened(::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open()) return errno;
  // EINVAL: a file system that cannot flush directories, so nothing more can be done.
  return ::fsync(opened.number()) == 0 || errno == EINVAL ? 0 : errno;
}

// Fills the temporary file, flushes it and closes it. 0 or errno.
[[nodiscard]] int fill(Descriptor& file, std::span<const std::byte> bytes) noexcept {
  const int failed = transfer_all(bytes.size(), [&](std::size_t done, std::size_t wanted) {
    return ::write(file.number(), bytes.data() + done, wanted);
  });
  if (failed != 0) return failed;
  if (::fsync(file.number()) != 0) return errno;
  return file.close() ? 0 : errno;
}

}  // namespace

Result<AlignedBuffer> read_file(const char* path, std::uint64_t bytes_max) noexcept {
  VICINAL_ASSERT(path != nullptr);
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return error(errno);
  struct stat about{};
  if (::fstat(file.number(), &about) != 0) return error(errno);
  if (const int wrong = kind_error(about); wrong != 0) return error(wrong);
  const auto length = static_cast<std::uint64_t>(about.st_size);
  if (length > bytes_max) return Status(Code::full, length, bytes_max);
  if (length > SIZE_MAX / 2) return Status(Code::full, length);
  auto buffer = AlignedBuffer::create(static_cast<std::size_t>(length));
  if (!buffer.ok()) return buffer;
  std::byte* into = buffer->data();
  const int failed = transfer_all(buffer->size(), [&](std::size_t done, std::size_t wanted) {
    return ::read(file.number(), into + done, wanted);
  });
  if (failed != 0) return error(failed);
  return buffer;
}

Status write_file(const char* path, std::span<const std::byte> bytes) noexcept {
  VICINAL_ASSERT(path != nullptr);
  Path target;
  if (const int failed = resolve(path, target); failed != 0) return error(failed);
  struct stat before{};
  const bool replaces = ::stat(target.text, &before) == 0;
  if (replaces) {
    if (const int wrong = kind_error(before); wrong != 0) return error(wrong);
  }
  Path name;
  Descriptor file(create_beside(target, 0666, name));
  if (!file.open()) return error(errno);
  int failed = 0;
  if (replaces && ::fchmod(file.number(), before.st_mode & 07777) != 0) failed = errno;
  if (failed == 0) failed = fill(file, bytes);
  if (failed == 0 && ::rename(name.text, target.text) != 0) failed = errno;
  if (failed != 0) {
    ::unlink(name.text);
    return error(failed);
  }
  // The new content is in place, but might not survive a loss of power: that is an error too.
  failed = flush_directory_of(target);
  return failed == 0 ? Status() : error(failed);
}

}  // namespace vicinal::platform
