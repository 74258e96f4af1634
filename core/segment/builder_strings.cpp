// The builder's strings: where a new row's goes, and how the room of dead ones comes back.
//
// A move, in a transaction of its own: the entries of neighbouring chunks whose handles a live row
// of the version carries are copied to one sparse chunk, which takes their place. The id table
// decides what is live (strings.hpp I4): a wrong count costs a look. Rows and handles stay as they
// are; older versions reach the old chunks, which retire like anything that a version replaces.
// A row that a compaction has copied and not shown is live at its old place or dead for ever.
#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/bits.hpp"
#include "segment/builder.hpp"

namespace vicinal::segment {
namespace {

// Strings that one move looks at, at most; no chunk has more.
constexpr std::uint32_t kRunEntriesMax = 16384;
static_assert(kStringChunkBytesMax / sizeof(StringChunk::Record) <= kRunEntriesMax);
// A chunk of no more is joined with its neighbour when one of them is moved.
constexpr std::uint32_t kSmallChunkBytes = kStringChunkBytesMax / 4;
constexpr std::uint64_t kSparseRange = std::uint64_t{1} << 32;

[[nodiscard]] std::uint32_t live_bytes(const Strings& strings, std::uint32_t at) noexcept {
  const StringChunk& chunk = *strings.directory->entries()[at].chunk;
  const std::uint32_t entries = strings.entries_of(at);
  if (entries == 0) return 0;
  const std::uint64_t live = entries - std::min(chunk.dead, entries);
  return static_cast<std::uint32_t>(chunk.used(entries) * live / entries);
}

// The range of ordinals that a chunk over [begin, end) of the directory may have to list.
[[nodiscard]] std::uint64_t range_of(const Strings& strings, std::uint32_t begin,
                                     std::uint32_t end) noexcept {
  const StringDirectory& directory = *strings.directory;
  const std::uint64_t after =
      end == directory.count ? strings.end : directory.entries()[end].first;
  return after - directory.entries()[begin].first;
}

[[nodiscard]] bool is_set(const std::uint64_t* bits, std::uint32_t at) noexcept {
  return (bits[at / 64] >> at % 64 & 1) != 0;
}

}  // namespace

bool VersionBuilder::hash_of_row(std::uint64_t id, std::uint64_t* hash) const noexcept {
  if (ids_ == IdKind::number) {
    *hash = IdRoot::hash(id);
    return true;
  }
  // Of a row that was given up, whose ordinal was given up with it.
  if (Handle{id}.ordinal() >= next_->strings.end) return false;
  const Strings::Place place = next_->strings.find(Handle{id});
  if (place.chunk == nullptr) return false;
  *hash = place.chunk->hash(place.entry);
  return true;
}

StringDirectory* VersionBuilder::mutable_strings(std::uint32_t count) noexcept {
  auto* old = const_cast<StringDirectory*>(next_->strings.directory);
  if (old->birth == sequence_ && old->capacity >= count) return old;
  const std::uint32_t capacity = count > old->capacity ? count + count / 4 : old->capacity;
  auto* fresh = make<StringDirectory>(capacity * sizeof(StringDirectory::Entry));
  if (fresh == nullptr) return nullptr;
  fresh->count = old->count;
  fresh->capacity = capacity;
  fresh->open = old->open;
  std::copy(old->entries(), old->entries() + old->count, fresh->entries());
  next_->strings.directory = fresh;
  discard(old);
  return fresh;
}

bool VersionBuilder::reserve_string(std::size_t bytes) noexcept {
  const Strings& strings = next_->strings;
  const std::size_t wanted = sizeof(StringChunk::Record) + bytes;
  if (strings.end + 1 >= kStringsMax) return false;
  const std::uint32_t count = strings.directory->count;
  if (strings.directory->open) {
    const StringChunk* chunk = strings.directory->entries()[count - 1].chunk;
    if (chunk->used(strings.entries_of(count - 1)) + wanted <= chunk->room) return true;
  }
  std::size_t present = 0;
  for (std::uint32_t i = 0; i < count && present < kStringChunkBytesMax; ++i) {
    present += strings.directory->entries()[i].chunk->room;
  }
  const std::size_t room =
      round_up(std::max(wanted, std::clamp<std::size_t>(present, kStringChunkBytesMin,
                                                        kStringChunkBytesMax)), 8);
  if (!within_budget(sizeof(StringChunk) + room)) return false;
  StringDirectory* directory = mutable_strings(count + 1);
  auto* chunk = directory == nullptr ? nullptr : make<StringChunk>(room);
  if (chunk == nullptr) return false;
  chunk->room = static_cast<std::uint32_t>(room);
  if (directory->open) directory->entries()[count - 1].entries = strings.entries_of(count - 1);
  directory->entries()[count] = {strings.end, chunk, 0};
  directory->count = count + 1;
  directory->open = true;
  return true;
}

std::uint64_t VersionBuilder::put_string(const StringKey& key) noexcept {
  Strings& strings = next_->strings;
  const std::uint32_t at = strings.directory->count - 1;
  VICINAL_ASSERT(strings.directory->open);
  strings.directory->entries()[at].chunk->put(strings.entries_of(at), key);
  ++strings.entries;
  return Handle::of(strings.end++, key.hash).value;
}

void VersionBuilder::rollback_strings(const Savepoint& savepoint) noexcept {
  Strings& strings = next_->strings;
  strings.end = savepoint.string_end;
  strings.entries = savepoint.string_entries;
  if (strings.directory->birth != sequence_) return;  // no chunk was opened
  auto* directory = const_cast<StringDirectory*>(strings.directory);
  std::uint32_t& count = directory->count;
  bool opened = false;
  for (; count > 0; --count) {
    const StringDirectory::Entry& last = directory->entries()[count - 1];
    if (last.first < strings.end || last.chunk->birth != sequence_ || last.chunk->sparse) break;
    discard(last.chunk);
    opened = true;
  }
  if (opened) directory->open = savepoint.string_open && count > 0;
}

void VersionBuilder::drop_strings(StringDirectory* fresh) noexcept {
  Strings& strings = next_->strings;
  for (std::uint32_t i = 0; i < strings.directory->count; ++i) {
    discard(strings.directory->entries()[i].chunk);
  }
  discard(strings.directory);
  strings.directory = fresh;
  strings.entries = 0;
}

void VersionBuilder::count_dead(std::uint64_t handle, int change) noexcept {
  const Strings& strings = next_->strings;
  const std::uint32_t at = strings.chunk_of(Handle{handle}.ordinal());
  if (at == strings.directory->count) return;  // strings.hpp I5
  StringChunk* chunk = strings.directory->entries()[at].chunk;
  chunk->dead = static_cast<std::uint32_t>(static_cast<std::int64_t>(chunk->dead) + change);
  strings_killed_ += change;
}

void VersionBuilder::recount_strings(const Version& version) noexcept {
  const Strings& strings = version.strings;
  if (!strings.any()) return;
  if (strings.directory->count == 0) return;
  const StringDirectory::Entry* const chunks = strings.directory->entries();
  for (std::uint32_t i = 0; i < strings.directory->count; ++i) {
    chunks[i].chunk->dead = strings.entries_of(i);
  }
  std::uint32_t at = 0;
  for (std::uint32_t number = 0; number < version.segment_end; ++number) {
    const SegmentView* view = version.view(number);
    for (std::uint32_t row = 0; view != nullptr && row < view->rows; ++row) {
      if (!view->is_live(row)) continue;
      const std::uint64_t ordinal = Handle{view->segment->ids()[row]}.ordinal();
      const bool same = chunks[at].first <= ordinal &&
                        (at + 1 == strings.directory->count || ordinal < chunks[at + 1].first);
      if (!same) at = strings.chunk_of(ordinal);
      if (at == strings.directory->count) at = 0;  // strings.hpp I5, as what follows
      if (chunks[at].chunk->dead != 0) --chunks[at].chunk->dead;
    }
  }
}

VersionBuilder::StringRun VersionBuilder::find_run(const Strings& strings,
                                                   const StringGoal& goal) noexcept {
  if (!strings.any()) return {};
  const StringDirectory& directory = *strings.directory;
  const auto may_move = [&](std::uint32_t at) {
    const bool is_open = directory.open && at + 1 == directory.count;
    return at < directory.count && (!is_open || goal.open) &&
           directory.entries()[at].chunk->birth <= goal.birth_max;
  };
  const auto is_small = [&](std::uint32_t at) {
    return directory.entries()[at].chunk->room <= kSmallChunkBytes;
  };
  const auto was_moved = [&](std::uint32_t at) {
    return directory.entries()[at].chunk->sparse != nullptr;
  };
  const auto dead_percent = [&](std::uint32_t at) {
    const std::uint64_t entries = std::max(strings.entries_of(at), 1u);
    return directory.entries()[at].chunk->dead * std::uint64_t{100} / entries;
  };
  const auto fits = [&](StringRun run) {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      bytes += live_bytes(strings, i);
      entries += strings.entries_of(i);
    }
    return bytes <= kStringChunkBytesMax && entries <= kRunEntriesMax &&
           range_of(strings, run.begin, run.end) <= kSparseRange;
  };
  for (std::uint32_t at = 0; at < directory.count; ++at) {
    if (!may_move(at)) continue;
    StringRun run{at, at + 1};
    const bool is_dead = directory.entries()[at].chunk->dead != 0 &&
                         dead_percent(at) >= goal.dead_percent;
    const bool joins = is_small(at) && was_moved(at) && may_move(at + 1) && is_small(at + 1) &&
                       was_moved(at + 1) && fits({at, at + 2});
    if (!is_dead && !joins) continue;
    while (may_move(run.end) && fits({run.begin, run.end + 1}) &&
           (is_small(run.end) || dead_percent(run.end) * 2 >= goal.dead_percent)) {
      ++run.end;
    }
    return run;
  }
  return {};
}

