#include "bench/child.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <string>
#include <utility>

#include "cli/failure.hpp"

namespace vicinal::bench {
namespace {

[[noreturn]] void fail() { throw cli::io_failure("another process", errno); }

}  // namespace

Line::Line(Line&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Line& Line::operator=(Line&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Line::~Line() {
  if (number_ >= 0) ::close(number_);
}

void Line::send_bytes(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(number_, from, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail();
    from += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

void Line::receive_bytes(void* bytes, std::size_t count) {
  auto* to = static_cast<std::byte*>(bytes);
  while (count > 0) {
    const ssize_t received = ::recv(number_, to, count, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received == 0) errno = ECONNRESET;  // it has ended
    if (received <= 0) fail();
    to += received;
    count -= static_cast<std::size_t>(received);
  }
}

Child::Child(const std::function<void(Line&)>& work) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail();
  Line ours(ends[0]);
  Line theirs(ends[1]);
  process_ = ::fork();
  if (process_ < 0) fail();
  if (process_ == 0) {
    { const Line closed = std::move(ours); }
    int outcome = 1;
    try {
      work(theirs);
      outcome = 0;
    } catch (const std::exception&) {
      // The parent sees that the line has ended.
    }
    ::_exit(outcome);  // nothing of the parent's is this process's to end
  }
  line_ = std::move(ours);
}

Child::Child(Child&& other) noexcept
    : line_(std::move(other.line_)), process_(std::exchange(other.process_, -1)) {}

Child::~Child() {
  if (process_ < 0) return;
  (void)::kill(process_, SIGKILL);  // what it had to tell has come, or never will
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

MemoryBytes memory_of_process() {
  std::ifstream figures("/proc/self/smaps_rollup");
  MemoryBytes bytes;
  for (std::string name; figures >> name;) {
    std::size_t kib = 0;
    if (!(figures >> kib)) {
      figures.clear();
    } else if (name == "Private_Dirty:") {
      bytes.alone = kib * 1024;
    } else if (name == "Pss:") {
      bytes.share = kib * 1024;
    }
  }
  return bytes;
}

}  // namespace vicinal::bench
