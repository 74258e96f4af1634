#include "platform/memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"

// Sanitizers do not know what lies in a mapping of ours: there, every segment comes from their own
// allocator, so that an access after unmap is reported.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VICINAL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VICINAL_SANITIZED 1
#endif
#endif

namespace vicinal::platform {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLineBytes = 64;

// aligned_alloc with a size rounded up to the alignment, as the standard asks.
[[nodiscard]] void* aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t rounded = round_up(bytes == 0 ? 1 : bytes, alignment);
  return std::aligned_alloc(alignment, rounded);
}

}  // namespace

#ifdef VICINAL_SANITIZED

void* map_zeroed(std::size_t bytes) noexcept {
  void* memory = aligned(kPageBytes, bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

void unmap(void* memory, std::size_t) noexcept { std::free(memory); }

#else

void* map_zeroed(std::size_t bytes) noexcept {
  // Pages arrive zeroed when they are first touched; NORESERVE, because a segment of full capacity
  // is mapped long before it is filled.
  void* memory = mmap(nullptr, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  VICINAL_ASSERT(reinterpret_cast<std::uintptr_t>(memory) % kPageBytes == 0);
  return memory;
}

void unmap(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  const int refused = munmap(memory, bytes == 0 ? 1 : bytes);
  VICINAL_ASSERT(refused == 0);
}

#endif

void* allocate(std::size_t bytes) noexcept { return aligned(kLineBytes, bytes); }
void release(void* memory) noexcept { std::free(memory); }

}  // namespace vicinal::platform
