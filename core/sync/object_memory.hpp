// Making and ending versioned objects: one allocation each, trailing arrays included.
//
// Thread safety: any thread; an object is made and ended by the holder of the writer's token.
// I1: an object carries how it ends (`destroy`) and what was handed out for it (`bytes`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "platform/memory.hpp"
#include "sync/versioned.hpp"

namespace vicinal::sync {

inline void release_object(Versioned* object) noexcept { platform::release(object); }

// The simulator's Atomics end with their memory, too, though they have a destructor.
template <class T>
inline constexpr bool kEndsWithItsMemory = kSimulated || std::is_trivially_destructible_v<T>;

// A T followed by `trailing_bytes` uninitialised bytes, or null without memory. Aligned to 64.
template <class T>
[[nodiscard]] T* make_object(std::uint64_t birth, std::size_t trailing_bytes = 0) noexcept {
  static_assert(std::is_base_of_v<Versioned, T> && kEndsWithItsMemory<T>);
  static_assert(alignof(T) <= 64);
  const std::size_t bytes = sizeof(T) + trailing_bytes;
  void* memory = platform::allocate(bytes);
  if (memory == nullptr) return nullptr;
  T* object = new (memory) T();
  object->birth = birth;
  object->bytes = bytes;
  object->destroy = release_object;
  return object;
}

// A private copy of an object without trailing bytes, or null without memory.
template <class T>
[[nodiscard]] T* copy_object(const T& original, std::uint64_t birth) noexcept {
  static_assert(kEndsWithItsMemory<T>);
  void* memory = platform::allocate(sizeof(T));
  if (memory == nullptr) return nullptr;
  T* object = new (memory) T(original);
  object->birth = birth;
  object->retire = 0;
  object->bytes = sizeof(T);
  object->destroy = release_object;
  return object;
}

using platform::map_zeroed;
using platform::unmap;

}  // namespace vicinal::sync
