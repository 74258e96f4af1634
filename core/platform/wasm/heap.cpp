#include "platform/wasm/heap.hpp"

#ifdef VICINAL_WASM_THREADS

#include <cerrno>
#include <cstddef>
#include <cstring>

// Set by the linker.
extern "C" unsigned char __heap_base;

namespace vicinal::platform {
namespace {

constexpr std::uint64_t kWasmPageBytes = 65536;
constexpr std::size_t kMallocAlignment = 16;

// 0 until the first call. Fixed from then on: the heap's bookkeeping is laid out for one size, and
// a memory that somebody grew all the same only has an end that is not used.
std::uint32_t wasm_pages;

[[nodiscard]] std::uint64_t memory_end() noexcept {
  std::uint32_t pages = __atomic_load_n(&wasm_pages, __ATOMIC_RELAXED);
  if (pages == 0) {
    const auto now = static_cast<std::uint32_t>(__builtin_wasm_memory_size(0));
    // Whoever is first decides; no other data depends on it.
    if (__atomic_compare_exchange_n(&wasm_pages, &pages, now, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      pages = now;
    }
  }
  return pages * kWasmPageBytes;
}

[[nodiscard]] bool power_of_two(std::size_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace

LockFreeHeap<> shared_heap() noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(&__heap_base);
  return LockFreeHeap<>(&__heap_base, memory_end() - begin);
}

}  // namespace vicinal::platform

using vicinal::platform::kMallocAlignment;
using vicinal::platform::power_of_two;
using vicinal::platform::shared_heap;

// The whole family, so that no second allocator is linked for the one that was forgotten.
extern "C" {

void* malloc(std::size_t bytes) {
  void* memory = shared_heap().allocate(bytes, kMallocAlignment);
  if (memory == nullptr) errno = ENOMEM;
  return memory;
}

void free(void* memory) { shared_heap().free(memory); }

void* calloc(std::size_t count, std::size_t bytes) {
  void* memory = shared_heap().allocate_zeroed(std::uint64_t{count} * bytes, kMallocAlignment);
  if (memory == nullptr) errno = ENOMEM;
  return memory;
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  void* memory = power_of_two(alignment) ? shared_heap().allocate(bytes, alignment) : nullptr;
  if (memory == nullptr) errno = power_of_two(alignment) ? ENOMEM : EINVAL;
  return memory;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  if (!power_of_two(alignment) || alignment < sizeof(void*)) return EINVAL;
  void* memory = shared_heap().allocate(bytes, alignment);
  if (memory == nullptr) return ENOMEM;
  *result = memory;
  return 0;
}

std::size_t malloc_usable_size(void* memory) {
  return memory == nullptr ? 0 : static_cast<std::size_t>(shared_heap().usable_bytes(memory));
}

void* realloc(void* memory, std::size_t bytes) {
  if (memory == nullptr) return malloc(bytes);
  const std::size_t held = malloc_usable_size(memory);
  // In place while at least half of the block stays in use.
  if (bytes <= held && bytes >= held / 2) return memory;
  void* moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, bytes < held ? bytes : held);
  free(memory);
  return moved;
}

// The names by which Emscripten's C library calls its allocator past a replaced malloc.
void* emscripten_builtin_malloc(std::size_t bytes) { return malloc(bytes); }
void* emscripten_builtin_memalign(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}
void emscripten_builtin_free(void* memory) { free(memory); }
void* __libc_malloc(std::size_t bytes) { return malloc(bytes); }
void* __libc_calloc(std::size_t count, std::size_t bytes) { return calloc(count, bytes); }
void __libc_free(void* memory) { free(memory); }

}  // extern "C"

#endif  // VICINAL_WASM_THREADS
