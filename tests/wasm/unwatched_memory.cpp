// WebAssembly has no pages that may not be touched: here nobody watches the end.
#include <new>

#include "simd/kernels.hpp"
#include "support/guarded_memory.hpp"

namespace vicinal::test {

GuardedMemory::GuardedMemory(std::size_t bytes)
    : mapping_(::operator new (bytes, std::align_val_t{simd::kAlignment})),
      data_(static_cast<std::uint8_t*>(mapping_)) {}

GuardedMemory::~GuardedMemory() {
  ::operator delete (mapping_, std::align_val_t{simd::kAlignment});
}

}  // namespace vicinal::test
