// What a reader announces: which versions it may be looking at.
//
// Thread safety: plain values.
// I1: a pin is IDLE, RANGE e ("some version from e on"), EXACT s ("version s and no other"), or
//     HELD s: EXACT, by somebody who is not in a search at the moment. HELD differs for figures
//     alone.
#pragma once

#include <cstdint>

namespace vicinal::sync {

// A pin's value: kind in the low two bits, a sequence or generation above them.
struct Pin {
  enum class Kind : std::uint8_t { idle = 0, range = 1, exact = 2, held = 3 };
  Kind kind = Kind::idle;
  std::uint64_t number = 0;

  [[nodiscard]] static constexpr std::uint64_t range(std::uint64_t generation) noexcept {
    return generation << 2 | 1;
  }
  [[nodiscard]] static constexpr std::uint64_t exact(std::uint64_t sequence) noexcept {
    return sequence << 2 | 2;
  }
  [[nodiscard]] static constexpr std::uint64_t held(std::uint64_t sequence) noexcept {
    return sequence << 2 | 3;
  }
  [[nodiscard]] static constexpr Pin of(std::uint64_t word) noexcept {
    return {static_cast<Kind>(word & 3), word >> 2};
  }
  // Whether an object reachable from versions birth <= s < retire must be kept for this pin.
  [[nodiscard]] constexpr bool holds(std::uint64_t birth, std::uint64_t retire) const noexcept {
    if (kind == Kind::range) return number < retire;
    return kind != Kind::idle && birth <= number && number < retire;
  }
};

}  // namespace vicinal::sync
