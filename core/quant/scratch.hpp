// Splits one block of scratch memory into aligned arrays, or, given no block, counts what it takes.
//
// Thread safety: a value; belongs to one thread.
// I1: counting and carving walk the same calls, so a size can never disagree with its use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "simd/kernels.hpp"

namespace vicinal::quant {

class Carver {
 public:
  // `base` is aligned to 64, or null to count only.
  explicit Carver(std::byte* base) noexcept : base_(base) {
    VICINAL_ASSERT(reinterpret_cast<std::uintptr_t>(base) % simd::kAlignment == 0);
  }

  // The next `count` values, aligned to 64 and not initialised; null when counting.
  template <class T>
  [[nodiscard]] T* take(std::size_t count) noexcept {
    const std::size_t offset = bytes_;
    bytes_ += static_cast<std::size_t>(round_up(count * sizeof(T), simd::kAlignment));
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* base_;
  std::size_t bytes_ = 0;
};

}  // namespace vicinal::quant
