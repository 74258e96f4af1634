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
  if (ordinal >= end) return {};  // I5
  const std::uint32_t at = chunk_of(ordinal);
  if (at == directory->count) return {};
  const StringDirectory::Entry& found = directory->entries()[at];
  const std::uint32_t entries = entries_of(at);
  const std::uint64_t offset = ordinal - found.first;
  const std::uint32_t* sparse = found.chunk->sparse;
  std::uint64_t entry = offset;
  if (sparse != nullptr) {
    const std::uint32_t* const place = std::lower_bound(sparse, sparse + entries, offset);
    if (place == sparse + entries || *place != offset) return {};
    entry = static_cast<std::uint64_t>(place - sparse);
  }
  if (entry >= entries) return {};
  const auto at_entry = static_cast<std::uint32_t>(entry);
  if (!handle.may_be_of(found.chunk->hash(at_entry))) return {};  // I5
  return {found.chunk, at_entry};
}

StringCursor::StringCursor(const Strings& strings, std::uint64_t from) noexcept
    : strings_(strings), from_(from), at_(strings.chunk_of(from)) {
  if (at_ == strings.directory->count) at_ = 0;  // before the first
}

bool StringCursor::next() noexcept {
  for (; at_ < strings_.directory->count; ++at_, next_entry_ = 0) {
    const StringDirectory::Entry& found = strings_.directory->entries()[at_];
    const std::uint32_t entries = strings_.entries_of(at_);
    const std::uint32_t* sparse = found.chunk->sparse;
    const std::uint64_t before = from_ - std::min(from_, found.first);
    if (next_entry_ == 0 && before != 0) {
      next_entry_ = sparse == nullptr
                        ? static_cast<std::uint32_t>(std::min<std::uint64_t>(before, entries))
                        : static_cast<std::uint32_t>(
                              std::lower_bound(sparse, sparse + entries, before) - sparse);
    }
    if (next_entry_ >= entries) continue;
    chunk_ = found.chunk;
    entry_ = next_entry_++;
    ordinal_ = found.first + (sparse == nullptr ? entry_ : sparse[entry_]);
    return true;
  }
  return false;
}

}  // namespace vicinal::segment
