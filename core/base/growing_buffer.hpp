// Bytes that are appended to, in memory that at least doubles when it runs out.
//
// Thread safety: a value; belongs to one thread.
// I1: an append that fails leaves the bytes as they were.
// I2: data() is a multiple of kBufferAlignment; it moves when the bytes grow.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "base/assert.hpp"
#include "vicinal/status.hpp"

namespace vicinal {

class GrowingBuffer {
 public:
  // FULL without memory.
  Status append(const void* data, std::size_t bytes) noexcept {
    if (bytes == 0) return {};
    VICINAL_ASSERT(data != nullptr);
    const Status room = reserve(bytes);
    if (!room.ok()) return room;
    std::memcpy(memory_.data() + size_, data, bytes);
    size_ += bytes;
    return {};
  }
  template <class T>
  Status append_value(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    return append(&value, sizeof value);
  }
  Status append_zeros(std::size_t bytes) noexcept {
    const Status room = reserve(bytes);
    if (!room.ok()) return room;
    if (bytes != 0) std::memset(memory_.data() + size_, 0, bytes);
    size_ += bytes;
    return {};
  }
  // Zeros as far as the next multiple of `step`.
  Status pad_to(std::size_t step) noexcept { return append_zeros((step - size_ % step) % step); }

  // So that the next `more` bytes cannot fail. FULL.
  Status reserve(std::size_t more) noexcept {
    if (more <= memory_.size() - size_) return {};
    if (more > ~std::size_t{0} / 2 - memory_.size()) return Status(Code::full, more);
    const std::size_t doubled = memory_.size() * 2;
    auto larger = AlignedBuffer::create(doubled > size_ + more ? doubled : size_ + more);
    if (!larger.ok()) return larger.status();
    if (size_ != 0) std::memcpy(larger->data(), memory_.data(), size_);
    memory_ = std::move(larger).value();
    return {};
  }
  // No more than the first `bytes`; the memory stays.
  void truncate(std::size_t bytes) noexcept {
    VICINAL_ASSERT(bytes <= size_);
    size_ = bytes;
  }
  // No bytes; the memory stays for the next ones.
  void clear() noexcept { size_ = 0; }
  void release() noexcept {
    memory_ = AlignedBuffer();
    size_ = 0;
  }

  [[nodiscard]] std::byte* data() noexcept { return memory_.data(); }
  [[nodiscard]] const std::byte* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }
  // What it holds of the system's memory.
  [[nodiscard]] std::size_t capacity() const noexcept { return memory_.size(); }

 private:
  AlignedBuffer memory_;
  std::size_t size_ = 0;
};

}  // namespace vicinal
