// How much longer than usual the random and stress tests shall run.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace vicinal::test {

// `small` times the environment's VICINAL_TEST_SCALE, a whole number; 1 when it is not set.
[[nodiscard]] inline std::uint64_t scaled(std::uint64_t small) {
  const char* text = std::getenv("VICINAL_TEST_SCALE");
  const std::uint64_t scale = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  return small * (scale == 0 ? 1 : scale);
}

}  // namespace vicinal::test
