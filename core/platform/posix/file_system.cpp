#include "platform/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "platform/clock.hpp"

namespace vicinal::platform {
namespace {

// One call moves at most this much: Linux transfers no more than 2 GiB - 4 KiB at a time.
constexpr std::size_t kTransferBytesMax = std::size_t{1} << 30;
constexpr int kNameTriesMax = 100;
// What is behind a file's name in that of a temporary one beside it: the process in the lower bits
// of the number, and above them what nobody has.
constexpr const char kTemporaryFormat[] = ".%08x.tmp";
constexpr std::size_t kTemporaryChars = 13;
constexpr unsigned kProcessBits = 22;  // of Linux
// A temporary file of a process that is not there, and that nobody has written to for so long: of a
// process on another machine, too.
constexpr std::time_t kTemporarySecondsMax = 3600;

[[nodiscard]] Status error(int number) noexcept {
  return Status(Code::io, static_cast<std::uint64_t>(number));
}

struct Path {
  char text[PATH_MAX];
};

[[nodiscard]] int kind_error(const struct stat& about) noexcept {
  if (S_ISDIR(about.st_mode)) return EISDIR;
  return S_ISREG(about.st_mode) ? 0 : EINVAL;
}

class PosixFile final : public File {
 public:
  explicit PosixFile(int number) noexcept : number_(number) {}
  ~PosixFile() override {
    // Mappings keep the open file, and with it its lock.
    if (locked_) ::flock(number_, LOCK_UN);
    ::close(number_);
  }

  Result<std::uint64_t> size() noexcept override {
    struct stat about{};
    if (::fstat(number_, &about) != 0) return error(errno);
    return static_cast<std::uint64_t>(about.st_size);
  }
  Status read_at(std::uint64_t offset, std::span<std::byte> bytes) noexcept override {
    return transfer_all(offset, bytes.size(), [&](std::size_t done, std::size_t wanted, off_t at) {
      return ::pread(number_, bytes.data() + done, wanted, at);
    });
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) noexcept override {
    return transfer_all(offset, bytes.size(), [&](std::size_t done, std::size_t wanted, off_t at) {
      return ::pwrite(number_, bytes.data() + done, wanted, at);
    });
  }
  Status sync() noexcept override { return ::fdatasync(number_) == 0 ? Status() : error(errno); }
  Status truncate(std::uint64_t bytes) noexcept override {
    if (bytes > kOffsetMax) return error(EFBIG);
    int refused = 0;
    do {
      refused = ::ftruncate(number_, static_cast<off_t>(bytes));
    } while (refused != 0 && errno == EINTR);
    return refused == 0 ? Status() : error(errno);
  }
  Result<void*> map(std::uint64_t offset, std::size_t bytes, Mapping mapping) noexcept override {
    VICINAL_ASSERT(offset % kMapBytes == 0 && bytes > 0);
    return map_at(nullptr, 0, offset, bytes, mapping);
  }
  Status map_over(void* memory, std::uint64_t offset, std::size_t bytes,
                  Mapping mapping) noexcept override {
    VICINAL_ASSERT(memory != nullptr && offset % kMapBytes == 0 && bytes > 0);
    const auto made = map_at(memory, MAP_FIXED, offset, bytes, mapping);
    return made.status();
  }
  Status lock() noexcept override {
    int refused = 0;
    do {
      refused = ::flock(number_, LOCK_EX | LOCK_NB);
    } while (refused != 0 && errno == EINTR);
    locked_ = refused == 0 || locked_;
    if (refused == 0) return {};
    return errno == EWOULDBLOCK ? Status(Code::busy) : error(errno);
  }
  Result<bool> is_at(const char* path) noexcept override {
    struct stat held{};
    struct stat found{};
    if (::fstat(number_, &held) != 0) return error(errno);
    if (::stat(path, &found) != 0) return errno == ENOENT ? Result<bool>(false) : error(errno);
    return held.st_dev == found.st_dev && held.st_ino == found.st_ino;
  }

 private:
  static constexpr std::uint64_t kOffsetMax = std::uint64_t{1} << 62;

  [[nodiscard]] Result<void*> map_at(void* place, int fixed, std::uint64_t offset,
                                     std::size_t bytes, Mapping mapping) noexcept {
    if (offset > kOffsetMax - bytes) return error(EOVERFLOW);
    const int protection = mapping == Mapping::read ? PROT_READ : PROT_READ | PROT_WRITE;
    const int kind = mapping == Mapping::private_write ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    const auto at = static_cast<off_t>(offset);
#if defined(__SANITIZE_THREAD__)
    // The system puts one mapping in the place of another for all threads at once. ThreadSanitizer
    // takes its own mmap for a store to all of it, which would be a race with who reads there.
    if (fixed != 0) {
      const long made = ::syscall(SYS_mmap, place, bytes, protection, kind | fixed, number_, at);
      return made == -1 ? Result<void*>(error(errno)) : Result<void*>(place);
    }
#endif
    void* memory = ::mmap(place, bytes, protection, kind | fixed, number_, at);
    if (memory == MAP_FAILED) return errno == ENOMEM ? Status(Code::full, bytes) : error(errno);
    return memory;
  }

