#include "support/memory_hook.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "platform/memory.hpp"
#include "sync/atomic.hpp"

namespace vicinal::test {
namespace {

constexpr std::size_t kPageBytes = 4096;

struct ThreadState {
  std::uint64_t allocations = 0;
  std::uint64_t fallible = 0;  // since the FailingAllocations began
  std::uint64_t fail_first = 0;
  std::uint64_t fail_last = 0;
  std::uint64_t failed = 0;
  void (*call)(void*) = nullptr;
  void* context = nullptr;
  bool inside = false;
};

thread_local ThreadState state;
sync::Atomic<std::uint64_t> live;

void report() noexcept {
  if (state.call == nullptr || state.inside) return;
  state.inside = true;
  state.call(state.context);
  state.inside = false;
}

// Whether this allocation, which may fail, shall.
[[nodiscard]] bool shall_fail() noexcept {
  if (state.inside || state.fail_first == 0) return false;
  ++state.fallible;
  if (state.fallible < state.fail_first || state.fallible > state.fail_last) return false;
  ++state.failed;
  return true;
}

[[nodiscard]] void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t rounded = ((bytes == 0 ? 1 : bytes) + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded);
}

[[nodiscard]] void* platform_memory(std::size_t alignment, std::size_t bytes) noexcept {
  if (!state.inside) ++state.allocations;
  report();
  if (shall_fail()) return nullptr;
  void* memory = allocate_aligned(alignment, bytes);
  if (memory != nullptr) live.fetch_add(1, sync::relaxed);
  return memory;
}

void release_platform_memory(void* memory) noexcept {
  report();
  if (memory != nullptr) live.fetch_sub(1, sync::relaxed);
  std::free(memory);
}

[[nodiscard]] void* operator_new(std::size_t bytes, std::size_t alignment) noexcept {
  if (!state.inside) ++state.allocations;
  return alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                : allocate_aligned(alignment, bytes);
}

[[nodiscard]] void* throwing_new(std::size_t bytes, std::size_t alignment) {
  void* memory = operator_new(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::uint64_t allocations_of_this_thread() noexcept { return state.allocations; }
std::uint64_t live_allocations() noexcept { return live.load(sync::relaxed); }

FailingAllocations::FailingAllocations(std::uint64_t first, std::uint64_t last) noexcept {
  state.fallible = 0;
  state.failed = 0;
  state.fail_first = first;
  state.fail_last = last;
}
FailingAllocations::~FailingAllocations() { state.fail_first = 0; }
std::uint64_t FailingAllocations::failed() const noexcept { return state.failed; }

MemoryCallback::MemoryCallback(void (*call)(void*), void* context) noexcept {
  state.call = call;
  state.context = context;
  state.inside = false;  // a callback before may not have returned
}
MemoryCallback::~MemoryCallback() { state.call = nullptr; }

}  // namespace vicinal::test

namespace vicinal::platform {

void* map_zeroed(std::size_t bytes) noexcept {
  void* memory = test::platform_memory(test::kPageBytes, bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}
void unmap(void* memory, std::size_t) noexcept { test::release_platform_memory(memory); }
void* allocate(std::size_t bytes) noexcept { return test::platform_memory(64, bytes); }
void release(void* memory) noexcept { test::release_platform_memory(memory); }

}  // namespace vicinal::platform

void* operator new(std::size_t bytes) { return vicinal::test::throwing_new(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return vicinal::test::throwing_new(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return vicinal::test::shall_fail() ? nullptr : vicinal::test::operator_new(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return vicinal::test::shall_fail()
             ? nullptr
             : vicinal::test::operator_new(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
