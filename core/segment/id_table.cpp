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
  auto* entries = reinterpret_cast<Entry*>(table + 1);
  for (std::uint32_t i = 0; i < entry_capacity; ++i) new (entries + i) Entry();
  table->first_entry = entries;
  return table;
}

SubTable* SubTable::over(const std::uint32_t* entries, std::uint32_t entry_capacity,
                         std::uint32_t used, MemoryOwner& owner) noexcept {
  static_assert(sizeof(Entry) == sizeof *entries && alignof(Entry) == alignof(std::uint32_t));
  VICINAL_ASSERT(entries != nullptr && entry_capacity >= kSubTableEntriesMin);
  auto* table = sync::make_object<SubTable>(0);
  if (table == nullptr) return nullptr;
  table->entry_capacity = entry_capacity;
  table->used = used;
  // Never written through: I6.
  table->first_entry = const_cast<Entry*>(reinterpret_cast<const Entry*>(entries));
  table->owner = &owner;
  table->destroy = destroy_foreign;
  return table;
}

void SubTable::destroy_foreign(sync::Versioned* object) noexcept {
  MemoryOwner* owner = static_cast<SubTable*>(object)->owner;
  sync::release_object(object);
  owner->leave(owner);
}

SubTable* SubTable::own_copy() const noexcept {
  SubTable* table = create(entry_capacity);
  if (table == nullptr) return nullptr;
  Entry* to = table->own_entries();
  for (std::uint32_t i = 0; i < entry_capacity; ++i) {
    to[i].store(entries()[i].load(sync::relaxed), sync::relaxed);  // id_table.hpp I2
  }
  table->recount();
  return table;
}

void SubTable::recount() noexcept {
  used = 0;
  for (std::uint32_t i = 0; i < entry_capacity; ++i) {
    if (entries()[i].load(sync::relaxed) != 0) ++used;
  }
}

void SubTable::insert(std::uint64_t hash, Slot slot) noexcept {
  VICINAL_ASSERT(used < entry_capacity && !foreign());
  VICINAL_ASSERT(slot.valid());
  std::uint32_t at = home(hash);
  std::uint32_t chain = 1;
  for (; entries()[at].load(sync::relaxed) != 0; ++chain) at = after(at);
  own_entries()[at].store(slot.value + 1, sync::relaxed);  // id_table.hpp I2
  ++used;
  if (chain > longest_chain) longest_chain = chain;
}

}  // namespace vicinal::segment
