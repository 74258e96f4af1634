// Who is attached to the memory, and what a realm that was ended had of its indexes.
//
// Every realm has a record, claimed from JavaScript. All that a realm opens of an index hangs on
// one reference, its membership, which its record lists. So whoever has proof of the realm's death
// ends its claims without a look at any object that it may have been changing.
//
// Thread safety: a record's fields and memberships belong to the realm that claimed it; after
// its death to the one who exchanged its `life` for -1 (buried), with the proof.
// I1: the list is changed by single stores: a membership enters it whole, and leaves it before it
//     is destroyed. A realm that dies beside the list, or in the destruction of an index, loses the
//     reference at hand: memory, which nobody frees twice.
// I2: a realm that dies in vic_index_pump may have been changing the index. It is a member while it
//     pumps, so that its burial frees the writer's role; whoever has the role next mends what it
//     left (core/sync/writer_token.hpp).
// I3: a record is not claimed again before its slots were retired.
#pragma once

#include <memory>
#include <optional>

#include "exports.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal::wasm {

// Of which the first stands for all where realms have no number: the thread-less build.
inline constexpr std::uint32_t kRealms = 1025;

// An index's handle. `index` and `queue` are the owning thread's; `weak` is anybody's.
struct IndexHandle {
  std::optional<Index> index;
  std::optional<WriteQueue> queue;
  WeakIndex weak;
  const void* doorbell = nullptr;
};

// A realm's one reference to an index, kept by what it opened there.
struct Membership : std::enable_shared_from_this<Membership> {
  explicit Membership(IndexHandle* of, Index owner) noexcept
      : handle(of), index(std::move(owner)) {}
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership();

  // The index, for what is opened in it.
  [[nodiscard]] Index through() { return index->through(shared_from_this()); }

  IndexHandle* handle;
  std::optional<Index> index;  // none once the realm was buried
  Membership* next = nullptr;
};

struct RealmRecord {
  std::uint32_t life;    // 0: free, -1: buried, else a number that no other realm had; JavaScript's
  std::uint32_t thread;  // Node: the thread's number plus 1; JavaScript's
  vic_address area;      // stack and TLS
  Membership* first;
};
static_assert(sizeof(RealmRecord) == 16);

// The calling realm's record, by its number.
[[nodiscard]] std::uint32_t own_realm() noexcept;

// Enters the calling realm's list; the destructor leaves it. For one without a shared owner, as
// that of a pump, which must not need memory when there is none: it lies on the stack.
void enlist(Membership& member) noexcept;

// The calling realm's membership, made if it has none. CLOSED, FULL.
[[nodiscard]] Result<std::shared_ptr<Membership>> join(IndexHandle* handle) noexcept;

}  // namespace vicinal::wasm
