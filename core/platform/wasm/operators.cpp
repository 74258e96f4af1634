// The replaceable allocation functions, for every WebAssembly module. Those of the C++ library that
// is built without exceptions abort where these return null: its nothrow forms call the plain ones.
//
// Thread safety: any thread, as malloc.
// I1: a nothrow form returns null without memory. A plain one has nobody to tell, so it traps.
//     Code that can be refused memory uses the nothrow forms.
// I2: the whole set is here, so that the library's object is never linked beside it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

void* plain(std::size_t bytes) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }

void* aligned(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  if (bytes > SIZE_MAX - unit) return nullptr;
  const std::size_t wanted = bytes == 0 ? 1 : bytes;
  return std::aligned_alloc(unit, (wanted + unit - 1) / unit * unit);
}

void* or_trap(void* memory) noexcept {
  if (memory == nullptr) __builtin_trap();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return or_trap(plain(bytes)); }
void* operator new[](std::size_t bytes) { return or_trap(plain(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return plain(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return plain(bytes); }

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_trap(aligned(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_trap(aligned(bytes, alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return aligned(bytes, alignment);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
