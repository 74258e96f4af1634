// The checksum of everything that is stored: XXH3 with 64 bits, from the xxHash header.
//
// Thread safety: pure functions; a ChecksumStream belongs to one thread at a time.
// I1: equal bytes and seed give equal sums on every target, however a stream was cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "vicinal/status.hpp"

namespace vicinal {

// `data` may be null when `bytes` is 0. Chain several ranges by passing each one's sum as the next
// one's seed; that differs from the sum of their concatenation.
[[nodiscard]] std::uint64_t checksum64(const void* data, std::size_t bytes,
                                       std::uint64_t seed = 0) noexcept;

// The checksum, with seed 0, of bytes that come one range after the other.
class ChecksumStream {
 public:
  // FULL.
  [[nodiscard]] static Result<ChecksumStream> create() noexcept;
  void update(const void* data, std::size_t bytes) noexcept;
  // Of everything so far.
  [[nodiscard]] std::uint64_t sum() const noexcept;

 private:
  explicit ChecksumStream(AlignedBuffer state) noexcept : state_(std::move(state)) {}
  AlignedBuffer state_;
};

}  // namespace vicinal
