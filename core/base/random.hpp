// Seeded random numbers and hashes, equal on every target.
//
// Thread safety: a generator belongs to one thread; the functions are pure.
#pragma once

#include <cstdint>

namespace vicinal {

// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014). A bijection of 64 bits.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// SplitMix64. Period 2^64; for rotations, tests and data, not for secrets.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    return mix64(state_);
  }

  // Uniform in [0, bound) for 1 <= bound <= 2^32, by multiplication (Lemire, "Fast random integer
  // generation in an interval", 2019) without its rejection step: the bias is below bound / 2^32.
  [[nodiscard]] constexpr std::uint32_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace vicinal
