#include "platform/thread.hpp"

namespace {

std::uint32_t known_processors = 1;

}  // namespace

extern "C" void vicinal_set_processors(std::uint32_t processors) {
  known_processors = processors > 0 ? processors : 1;
}

namespace vicinal::platform {

Thread::~Thread() = default;

Status Thread::start(void (*run)(void*), void* argument) noexcept {
  run_ = run;
  argument_ = argument;
  handle_ = 0;
  return Status(Code::unsupported);
}

void Thread::join() noexcept { started_ = false; }

std::uint32_t processors() noexcept { return known_processors; }

}  // namespace vicinal::platform
