// Memory whose end is watched: a read or write beyond it stops the program.
//
// Thread safety: an object belongs to one thread.
// I1: the byte after the last lies on a page that may not be touched, or, in a build with
//     AddressSanitizer, in its red zone: it watches the beginning, too. In WebAssembly nobody does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::test {

class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }

 private:
  void* mapping_ = nullptr;
  [[maybe_unused]] std::size_t mapping_bytes_ = 0;
  std::uint8_t* data_ = nullptr;
};

}  // namespace vicinal::test
