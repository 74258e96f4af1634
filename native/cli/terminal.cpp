#include "cli/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cli/failure.hpp"

namespace vicinal::cli {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{100};

// 0 or errno.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool is_set(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] != '\0';
}

bool can_move_the_cursor() noexcept {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace

void claim_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Opened the wrong way round, so that using it is an error.
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
}

void write_output(std::string_view text) {
  const int failed = write_all(STDOUT_FILENO, text);
  if (failed == EPIPE) throw OutputClosed{};
  if (failed != 0) throw io_failure("standard output", failed);
}

void write_error(std::string_view message) {
  const bool colour = can_move_the_cursor() && !is_set("NO_COLOR");
  const char* name = colour ? "\x1b[1;31mvicinal:\x1b[0m" : "vicinal:";
  // Nobody is left to tell when this fails.
  [[maybe_unused]] const int failed =
      write_all(STDERR_FILENO, fmt::format("{} {}\n", name, message));
}

Progress::Progress(std::string what, std::optional<std::uint64_t> total)
    : what_(std::move(what)),
      total_(total),
      on_terminal_(can_move_the_cursor()),
      next_(Clock::now() + kProgressInterval) {}

Progress::~Progress() {
  if (shown_) [[maybe_unused]] const int failed = write_all(STDERR_FILENO, "\r\x1b[K");
}

void Progress::show(std::uint64_t done) {
  if (!on_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + kProgressInterval;
  const std::string share =
      total_ && *total_ > 0 ? fmt::format(" of {} ({} %)", *total_, done * 100 / *total_) : "";
  shown_ = write_all(STDERR_FILENO, fmt::format("\r\x1b[K{} {}{}", done, what_, share)) == 0;
}

}  // namespace vicinal::cli
