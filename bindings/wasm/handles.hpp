// What the files of this binding share: addresses, outcomes, and the handles of exports.cpp.
//
// Thread safety: functions of what they are given.
#pragma once

#include <cstdlib>

#include "realms.hpp"

namespace vicinal::wasm {

template <class T>
T* at(vic_address address) noexcept {
  return reinterpret_cast<T*>(address);
}

inline vic_address address_of(const void* object) noexcept {
  return reinterpret_cast<vic_address>(object);
}

inline void store(StatusBlock* block, const Status& status) noexcept {
  *block = {static_cast<std::uint32_t>(status.code()), 0, status.a(), status.b()};
}

inline std::uint32_t finish(StatusBlock* block, const Status& status) noexcept {
  store(block, status);
  return static_cast<std::uint32_t>(status.code());
}

// No handle, and why.
inline vic_address refuse(StatusBlock* block, const Status& status) noexcept {
  store(block, status);
  return 0;
}

template <class T>
T* allocate(std::uint64_t count) noexcept {
  const std::uint64_t bytes = (count * sizeof(T) + 63) / 64 * 64;
  if (bytes > 0x7fffffff) return nullptr;
  return static_cast<T*>(std::aligned_alloc(64, static_cast<std::size_t>(bytes)));
}

// The handle of an index that the calling realm owns from now on; 0, with the reason, on error.
[[nodiscard]] vic_address adopt(Index index, StatusBlock* status) noexcept;

[[nodiscard]] IndexOptions index_options_of(const OptionsBlock& block) noexcept;

// That of a reader's handle.
[[nodiscard]] Reader& reader_of(vic_address reader) noexcept;

}  // namespace vicinal::wasm
