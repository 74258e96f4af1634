// Integer helpers that libc++ 13 lacks or that need a checked form.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace vicinal {

// std::bit_cast, which libc++ 13 does not have.
template <class To, class From>
[[nodiscard]] inline To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  static_assert(std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
[[nodiscard]] constexpr T round_up(T value, std::type_identity_t<T> step) noexcept {
  return (value + step - 1) / step * step;
}

template <class T>
[[nodiscard]] constexpr T divide_up(T value, std::type_identity_t<T> by) noexcept {
  return (value + by - 1) / by;
}

// a * b, or the type's maximum where that overflows, so that a limit check still fails.
[[nodiscard]] constexpr std::uint64_t multiply_saturated(std::uint64_t a,
                                                         std::uint64_t b) noexcept {
  return b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b
             ? std::numeric_limits<std::uint64_t>::max()
             : a * b;
}

}  // namespace vicinal