bool VersionBuilder::any_strings_to_move(const Version& newest, const StringGoal& goal) noexcept {
  return find_run(newest.strings, goal).end != 0;
}

Result<std::uint32_t> VersionBuilder::move_strings(const StringGoal& goal) noexcept {
  VICINAL_ASSERT(active() && !killed_);
  const Strings& strings = next_->strings;
  const StringRun run = find_run(strings, goal);
  std::uint64_t live[kRunEntriesMax / 64] = {};
  std::uint32_t looked_at = 0;
  std::uint32_t kept = 0;
  std::size_t text_bytes = 0;
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    const StringDirectory::Entry& from = strings.directory->entries()[i];
    const std::uint32_t entries = strings.entries_of(i);
    VICINAL_ASSERT(entries <= kRunEntriesMax - looked_at);
    const std::uint32_t before = kept;
    for (std::uint32_t entry = 0; entry < entries; ++entry, ++looked_at) {
      const std::uint64_t hash = from.chunk->hash(entry);
      const std::uint32_t* sparse = from.chunk->sparse;
      const std::uint64_t ordinal = from.first + (sparse == nullptr ? entry : sparse[entry]);
      if (!next_->find(Handle::of(ordinal, hash), hash).valid()) continue;
      live[looked_at / 64] |= std::uint64_t{1} << looked_at % 64;
      ++kept;
      text_bytes += from.chunk->text(entry).size();
    }
    from.chunk->dead = entries - (kept - before);  // whatever it was
  }
  if (run.end - run.begin < 2 && kept == looked_at) return looked_at;
  if (mutable_strings(strings.directory->count) == nullptr) return full_status();
  StringChunk* chunk = nullptr;
  if (kept != 0) {
    chunk = copy_live(run, live, kept, text_bytes);
    if (chunk == nullptr) return full_status();
  }
  replace_run(run, chunk, kept);
  next_->strings.entries -= looked_at - kept;
  changed_ = true;
  return looked_at;
}

