#include "segment/strings.hpp"

#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"

namespace vicinal::segment {

StringKey StringKey::of(std::string_view text) noexcept {
  return {text, checksum64(text.data(), text.size())};
}

void StringChunk::put(std::uint32_t entry, const StringKey& key) noexcept {
  const auto end = static_cast<std::uint32_t>(text_bytes(entry) + key.text.size());
  VICINAL_ASSERT((entry + 1) * sizeof(Record) + end <= room);
  records()[entry] = {static_cast<std::uint32_t>(key.hash),
                      static_cast<std::uint32_t>(key.hash >> 32), end};
  if (key.text.empty()) return;
  std::memcpy(reinterpret_cast<char*>(this + 1) + (room - end), key.text.data(), key.text.size());
}

std::uint32_t Strings::chunk_of(std::uint64_t ordinal) const noexcept {
  const StringDirectory::Entry* const begin = directory->entries();
  const StringDirectory::Entry* const after = std::upper_bound(
      begin, begin + directory->count, ordinal,
      [](std::uint64_t wanted, const StringDirectory::Entry& entry) {
        return wanted < entry.first;
      });
  return after == begin ? directory->count : static_cast<std::uint32_t>(after - begin) - 1;
}

Strings::Place Strings::find(Handle handle) const noexcept {
  const std::uint64_t ordinal = handle.ordinal();
  VICINAL_ASSERT(ordinal < end);  // I2
  const std::uint32_t at = chunk_of(ordinal);
  if (at == directory->count) return {};
  const StringDirectory::Entry& found = directory->entries()[at];
  const std::uint32_t entries = entries_of(at);
  const std::uint64_t offset = ordinal - found.first;
  const std::uint32_t* sparse = found.chunk->sparse;
  if (sparse == nullptr) {
    if (offset >= entries) return {};
    return {found.chunk, static_cast<std::uint32_t>(offset)};
  }
  const std::uint32_t* const place = std::lower_bound(sparse, sparse + entries, offset);
  if (place == sparse + entries || *place != offset) return {};
  return {found.chunk, static_cast<std::uint32_t>(place - sparse)};
}

}  // namespace vicinal::segment
