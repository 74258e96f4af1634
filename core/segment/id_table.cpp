#include "segment/id_table.hpp"

#include <new>

#include "base/assert.hpp"
#include "sync/object_memory.hpp"

namespace vicinal::segment {

SubTable* SubTable::create(std::uint32_t entry_capacity) noexcept {
  VICINAL_ASSERT(entry_capacity >= kSubTableEntriesMin);
  auto* table = sync::make_object<SubTable>(0, entry_capacity * sizeof(Entry));
  if (table == nullptr) return nullptr;
  table->entry_capacity = entry_capacity;
  for (std::uint32_t i = 0; i < entry_capacity; ++i) new (table->entries() + i) Entry();
  return table;
}

void SubTable::recount() noexcept {
  used = 0;
  for (std::uint32_t i = 0; i < entry_capacity; ++i) {
    if (entries()[i].load(sync::relaxed) != 0) ++used;
  }
}

void SubTable::insert(std::uint64_t hash, Slot slot) noexcept {
  VICINAL_ASSERT(used < entry_capacity);
  VICINAL_ASSERT(slot.valid());
  std::uint32_t at = home(hash);
  std::uint32_t chain = 1;
  for (; entries()[at].load(sync::relaxed) != 0; ++chain) at = after(at);
  entries()[at].store(slot.value + 1, sync::relaxed);  // id_table.hpp I2
  ++used;
  if (chain > longest_chain) longest_chain = chain;
}

}  // namespace vicinal::segment
