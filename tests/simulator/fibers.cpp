#include "simulator/fibers.hpp"

#include <cstddef>

#include "base/assert.hpp"

namespace vicinal::sim {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

}  // namespace

Fibers::Fibers(std::uint32_t count) : fibers_(count) {
  for (Fiber& fiber : fibers_) {
    fiber.stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  }
}

void Fibers::start(std::uint32_t number, void (*entry)()) {
  Fiber& fiber = fibers_[number];
  VICINAL_ASSERT(getcontext(&fiber.context) == 0);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
}

void Fibers::enter(std::uint32_t number) {
  current_ = number;
  VICINAL_ASSERT(swapcontext(&outside_, &fibers_[number].context) == 0);
}

void Fibers::switch_to(std::uint32_t number) {
  const std::uint32_t from = current_;
  if (from == number) return;
  current_ = number;
  VICINAL_ASSERT(swapcontext(&fibers_[from].context, &fibers_[number].context) == 0);
}

void Fibers::leave() { VICINAL_ASSERT(setcontext(&outside_) == 0); }

}  // namespace vicinal::sim
