// What every object that readers reach through a version has in common.
//
// Thread safety: the writer's; readers never look at these fields.
// I1: an object is reachable from exactly the versions birth <= s < retire; retire == 0 means that
//     it is still part of the newest version.
// I2: an object with birth == the sequence under construction is private to the writer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::sync {

struct Versioned {
  std::uint64_t birth = 0;
  std::uint64_t retire = 0;
  Versioned* next = nullptr;                  // in the reclaimer's list
  void (*destroy)(Versioned*) noexcept = nullptr;
  std::size_t bytes = 0;                      // handed out for it, for the cap and the figures
};

// The head of a version: what readers load.
struct VersionHeader : Versioned {
  std::uint64_t sequence = 0;
};

}  // namespace vicinal::sync
