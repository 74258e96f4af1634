// Arrays and patterns that the kernel comparison feeds to both sides.
//
// Thread safety: a GuardedArray belongs to one thread; the functions are pure.
// I1: a GuardedArray is aligned to 64 bytes, plus `skew` when asked, and followed by exactly
//     simd::kOverread random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/bits.hpp"
#include "base/random.hpp"
#include "simd/kernels.hpp"

namespace vicinal::test {

template <class T>
class GuardedArray {
 public:
  GuardedArray(std::size_t count, Random& random, std::size_t skew = 0)
      : count_(count), bytes_(skew + count * sizeof(T) + simd::kOverread) {
    memory_ = static_cast<std::uint8_t*>(
        ::operator new(bytes_, std::align_val_t{simd::kAlignment}));
    for (std::size_t i = 0; i < bytes_; ++i) {
      memory_[i] = static_cast<std::uint8_t>(random.below(256));
    }
    values_ = reinterpret_cast<T*>(memory_ + skew);
  }
  ~GuardedArray() { ::operator delete(memory_, std::align_val_t{simd::kAlignment}); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

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
  std::uint8_t* memory_ = nullptr;
  T* values_ = nullptr;
};

// Uniform in [-1, 1), a multiple of 2^-23.
[[nodiscard]] inline float random_unit(Random& random) noexcept {
  const auto integer = static_cast<std::int32_t>(random.below(1u << 24)) - (1 << 23);
  return static_cast<float>(integer) / static_cast<float>(1 << 23);
}

[[nodiscard]] inline std::int32_t random_between(Random& random, std::int32_t low,
                                                 std::int32_t high) noexcept {
  return low + static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(high - low) + 1u));
}

[[nodiscard]] inline std::uint64_t raw_bits(float value) noexcept {
  return bit_cast<std::uint32_t>(value);
}

}  // namespace vicinal::test
