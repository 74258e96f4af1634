// Arrays and patterns that the kernel comparison feeds to both sides.
//
// Thread safety: a GuardedArray and a SteeredRandom belong to one thread; the functions are pure.
// I1: a GuardedArray is followed by exactly simd::kOverread random bytes, and those by a guard.
//     With AddressSanitizer it is aligned to 64 bytes, plus `skew`; else its end decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bits.hpp"
#include "base/random.hpp"
#include "simd/kernels.hpp"
#include "support/guarded_memory.hpp"

namespace vicinal::test {

// A seeded generator whose first numbers somebody may choose, byte by byte: a fuzzer.
class SteeredRandom {
 public:
  explicit SteeredRandom(std::uint64_t seed) noexcept : random_(seed) {}
  SteeredRandom(const std::uint8_t* chosen, std::size_t count, std::uint64_t seed) noexcept
      : chosen_(chosen), left_(count), random_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    return left_ == 0 ? random_.next() : take(sizeof(std::uint64_t));
  }

  // In [0, bound) for 1 <= bound <= 2^32; of chosen bytes it takes no more than it needs.
  [[nodiscard]] std::uint32_t below(std::uint64_t bound) noexcept {
    if (left_ == 0) return random_.below(bound);
    std::size_t bytes = 0;
    while (bytes < sizeof bound && (bound - 1) >> (8 * bytes) != 0) ++bytes;
    return static_cast<std::uint32_t>(take(bytes) % bound);
  }

 private:
  [[nodiscard]] std::uint64_t take(std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    for (; bytes > 0 && left_ > 0; --bytes, --left_) value = value << 8 | *chosen_++;
    return value;
  }

  const std::uint8_t* chosen_ = nullptr;
  std::size_t left_ = 0;
  Random random_;
};

template <class T>
class GuardedArray {
 public:
  GuardedArray(std::size_t count, SteeredRandom& random, std::size_t skew = 0)
      : count_(count),
        bytes_(skew + count * sizeof(T) + simd::kOverread),
        memory_(bytes_),
        values_(reinterpret_cast<T*>(memory_.data() + skew)) {
    for (std::size_t i = 0; i < bytes_; ++i) {
      memory_.data()[i] = static_cast<std::uint8_t>(random.below(256));
    }
  }

  [[nodiscard]] T* data() noexcept { return values_; }
  [[nodiscard]] const T* data() const noexcept { return values_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t i) noexcept { return values_[i]; }
  const T& operator[](std::size_t i) const noexcept { return values_[i]; }

  // Not inlined: GCC 12 sees arrays of negative length otherwise.
  [[gnu::noinline]] void fill(T value) noexcept {
    for (std::size_t i = 0; i < count_; ++i) values_[i] = value;
  }

 private:
  std::size_t count_;
  std::size_t bytes_;
  GuardedMemory memory_;
  T* values_;
};

// Uniform in [-1, 1), a multiple of 2^-23.
[[nodiscard]] inline float random_unit(SteeredRandom& random) noexcept {
  const auto integer = static_cast<std::int32_t>(random.below(1u << 24)) - (1 << 23);
  return static_cast<float>(integer) / static_cast<float>(1 << 23);
}

// Of any bits: infinities, denormals and what is not a number, too.
[[nodiscard]] inline float any_float(SteeredRandom& random) noexcept {
  return bit_cast<float>(random.below(std::uint64_t{1} << 32));
}

[[nodiscard]] inline std::int32_t random_between(SteeredRandom& random, std::int32_t low,
                                                 std::int32_t high) noexcept {
  return low + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(high - low) + 1u));
}

[[nodiscard]] inline std::uint64_t raw_bits(float value) noexcept {
  return bit_cast<std::uint32_t>(value);
}

}  // namespace vicinal::test
