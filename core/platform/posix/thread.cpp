#include "platform/thread.hpp"

#include <pthread.h>
#include <sched.h>

#include "base/assert.hpp"

namespace vicinal::platform {

Thread::~Thread() { VICINAL_ASSERT(!started_); }

Status Thread::start(void (*run)(void*), void* argument) noexcept {
  VICINAL_ASSERT(!started_);
  run_ = run;
  argument_ = argument;
  pthread_t thread{};
  const auto call = [](void* self) -> void* {
    const auto& started = *static_cast<const Thread*>(self);
    started.run_(started.argument_);
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, call, this) != 0) return Status(Code::full);
  static_assert(sizeof thread <= sizeof handle_);
  handle_ = static_cast<std::uintptr_t>(thread);
  started_ = true;
  return {};
}

void Thread::join() noexcept {
  if (!started_) return;
  pthread_join(static_cast<pthread_t>(handle_), nullptr);
  started_ = false;
}

std::uint32_t processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  // More processors than the set has room for: nobody counts on all of them.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return CPU_SETSIZE;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<std::uint32_t>(count) : 1;
}

}  // namespace vicinal::platform
