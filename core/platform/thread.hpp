// Threads that the library starts itself. WebAssembly has none: there workers come and attach.
//
// Thread safety: a Thread belongs to one thread.
#pragma once

#include <cstdint>

#include "vicinal/status.hpp"

namespace vicinal::platform {

class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  // Joined before.
  ~Thread();

  // Calls run(argument) in a thread of its own. FULL when the system has none left; UNSUPPORTED.
  Status start(void (*run)(void*), void* argument) noexcept;
  // Waits for its end. Nothing where it was not started.
  void join() noexcept;

 private:
  std::uintptr_t handle_ = 0;
  bool started_ = false;
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
};

// How many threads can run at once for this process, at least 1.
[[nodiscard]] std::uint32_t processors() noexcept;

}  // namespace vicinal::platform

// WebAssembly: JavaScript says so, once for the memory, before an index is made; 1 until then.
extern "C" void vicinal_set_processors(std::uint32_t processors);
