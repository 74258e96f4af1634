#include "realms.hpp"

#include <cstdlib>
#include <new>

#define VIC_EXPORT(name) __attribute__((export_name(#name), used))

extern "C" void vicinal_set_realm(std::uint32_t realm);  // core/platform/realm.hpp

namespace vicinal::wasm {
namespace {

alignas(64) RealmRecord realms[kRealms];
alignas(64) std::uint32_t lives;  // JavaScript's: numbers given to realms so far

thread_local std::uint32_t own = 0;

// Memory that was had before, since a shared_ptr cannot say that there is none.
template <class T>
struct RoomAllocator {
  using value_type = T;
  explicit RoomAllocator(void* memory) noexcept : room(memory) {}
  template <class Other>
  explicit RoomAllocator(const RoomAllocator<Other>& other) noexcept : room(other.room) {}
  T* allocate(std::size_t) noexcept { return static_cast<T*>(room); }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  template <class Other>
  bool operator==(const RoomAllocator<Other>& other) const noexcept { return room == other.room; }
  template <class Other>
  bool operator!=(const RoomAllocator<Other>& other) const noexcept { return room != other.room; }
  void* room;
};
constexpr std::size_t kRoomBytes = 64;

}  // namespace

Membership::~Membership() {
  Membership** link = &realms[own].first;
  while (*link != nullptr && *link != this) link = &(*link)->next;
  if (*link == this) *link = next;  // I1: before the reference goes
}

std::uint32_t own_realm() noexcept { return own; }

void enlist(Membership& member) noexcept {
  member.next = realms[own].first;
  realms[own].first = &member;
}

Result<std::shared_ptr<Membership>> join(IndexHandle* handle) noexcept {
  for (Membership* known = realms[own].first; known != nullptr; known = known->next) {
    if (known->handle == handle) return known->shared_from_this();
  }
  auto index = handle->weak.lock();
  if (!index.ok()) return index.status();
  void* room = std::malloc(kRoomBytes);
  auto* fresh = room == nullptr
                    ? nullptr
                    : new (std::nothrow) Membership(handle, std::move(index).value());
  if (fresh == nullptr) {
    std::free(room);
    return Status(Code::full, sizeof(Membership));
  }
  std::shared_ptr<Membership> made(fresh, std::default_delete<Membership>(),
                                   RoomAllocator<Membership>(room));
  enlist(*fresh);
  return made;
}

}  // namespace vicinal::wasm

using namespace vicinal::wasm;

extern "C" {

VIC_EXPORT(vic_realms) vic_address vic_realms() { return reinterpret_cast<vic_address>(realms); }
VIC_EXPORT(vic_realm_count) std::uint32_t vic_realm_count() { return kRealms; }
VIC_EXPORT(vic_realm_lives) vic_address vic_realm_lives() {
  return reinterpret_cast<vic_address>(&lives);
}

VIC_EXPORT(vic_realm_enter) void vic_realm_enter(std::uint32_t realm, vic_address area) {
  own = realm;
  vicinal_set_realm(realm);
  realms[realm].area = area;
  realms[realm].first = nullptr;
}

VIC_EXPORT(vic_realm_leave) std::uint32_t vic_realm_leave() {
  return realms[own].first == nullptr ? 1 : 0;
}

VIC_EXPORT(vic_realm_bury) void vic_realm_bury(std::uint32_t realm, std::uint32_t reuse) {
  RealmRecord& dead = realms[realm];
  for (Membership* left = dead.first; left != nullptr; left = left->next) {
    left->index->bury(realm, reuse != 0);
    left->index.reset();
  }
  dead.first = nullptr;
  if (reuse != 0) std::free(reinterpret_cast<void*>(dead.area));
  dead.area = 0;
}

}  // extern "C"
