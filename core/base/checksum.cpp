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

Result<ChecksumStream> ChecksumStream::create() noexcept {
  static_assert(alignof(XXH3_state_t) <= 64, "what a buffer is aligned to");
  auto state = AlignedBuffer::create(sizeof(XXH3_state_t));
  if (!state.ok()) return state.status();
  (void)XXH3_64bits_reset(state->as<XXH3_state_t>());
  return ChecksumStream(std::move(state).value());
}

void ChecksumStream::update(const void* data, std::size_t bytes) noexcept {
  VICINAL_ASSERT(data != nullptr || bytes == 0);
  (void)XXH3_64bits_update(state_.as<XXH3_state_t>(), data, bytes);
}

std::uint64_t ChecksumStream::sum() const noexcept {
  return XXH3_64bits_digest(state_.as<XXH3_state_t>());
}

}  // namespace vicinal
