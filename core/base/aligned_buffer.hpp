// An owning, zeroed byte buffer on a 64-byte boundary, whose creation can fail.
//
// Thread safety: a value; belongs to one thread, or is read by many once filled.
// I1: data() is a multiple of kBufferAlignment; every byte is 0 after create.
// I2: a default-made or moved-from buffer is empty: size() == 0, data() == nullptr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "vicinal/status.hpp"

namespace vicinal {

inline constexpr std::size_t kBufferAlignment = 64;

class AlignedBuffer {
 public:
  AlignedBuffer() noexcept = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { ::operator delete(data_, std::align_val_t{kBufferAlignment}); }

  // FULL(bytes, 0) when the system has no memory left. 0 bytes give an empty buffer.
  [[nodiscard]] static Result<AlignedBuffer> create(std::size_t bytes) noexcept {
    AlignedBuffer buffer;
    if (bytes == 0) return buffer;
    void* memory = ::operator new(bytes, std::align_val_t{kBufferAlignment}, std::nothrow);
    if (memory == nullptr) return Status(Code::full, bytes);
    VICINAL_ASSERT(reinterpret_cast<std::uintptr_t>(memory) % kBufferAlignment == 0);  // I1
    std::memset(memory, 0, bytes);
    buffer.data_ = static_cast<std::byte*>(memory);
    buffer.size_ = bytes;
    return buffer;
  }

  // Lets go of memory that may be freed already: whoever held the buffer died. Returns its size.
  std::size_t forget() noexcept {
    data_ = nullptr;
    return std::exchange(size_, 0);
  }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // The bytes from `offset` on as trivial values. `offset` must keep T aligned.
  template <class T>
  [[nodiscard]] T* as(std::size_t offset = 0) noexcept {
    return const_cast<T*>(std::as_const(*this).template as<T>(offset));
  }
  template <class T>
  [[nodiscard]] const T* as(std::size_t offset = 0) const noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kBufferAlignment);
    VICINAL_ASSERT(offset <= size_ && offset % alignof(T) == 0);
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace vicinal
