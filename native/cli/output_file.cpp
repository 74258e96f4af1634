#include "cli/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cli/failure.hpp"

namespace vicinal::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr mode_t kMode = 0666;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file that a symbolic link leads to, so that the link keeps its place.
std::string resolve(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string target(resolved);
  std::free(resolved);
  return target;
}

}  // namespace

void check_output(const std::string& path) {
  if (path.empty() || path == "-") throw usage_failure("the output must be a file");
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode)) throw io_failure(path, EISDIR);
    if (!S_ISREG(about.st_mode)) return;
  }
  const std::string folder = folder_of(resolve(path));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) throw io_failure(path, errno);
}

OutputFile::OutputFile(const std::string& path) : path_(resolve(path)) {
  check_output(path);
  struct stat about {};
  const bool exists = ::stat(path_.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw io_failure(path_, errno);
    return;
  }
  temporary_ = path_ + ".XXXXXX.tmp";
  descriptor_ = ::mkostemps(temporary_.data(), 4, O_CLOEXEC);
  if (descriptor_ < 0) throw io_failure(path_, errno);
  // A new file gets what the process's mask allows, a replaced one keeps what it had.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, exists ? about.st_mode & 07777u : kMode & ~mask);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (descriptor_ >= 0 && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kBufferBytes) flush();
}

void OutputFile::flush() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io_failure(path_, errno);
    done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (!temporary_.empty()) {
    if (::fsync(descriptor_) != 0) throw io_failure(path_, errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw io_failure(path_, errno);
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace vicinal::cli
