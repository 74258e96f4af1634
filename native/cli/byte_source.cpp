#include "cli/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/failure.hpp"
#include "cli/interrupt.hpp"

namespace vicinal::cli {
namespace {

// One call's worth: how long a signal may have to wait.
constexpr std::size_t kReadBytesMax = std::size_t{8} << 20;

int open_for_reading(const std::string& path) {
  if (path == "-") return STDIN_FILENO;
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) return descriptor;
    if (errno != EINTR) throw io_failure(path, errno);
    check_interrupted();
  }
}

}  // namespace

ByteSource::ByteSource(const std::string& path)
    : name_(path == "-" ? "standard input" : path), descriptor_(open_for_reading(path)) {
  struct stat about {};
  int failed = ::fstat(descriptor_, &about) == 0 ? 0 : errno;
  if (failed == 0 && S_ISDIR(about.st_mode)) failed = EISDIR;
  if (failed != 0) {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
    throw io_failure(name_, failed);
  }
  if (S_ISREG(about.st_mode)) length_ = static_cast<std::uint64_t>(about.st_size);
}

ByteSource::~ByteSource() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

std::size_t ByteSource::read(std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    wait_readable(descriptor_);
    const std::size_t wanted = std::min(into.size() - done, kReadBytesMax);
    const ssize_t came = ::read(descriptor_, into.data() + done, wanted);
    if (came < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (came < 0) throw io_failure(name_, errno);
    if (came == 0) break;
    done += static_cast<std::size_t>(came);
  }
  return done;
}

std::string ByteSource::read_text() {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    const std::size_t came = read(std::as_writable_bytes(std::span(text).subspan(before)));
    text.resize(before + came);
    if (came < kStep) return text;
  }
}

}  // namespace vicinal::cli
