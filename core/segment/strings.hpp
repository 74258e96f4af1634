// The strings of an index whose ids are strings: where a row's string lies, for one version.
//
// Each string that was ever added has an ordinal, counted from 1 and never given out again. A row
// carries its handle in the place of an id: the ordinal, and below it 16 bits of the string's hash,
// so that handles order rows by age and a look-up in the id table is refused without a look at the
// string. Strings lie in chunks, each of which has the strings of a range of ordinals; a version
// reaches them through its directory. A handle stays its row's for ever, wherever the row is moved,
// so that compactions change no result; chunks are moved apart from rows (builder_strings.cpp).
//
// Thread safety: as version.hpp. The writer fills the open chunk behind what published versions
// show of it, which shares no byte with it.
// I1: chunks stand in ascending order of `first`; the ranges of two do not overlap.
// I2: of ordinals below its `end` a version has those of its live rows; one whose row is dead may
//     be gone. Nothing at or past `end` is read.
// I3: a chunk is dense (it has every ordinal from `first` on) or sparse (it lists those that it
//     has). Only the last one may be open, and an open one is dense: what it shows ends at `end`.
// I4: `dead` is the writer's: entries whose string no live row of the version under construction
//     has. It decides what is worth moving; what is moved, the id table decides.
// I5: what rows of a file carry is hostile until it is looked up (`find`): the handle of a live row
//     that has no string here is damage, and said where it is met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.hpp"
#include "sync/versioned.hpp"
#include "vicinal/types.hpp"

namespace vicinal::segment {

inline constexpr std::uint32_t kStringChunkBytesMin = 4096;
inline constexpr std::uint32_t kStringChunkBytesMax = std::uint32_t{128} << 10;
inline constexpr std::uint32_t kHandleHashBits = 16;
inline constexpr std::uint64_t kStringsMax = std::uint64_t{1} << (64 - kHandleHashBits);

// What a string is looked up by.
struct StringKey {
  std::string_view text;
  std::uint64_t hash = 0;

  [[nodiscard]] static StringKey of(std::string_view text) noexcept;
};

struct Handle {
  std::uint64_t value = 0;

  [[nodiscard]] static constexpr Handle of(std::uint64_t ordinal, std::uint64_t hash) noexcept {
    return {ordinal << kHandleHashBits | hash >> (64 - kHandleHashBits)};
  }
  [[nodiscard]] constexpr std::uint64_t ordinal() const noexcept {
    return value >> kHandleHashBits;
  }
  // False: another string's.
  [[nodiscard]] constexpr bool may_be_of(std::uint64_t hash) const noexcept {
    return (value & ((1u << kHandleHashBits) - 1)) == hash >> (64 - kHandleHashBits);
  }
};

// Records lie behind the head, in order; texts before the end, the first one last.
struct StringChunk : sync::Versioned {
  struct Record {
    std::uint32_t hash_low;
    std::uint32_t hash_high;
    std::uint32_t end;  // of the text and all before it, counted from the chunk's end
  };
  static_assert(sizeof(Record) == 12);

  std::uint32_t room = 0;  // bytes behind the head
  std::uint32_t dead = 0;  // I4
  const std::uint32_t* sparse = nullptr;  // ordinals less the chunk's first, ascending; null: dense

  [[nodiscard]] const Record* records() const noexcept {
    return reinterpret_cast<const Record*>(this + 1);
  }
  [[nodiscard]] Record* records() noexcept { return reinterpret_cast<Record*>(this + 1); }
  [[nodiscard]] std::string_view text(std::uint32_t entry) const noexcept {
    const std::uint32_t end = records()[entry].end;
    const std::uint32_t begin = text_bytes(entry);
    return {reinterpret_cast<const char*>(this + 1) + (room - end), end - begin};
  }
  [[nodiscard]] std::uint64_t hash(std::uint32_t entry) const noexcept {
    const Record& record = records()[entry];
    return std::uint64_t{record.hash_high} << 32 | record.hash_low;
  }
  // Of the texts of the first `entries`.
  [[nodiscard]] std::uint32_t text_bytes(std::uint32_t entries) const noexcept {
    return entries == 0 ? 0 : records()[entries - 1].end;
  }
  // What the first `entries` take of the room of a dense chunk.
  [[nodiscard]] std::size_t used(std::uint32_t entries) const noexcept {
    return entries * sizeof(Record) + text_bytes(entries);
  }
  // The writer's: there is room.
  void put(std::uint32_t entry, const StringKey& key) noexcept;
};

struct StringDirectory : sync::Versioned {
  struct Entry {
    std::uint64_t first = 0;  // ordinal
    StringChunk* chunk = nullptr;
    std::uint32_t entries = 0;  // of one that is not open
  };
  std::uint32_t count = 0;
  std::uint32_t capacity = 0;
  bool open = false;  // the last one takes strings

  [[nodiscard]] const Entry* entries() const noexcept {
    return reinterpret_cast<const Entry*>(this + 1);
  }
  [[nodiscard]] Entry* entries() noexcept { return reinterpret_cast<Entry*>(this + 1); }
};

// What a version shows of the strings.
struct Strings {
  const StringDirectory* directory = nullptr;  // null: ids are numbers
  std::uint64_t end = 1;                       // one past the newest ordinal
  std::uint64_t entries = 0;                   // of all chunks

  struct Place {
    const StringChunk* chunk = nullptr;  // null: the string is gone
    std::uint32_t entry = 0;
  };

  [[nodiscard]] bool any() const noexcept { return directory != nullptr; }
  [[nodiscard]] std::uint32_t entries_of(std::uint32_t chunk) const noexcept {
    const StringDirectory::Entry& entry = directory->entries()[chunk];
    const bool is_open = directory->open && chunk + 1 == directory->count;
    return is_open ? static_cast<std::uint32_t>(end - entry.first) : entry.entries;
  }
  // Logarithmic in the number of chunks. Of any handle: one of another hash than the string's has
  // none.
  [[nodiscard]] Place find(Handle handle) const noexcept;
  // The chunk whose range has the ordinal, if any has: its place in the directory, else `count`.
  [[nodiscard]] std::uint32_t chunk_of(std::uint64_t ordinal) const noexcept;
  // Of a row that is live here, in an index that never was in a file.
  [[nodiscard]] std::string_view text(Handle handle) const noexcept {
    const Place place = find(handle);
    VICINAL_ASSERT(place.chunk != nullptr);  // I2
    return place.chunk->text(place.entry);
  }
};

// The strings of a version from an ordinal on, in ascending order.
class StringCursor {
 public:
  StringCursor(const Strings& strings, std::uint64_t from) noexcept;

  // False: there is no more; else the members below are those of the next one.
  [[nodiscard]] bool next() noexcept;
  [[nodiscard]] std::uint64_t ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] std::string_view text() const noexcept { return chunk_->text(entry_); }
  [[nodiscard]] std::uint64_t hash() const noexcept { return chunk_->hash(entry_); }

 private:
  const Strings& strings_;
  std::uint64_t from_;
  std::uint32_t at_;              // of the chunk
  std::uint32_t next_entry_ = 0;  // in it
  const StringChunk* chunk_ = nullptr;
  std::uint32_t entry_ = 0;
  std::uint64_t ordinal_ = 0;
};

}  // namespace vicinal::segment
