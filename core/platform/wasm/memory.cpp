#include "platform/memory.hpp"

#include <cstdlib>
#include <cstring>

#include "base/bits.hpp"
#include "platform/wasm/heap.hpp"

namespace vicinal::platform {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLineBytes = 64;

}  // namespace

#ifdef VICINAL_WASM_THREADS

void* map_zeroed(std::size_t bytes) noexcept {
  return shared_heap().allocate_zeroed(bytes, kPageBytes);
}
void* allocate(std::size_t bytes) noexcept { return shared_heap().allocate(bytes, kLineBytes); }
void unmap(void* memory, std::size_t) noexcept { shared_heap().free(memory); }
void release(void* memory) noexcept { shared_heap().free(memory); }

#else

namespace {

[[nodiscard]] void* aligned(std::size_t alignment, std::size_t bytes) noexcept {
  const std::uint64_t rounded = round_up(bytes == 0 ? 1 : std::uint64_t{bytes}, alignment);
  if (rounded > SIZE_MAX) return nullptr;
  return std::aligned_alloc(alignment, static_cast<std::size_t>(rounded));
}

}  // namespace

void* map_zeroed(std::size_t bytes) noexcept {
  void* memory = aligned(kPageBytes, bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}
void* allocate(std::size_t bytes) noexcept { return aligned(kLineBytes, bytes); }
void unmap(void* memory, std::size_t) noexcept { std::free(memory); }
void release(void* memory) noexcept { std::free(memory); }

#endif

}  // namespace vicinal::platform
