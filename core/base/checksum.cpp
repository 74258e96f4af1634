#include "base/checksum.hpp"

#include "base/assert.hpp"

// Everything inline and private to this file: no library to link, no symbol to clash with.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vicinal {

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is final since 0.8.0");

std::uint64_t checksum64(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  VICINAL_ASSERT(data != nullptr || bytes == 0);
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace vicinal
