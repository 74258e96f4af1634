// What a Scratch holds: the working memory of one reader's searches.
//
// Thread safety: as Scratch.
// I1: growing either succeeds or leaves the old memory as it was.
// I2: all words of `masks` are 0 between searches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "search/search.hpp"

namespace vicinal::search {

// Makes `buffer` hold at least `bytes`; its contents are lost (all zero) where it grows. Grows by
// half at least, so that slowly growing needs do not allocate each time. FULL: as before.
[[nodiscard]] inline Status reserve(AlignedBuffer& buffer, std::size_t bytes) noexcept {
  if (buffer.size() >= bytes) return {};
  auto grown = AlignedBuffer::create(std::max(bytes, buffer.size() + buffer.size() / 2));
  if (!grown) grown = AlignedBuffer::create(bytes);
  if (!grown) return grown.status();
  buffer = std::move(*grown);
  VICINAL_ASSERT(buffer.size() >= bytes);
  return {};
}

// The same, but the contents stay and what is new is zero.
[[nodiscard]] inline Status reserve_keeping(AlignedBuffer& buffer, std::size_t bytes) noexcept {
  if (buffer.size() >= bytes) return {};
  AlignedBuffer grown;
  if (Status status = reserve(grown, std::max(bytes, buffer.size() + buffer.size() / 2));
      !status.ok()) {
    return status;
  }
  if (buffer.size() != 0) std::memcpy(grown.data(), buffer.data(), buffer.size());
  buffer = std::move(grown);
  return {};
}

struct Scratch::Buffers {
  AlignedBuffer prepare;   // the prepared query
  AlignedBuffer rest;      // one rest row and the overread
  AlignedBuffer rows;      // Hit, of TopRows
  AlignedBuffer ids;       // std::uint64_t, the result
  AlignedBuffer scores;    // float, the result
  AlignedBuffer slots;     // segment::Slot, of one query's candidates for re-ranking
  AlignedBuffer masks;     // std::uint32_t by block: the lanes that a filter allows
  AlignedBuffer touched;   // std::uint32_t: blocks whose mask is not 0
  AlignedBuffer deferred;  // DeferredRow
  AlignedBuffer text;      // the strings of a result, one after the other
  AlignedBuffer text_offsets;  // std::uint64_t, one more than there are
  AlignedBuffer decode;    // a packed row and the quantiser's scratch
};

}  // namespace vicinal::search
