#include "support/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "base/bits.hpp"
#include "simd/kernels.hpp"

namespace vicinal::test {

#if defined(__SANITIZE_ADDRESS__)
#define VICINAL_TEST_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VICINAL_TEST_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(VICINAL_TEST_ADDRESS_SANITIZER)

GuardedMemory::GuardedMemory(std::size_t bytes)
    : mapping_(::operator new(bytes, std::align_val_t{simd::kAlignment})),
      data_(static_cast<std::uint8_t*>(mapping_)) {}

GuardedMemory::~GuardedMemory() {
  ::operator delete(mapping_, std::align_val_t{simd::kAlignment});
}

#else

GuardedMemory::GuardedMemory(std::size_t bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t readable_bytes = divide_up(bytes, page_bytes) * page_bytes;
  mapping_bytes_ = readable_bytes + page_bytes;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                  0);
  if (mapping_ == MAP_FAILED) std::abort();
  auto* const end = static_cast<std::uint8_t*>(mapping_) + readable_bytes;
  if (mprotect(end, page_bytes, PROT_NONE) != 0) std::abort();
  data_ = end - bytes;
}

GuardedMemory::~GuardedMemory() { munmap(mapping_, mapping_bytes_); }

#endif

}  // namespace vicinal::test
