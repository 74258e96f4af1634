// Threads of control with stacks of their own, which change places only where they ask for it.
//
// Thread safety: all of a Fibers belong to one thread.
// I1: entered[i] runs once for each start(i, ...); it must not return.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace vicinal::sim {

class Fibers {
 public:
  explicit Fibers(std::uint32_t count);
  // Fiber `number` will begin with entry(), whatever it was doing.
  void start(std::uint32_t number, void (*entry)());
  // From the thread that is no fiber.
  void enter(std::uint32_t number);
  void switch_to(std::uint32_t number);
  // Back to where `enter` was called.
  void leave();
  [[nodiscard]] std::uint32_t current() const noexcept { return current_; }

 private:
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack;
  };
  std::vector<Fiber> fibers_;
  ucontext_t outside_ = {};
  std::uint32_t current_ = 0;
};

}  // namespace vicinal::sim