  // Calls transfer(bytes done, bytes wanted, place) until all `bytes` are done.
  template <class Transfer>
  [[nodiscard]] static Status transfer_all(std::uint64_t offset, std::size_t bytes,
                                           Transfer transfer) noexcept {
    if (offset > kOffsetMax - bytes) return error(EOVERFLOW);
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t left = bytes - done;
      const ssize_t moved = transfer(done, left < kTransferBytesMax ? left : kTransferBytesMax,
                                     static_cast<off_t>(offset + done));
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return error(errno);
      if (moved == 0) return error(EIO);  // the file ends before the length that it had
      done += static_cast<std::size_t>(moved);
    }
    return {};
  }

  int number_;
  bool locked_ = false;
};

[[nodiscard]] Result<std::unique_ptr<File>> file_of(int number) noexcept {
  std::unique_ptr<File> file(new (std::nothrow) PosixFile(number));
  if (file == nullptr) {
    ::close(number);
    return Status(Code::full, sizeof(PosixFile));
  }
  return file;
}

[[nodiscard]] std::unique_ptr<char[]> copy_of(const Path& path) noexcept {
  const std::size_t bytes = std::strlen(path.text) + 1;
  std::unique_ptr<char[]> text(new (std::nothrow) char[bytes]);
  if (text != nullptr) std::memcpy(text.get(), path.text, bytes);
  return text;
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

// A new file beside `target`, whose name goes to `name`. Negative, with errno set, on failure.
[[nodiscard]] int create_with_free_name(const Path& target, mode_t mode, Path& name) noexcept {
  Random random(monotonic_ns() ^ static_cast<std::uint64_t>(getpid()) << 40);
  for (int tries = 0; tries < kNameTriesMax; ++tries) {
    const std::size_t length = std::strlen(target.text);
    if (length + kTemporaryChars >= sizeof name.text) {
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(name.text, target.text, length);
    const auto drawn = static_cast<unsigned>(random.next() >> 32) >> kProcessBits;
    const auto process = static_cast<unsigned>(getpid()) % (1u << kProcessBits);
    std::snprintf(name.text + length, kTemporaryChars + 1, kTemporaryFormat,
                  drawn << kProcessBits | process);
    const int number = ::open(name.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (number >= 0 || errno != EEXIST) return number;
  }
  return -1;
}

// The directory that `target` lies in, open. Negative, with errno set, on failure.
[[nodiscard]] int open_directory_of(const char* target) noexcept {
  Path path;
  std::snprintf(path.text, sizeof path.text, "%s", target);
  char* slash = std::strrchr(path.text, '/');
  const char* directory = ".";
  if (slash != nullptr) {
    directory = slash == path.text ? "/" : path.text;
    *slash = '\0';
  }
  return ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Whether `name` is that of a temporary file beside `file`, of a process that is not there.
[[nodiscard]] bool is_left_beside(const char* name, const char* file) noexcept {
  const std::size_t length = std::strlen(file);
  if (std::strlen(name) != length + kTemporaryChars) return false;
  if (std::memcmp(name, file, length) != 0) return false;
  unsigned number = 0;
  char again[kTemporaryChars + 1];
  if (std::sscanf(name + length, kTemporaryFormat, &number) != 1) return false;
  std::snprintf(again, sizeof again, kTemporaryFormat, number);
  if (std::strcmp(again, name + length) != 0) return false;
  const auto process = static_cast<pid_t>(number % (1u << kProcessBits));
  return process == 0 || (::kill(process, 0) != 0 && errno == ESRCH);
}

// What processes that died left beside `target`. Nothing where it cannot be.
void remove_left_behind(const Path& target) noexcept {
  const int number = open_directory_of(target.text);
  DIR* directory = number < 0 ? nullptr : ::fdopendir(number);
  if (directory == nullptr) {
    if (number >= 0) ::close(number);
    return;
  }
  const char* slash = std::strrchr(target.text, '/');
  const char* file = slash == nullptr ? target.text : slash + 1;
  const std::time_t now = std::time(nullptr);
  while (const dirent* entry = ::readdir(directory)) {  // NOLINT: the stream is ours alone
    if (!is_left_beside(entry->d_name, file)) continue;
    struct stat about{};
    if (::fstatat(number, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(about.st_mode) || now - about.st_mtime < kTemporarySecondsMax) continue;
    ::unlinkat(number, entry->d_name, 0);
  }
  ::closedir(directory);
}

// A name is durable once its directory is. 0 or errno.
[[nodiscard]] int flush_directory_of(const char* target) noexcept {
  const int number = open_directory_of(target);
  if (number < 0) return errno;
  // EINVAL: a file system that cannot flush directories, so nothing more can be done.
  const int failed = ::fsync(number) == 0 || errno == EINVAL ? 0 : errno;
  ::close(number);
  return failed;
}

class PosixFiles final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const char* path, Access access) noexcept override {
    VICINAL_ASSERT(path != nullptr);
    // O_NONBLOCK: opening a pipe must not wait for its other end.
    const int mode = access == Access::write ? O_RDWR : O_RDONLY;
    const int number = ::open(path, mode | O_CLOEXEC | O_NONBLOCK);
    if (number < 0) return error(errno);
    struct stat about{};
    const int wrong = ::fstat(number, &about) != 0 ? errno : kind_error(about);
    if (wrong != 0) {
      ::close(number);
      return error(wrong);
    }
    return file_of(number);
  }

  Result<std::unique_ptr<char[]>> full_name(const char* path) noexcept override {
    VICINAL_ASSERT(path != nullptr);
    Path full;
    if (realpath(path, full.text) == nullptr) return error(errno);
    auto name = copy_of(full);
    if (name == nullptr) return Status(Code::full);
    return name;
  }

  Result<TemporaryFile> create_beside(const char* path) noexcept override {
    VICINAL_ASSERT(path != nullptr);
    Path target;
    if (const int failed = resolve(path, target); failed != 0) return error(failed);
    struct stat before{};
    const bool replaces = ::stat(target.text, &before) == 0;
    if (replaces) {
      if (const int wrong = kind_error(before); wrong != 0) return error(wrong);
    }
    remove_left_behind(target);
    Path name;
    const int number = create_with_free_name(target, 0666, name);
    if (number < 0) return error(errno);
    auto file = file_of(number);
    TemporaryFile temporary;
    if (file.ok()) temporary = {std::move(file).value(), copy_of(name), copy_of(target)};
    Status made = file.status();
    if (made.ok() && (temporary.name == nullptr || temporary.target == nullptr)) {
      made = Status(Code::full);
    }
    // Not everybody may give files away; then it is the writer's, as any new file.
    if (made.ok() && replaces) (void)!::fchown(number, before.st_uid, before.st_gid);
    if (made.ok() && replaces && ::fchmod(number, before.st_mode & 07777) != 0) {
      made = error(errno);
    }
    if (made.ok()) return temporary;
    ::unlink(name.text);
    return made;
  }

  Status rename_over(TemporaryFile& temporary) noexcept override {
    return named(temporary, ::rename(temporary.name.get(), temporary.target.get()) == 0);
  }

  Status rename_new(TemporaryFile& temporary) noexcept override {
    // A rename would replace what came into being meanwhile; a second link cannot.
    const bool linked = ::link(temporary.name.get(), temporary.target.get()) == 0;
    const Status status = named(temporary, linked);
    if (linked) ::unlink(temporary.name.get());
    return status;
  }

  void discard(TemporaryFile& temporary) noexcept override {
    if (temporary.name != nullptr) ::unlink(temporary.name.get());
    temporary = {};
  }

 private:
  // Looks at errno.
  static Status named(TemporaryFile& temporary, bool done) noexcept {
    if (!done) {
      const int failed = errno;
      ::unlink(temporary.name.get());
      return error(failed);
    }
    const int failed = flush_directory_of(temporary.target.get());
    return failed == 0 ? Status() : error(failed);
  }
};

}  // namespace

void unmap_file(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  const int refused = ::munmap(memory, bytes);
  VICINAL_ASSERT(refused == 0);
}

bool forget_stores(void* memory, std::size_t bytes) noexcept {
  return ::madvise(memory, bytes, MADV_DONTNEED) == 0;
}

FileSystem& system_files() noexcept {
  static PosixFiles files;
  return files;
}

void draw_random(std::span<std::byte> bytes) noexcept {
  if (::getentropy(bytes.data(), bytes.size()) == 0) return;
  Random random(monotonic_ns() ^ static_cast<std::uint64_t>(getpid()) << 40);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
}

std::uint64_t process_id() noexcept { return static_cast<std::uint64_t>(::getpid()); }

}  // namespace vicinal::platform
