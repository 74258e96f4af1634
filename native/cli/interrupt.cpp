#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "cli/failure.hpp"

namespace vicinal::cli {
namespace {

int pipe_ends[2] = {-1, -1};

extern "C" void note_signal(int) {
  const int before = errno;
  const char byte = 0;
  // A full pipe has said it already.
  [[maybe_unused]] const ssize_t written = ::write(pipe_ends[1], &byte, 1);
  errno = before;
}

void handle(int signal) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  // A signal that our parent ignores (nohup, a background job) stays ignored.
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts() {
  if (::pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) throw io_failure("pipe", errno);
  handle(SIGINT);
  handle(SIGTERM);
  ::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() noexcept {
  pollfd signalled{pipe_ends[0], POLLIN, 0};
  return ::poll(&signalled, 1, 0) == 1;
}

void check_interrupted() {
  if (interrupted()) throw Failure(Code::aborted, "interrupted", Exit::interrupted);
}

void wait_readable(int descriptor) {
  pollfd either[2] = {{descriptor, POLLIN, 0}, {pipe_ends[0], POLLIN, 0}};
  while (::poll(either, 2, -1) < 0) {
    if (errno != EINTR) throw io_failure("poll", errno);
  }
  check_interrupted();
}

}  // namespace vicinal::cli
