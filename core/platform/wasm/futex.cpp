#include "platform/futex.hpp"

#include "platform/wasm/may_block.hpp"

#ifdef VICINAL_WASM_THREADS

namespace {

// thread_local, since every instance has its own: a static would lie in the memory that all share.
// A thread that never said so may not sleep: on a page's main thread the instruction traps.
thread_local bool may_block = false;

}  // namespace

extern "C" __attribute__((export_name("vicinal_set_may_block"))) void vicinal_set_may_block(
    int allowed) {
  may_block = allowed != 0;
}

namespace vicinal::platform {

void futex_wait(const void* word, std::uint32_t expected, std::uint64_t wait_us_max) noexcept {
  if (!may_block) return;
  constexpr std::uint64_t kWaitUsMax = 0x7fffffffffffffff / 1000;
  const std::uint64_t wait_us = wait_us_max < kWaitUsMax ? wait_us_max : kWaitUsMax;
  // The instruction takes a pointer to non-const, but only loads.
  auto* address = const_cast<int*>(static_cast<const int*>(word));
  (void)__builtin_wasm_memory_atomic_wait32(address, static_cast<int>(expected),
                                            static_cast<long long>(wait_us * 1000));
}

bool may_wait() noexcept { return may_block; }

void futex_wake_all(const void* word) noexcept {
  auto* address = const_cast<int*>(static_cast<const int*>(word));
  (void)__builtin_wasm_memory_atomic_notify(address, 0xffffffffu);
}

}  // namespace vicinal::platform

#else

extern "C" void vicinal_set_may_block(int) {}

namespace vicinal::platform {

void futex_wait(const void*, std::uint32_t, std::uint64_t) noexcept {}
bool may_wait() noexcept { return false; }
void futex_wake_all(const void*) noexcept {}

}  // namespace vicinal::platform

#endif