StringChunk* VersionBuilder::make_sparse_chunk(std::uint32_t count,
                                               std::size_t text_bytes) noexcept {
  const std::size_t records = count * sizeof(StringChunk::Record);
  const std::size_t room = round_up(records + text_bytes, 8);
  const std::size_t sparse_bytes = count * sizeof(std::uint32_t);
  if (!within_budget(sizeof(StringChunk) + room + sparse_bytes)) return nullptr;
  auto* chunk = make<StringChunk>(room + sparse_bytes);
  if (chunk == nullptr) return nullptr;
  chunk->room = static_cast<std::uint32_t>(room);
  chunk->sparse = reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(chunk + 1) + room);
  return chunk;
}

StringChunk* VersionBuilder::copy_live(const StringRun& run, const std::uint64_t* live,
                                       std::uint32_t count, std::size_t text_bytes) noexcept {
  const Strings& strings = next_->strings;
  StringChunk* chunk = make_sparse_chunk(count, text_bytes);
  if (chunk == nullptr) return nullptr;
  auto* sparse = const_cast<std::uint32_t*>(chunk->sparse);
  const std::uint64_t first = strings.directory->entries()[run.begin].first;
  std::uint32_t looked_at = 0;
  std::uint32_t to = 0;
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    const StringDirectory::Entry& from = strings.directory->entries()[i];
    const std::uint32_t entries = strings.entries_of(i);
    for (std::uint32_t entry = 0; entry < entries; ++entry, ++looked_at) {
      if (!is_set(live, looked_at)) continue;
      const std::uint32_t* list = from.chunk->sparse;
      const std::uint64_t ordinal = from.first + (list == nullptr ? entry : list[entry]);
      sparse[to] = static_cast<std::uint32_t>(ordinal - first);
      chunk->put(to++, {from.chunk->text(entry), from.chunk->hash(entry)});
    }
  }
  return chunk;
}

// `chunk`: null where no string is left. The directory is private.
void VersionBuilder::replace_run(const StringRun& run, StringChunk* chunk,
                                 std::uint32_t entries) noexcept {
  auto* directory = const_cast<StringDirectory*>(next_->strings.directory);
  StringDirectory::Entry* const all = directory->entries();
  if (run.end == directory->count) directory->open = false;
  for (std::uint32_t i = run.begin; i < run.end; ++i) discard(all[i].chunk);
  std::uint32_t kept = run.begin;
  if (chunk != nullptr) all[kept++] = {all[run.begin].first, chunk, entries};
  std::copy(all + run.end, all + directory->count, all + kept);
  directory->count -= run.end - kept;
}

}  // namespace vicinal::segment
