// What every object that readers reach through a version has in common.
//
// Thread safety: the writer's; readers never look at these fields.
// I1: an object is reachable from exactly the versions birth <= s < retire; retire == 0 means that
//     it is still part of the newest version. After a writer's death that may be untrue until it
//     was mended (Reclaimer::recover, VersionBuilder::recover).
// I2: an object with birth == the sequence under construction is private to the writer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"

namespace vicinal::sync {

struct Versioned {
  Versioned() = default;
  // A copy is in no list.
  Versioned(const Versioned& other) noexcept
      : birth(other.birth), retire(other.retire), destroy(other.destroy), bytes(other.bytes) {}
  Versioned& operator=(const Versioned&) = delete;

  std::uint64_t birth = 0;
  std::uint64_t retire = 0;
  // In the reclaimer's list, which a writer's successor walks, or in a builder's.
  Atomic<Versioned*> next;
  void (*destroy)(Versioned*) noexcept = nullptr;
  std::size_t bytes = 0;                      // handed out for it, for the cap and the figures
};

// The head of a version: what readers load.
struct VersionHeader : Versioned {
  std::uint64_t sequence = 0;
};

}  // namespace vicinal::sync
