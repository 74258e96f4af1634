// From id to slot: open addressing over 32-bit slots in 64 sub-tables, insert-only. It knows ids by
// their hash: a number's, or that of a string (strings.hpp).
//
// Thread safety: one writer inserts; any reader of a pinned version looks up at the same time.
// I1: an entry is a hint, never a fact: it says that a row with this id may be, have been, or
//     become at that slot. An id that was replaced, or removed and added again, has several
//     entries; a slot that was given up before it was published may have entries of other ids.
// I2: every placement that a version can see was entered, in the sub-table that the version holds,
//     before that version was published; entries are never removed, so a chain that leads to one is
//     never cut. Hence no order is needed on the entries themselves: the version's publication is.
// I3: a reader dereferences a candidate only after its own version says that the segment exists and
//     that the row is below its count; anything else may be newer, and freed under it.
// I4: at most one candidate matches in a version (version.hpp I5), so the first match is the
//     answer.
// I5: a sub-table that is four fifths full, or has a chain longer than kChainMax, is rebuilt as
//     a new object without the entries whose rows are dead in the newest published version; older
//     versions keep the old one.
// I6: the entries of a table are its own, behind the object, or somebody else's (`foreign`): those
//     of a mapped file. Nobody inserts into the latter; a writer that has to makes its own copy.
#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "segment/segment.hpp"
#include "sync/atomic.hpp"
#include "sync/versioned.hpp"

namespace vicinal::segment {

inline constexpr std::uint32_t kSubTableBits = 6;
inline constexpr std::uint32_t kSubTables = 1u << kSubTableBits;
inline constexpr std::uint32_t kSubTableEntriesMin = 16;
// A table at four fifths has chains of a few dozen; one this long is rotten with dead entries of
// an id that is replaced again and again.
inline constexpr std::uint32_t kChainMax = 512;

// `entry_capacity` entries, any count, so that a rebuilt table can be made little
// emptier than one that needs rebuilding, and a row never costs more than 7.3 bytes of table.
struct SubTable : sync::Versioned {
  std::uint32_t entry_capacity = 0;
  std::uint32_t used = 0;           // the writer's count of entries
  std::uint32_t longest_chain = 0;  // the writer's, of its inserts

  using Entry = sync::Atomic<std::uint32_t>;  // slot + 1, 0: free

  Entry* first_entry = nullptr;  // set once, when the table is made
  MemoryOwner* owner = nullptr;  // of foreign entries

  [[nodiscard]] const Entry* entries() const noexcept { return first_entry; }
  [[nodiscard]] Entry* own_entries() noexcept {
    VICINAL_DEBUG_ASSERT(!foreign());
    return first_entry;
  }
  [[nodiscard]] bool foreign() const noexcept { return owner != nullptr; }  // I6

  // Where a hash's chain starts: its low half scaled to the capacity.
  [[nodiscard]] std::uint32_t home(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>((hash & 0xffffffffu) * entry_capacity >> 32);
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t at) const noexcept {
    return at + 1 == entry_capacity ? 0 : at + 1;
  }
  [[nodiscard]] bool wants_rebuild() const noexcept {
    return std::uint64_t{used} * 5 >= std::uint64_t{entry_capacity} * 4;
  }
  [[nodiscard]] bool rotten() const noexcept {
    return longest_chain > kChainMax;
  }

  [[nodiscard]] static constexpr std::size_t bytes_of(std::uint32_t entry_capacity) noexcept {
    return sizeof(SubTable) + entry_capacity * sizeof(Entry);
  }
  // Null without memory.
  [[nodiscard]] static SubTable* create(std::uint32_t entry_capacity) noexcept;
  // Over entries that somebody else has (I6), at least kSubTableEntriesMin, which may be any bytes:
  // hints are not trusted. `used`: how many of them are not 0, a guess. Null without memory: the
  // owner is not told.
  [[nodiscard]] static SubTable* over(const std::uint32_t* entries, std::uint32_t entry_capacity,
                                      std::uint32_t used, MemoryOwner& owner) noexcept;
  // A table of our own with the same entries, counted. Null without memory.
  [[nodiscard]] SubTable* own_copy() const noexcept;

  // By the successor of a writer that died in an insert: counts the entries again.
  void recount() noexcept;

  // The writer's, of a table with entries of its own; there is room (used < entry_capacity).
  void insert(std::uint64_t hash, Slot slot) noexcept;

 private:
  static void destroy_foreign(sync::Versioned* table) noexcept;
};

struct IdRoot : sync::Versioned {
  SubTable* tables[kSubTables] = {};

  [[nodiscard]] static constexpr std::uint64_t hash(std::uint64_t id) noexcept {
    return mix64(id + 0x9e3779b97f4a7c15u);
  }
  [[nodiscard]] static constexpr std::uint32_t table_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> (64 - kSubTableBits));
  }

  // The first candidate that matches(slot, id) accepts, or an invalid slot. At most as many steps
  // as the sub-table has entries.
  template <class Matches>
  [[nodiscard]] Slot find(std::uint64_t id, Matches matches) const noexcept {
    return find_hashed(hash(id), [&](Slot slot) { return matches(slot, id); });
  }
  // The same of the candidates with this hash, for matches(slot).
  template <class Matches>
  [[nodiscard]] Slot find_hashed(std::uint64_t hashed, Matches matches) const noexcept {
    const SubTable* table = tables[table_of(hashed)];
    if (table == nullptr) return {};
    const SubTable::Entry* entries = table->entries();
    std::uint32_t at = table->home(hashed);
    for (std::uint32_t i = 0; i < table->entry_capacity; ++i) {
      const std::uint32_t entry = entries[at].load(sync::relaxed);  // I2
      if (entry == 0) return {};
      const Slot slot{entry - 1};
      if (matches(slot)) return slot;
      at = table->after(at);
    }
    return {};
  }
};

}  // namespace vicinal::segment
