// The strings of a replay: what a file says of an index whose ids are strings.
//
// Those that go on where the newest ones end are put behind them, as a writer would; a long list,
// or one behind a gap, becomes a chunk of its own.
#include "base/assert.hpp"
#include "segment/replay.hpp"

namespace vicinal::segment {
namespace {

static_assert(storage::kFileOrdinalsMax == kStringsMax);

// A list of no more is put behind the newest strings.
constexpr std::size_t kPutBytesMax = 4096;

}  // namespace

Status Replay::add_strings(const storage::StringsView& list, std::uint64_t known_end) noexcept {
  VICINAL_ASSERT(next().strings.any());
  std::uint32_t from = 0;
  while (from < list.size() && list.ordinal(from) < known_end) ++from;
  if (from == list.size()) return {};
  if (list.ordinal(from) < next().strings.end) return Status(Code::corrupt);
  std::size_t text_bytes = 0;
  for (std::uint32_t i = from; i < list.size(); ++i) text_bytes += list.text(i).size();
  builder_.changed_ = true;
  const std::uint32_t count = list.size() - from;
  const bool goes_on = list.last() - next().strings.end + 1 == count;
  const std::size_t bytes = text_bytes + count * sizeof(StringChunk::Record);
  return goes_on && bytes <= kPutBytesMax ? put_strings(list, from)
                                          : add_chunk(list, from, text_bytes);
}

Status Replay::put_strings(const storage::StringsView& list, std::uint32_t from) noexcept {
  for (std::uint32_t i = from; i < list.size(); ++i) {
    const StringKey key = StringKey::of(list.text(i));
    if (list.ordinal(i) + 2 > kStringsMax) return Status(Code::corrupt);  // no more than a writer
    if (!builder_.reserve_string(key.text.size())) return builder_.full_status();
    (void)builder_.put_string(key);
  }
  return {};
}

// The chunk that took strings takes no more, and there is room for so many chunks.
bool Replay::close_chunk(std::uint32_t capacity) noexcept {
  StringDirectory* directory = builder_.mutable_strings(capacity);
  if (directory == nullptr) return false;
  if (!directory->open) return true;
  const std::uint32_t last = directory->count - 1;
  directory->entries()[last].entries = next().strings.entries_of(last);
  directory->open = false;
  return true;
}

Status Replay::add_chunk(const storage::StringsView& list, std::uint32_t from,
                         std::size_t text_bytes) noexcept {
  Strings& strings = next().strings;
  const std::uint32_t count = list.size() - from;
  if (!close_chunk(strings.directory->count + 1)) return builder_.full_status();
  StringChunk* chunk = builder_.make_sparse_chunk(count, text_bytes);
  if (chunk == nullptr) return builder_.full_status();
  const std::uint64_t first = list.ordinal(from);
  auto* ordinals = const_cast<std::uint32_t*>(chunk->sparse);
  for (std::uint32_t i = 0; i < count; ++i) {
    ordinals[i] = static_cast<std::uint32_t>(list.ordinal(from + i) - first);
    chunk->put(i, StringKey::of(list.text(from + i)));
  }
  auto* directory = const_cast<StringDirectory*>(strings.directory);
  directory->entries()[directory->count++] = {first, chunk, count};
  strings.entries += count;
  strings.end = list.last() + 1;
  return {};
}

Status Replay::end_strings(std::uint64_t end) noexcept {
  Strings& strings = next().strings;
  if (end < strings.end || end > kStringsMax) return Status(Code::corrupt);
  if (end == strings.end) return {};
  // What a chunk that takes strings has would go as far as the end.
  if (strings.directory->open && !close_chunk(strings.directory->count)) {
    return builder_.full_status();
  }
  strings.end = end;
  builder_.changed_ = true;
  return {};
}

// As if there never were any.
Status Replay::forget_strings() noexcept {
  auto* fresh = builder_.make<StringDirectory>();
  if (fresh == nullptr) return builder_.full_status();
  builder_.drop_strings(fresh);
  next().strings.end = 1;
  return {};
}

}  // namespace vicinal::segment
