// A scenario: threads that use the core as its callers do, and checks what they must see. One file
// in scenarios/ each; naming it is enough.
//
// Thread safety: a body runs as the first thread of a simulation and joins what it spawned.
// I1: a scenario passes with every seed, and with some seed it notices each order that is needed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vicinal::sim {

struct Scenario {
  std::string_view name;
  void (*body)();
  std::uint64_t cost;  // one that takes so many times longer runs with as many times fewer seeds

  Scenario(std::string_view scenario, void (*run)(), std::uint64_t times = 1);
  [[nodiscard]] std::uint64_t share(std::uint64_t seeds) const noexcept { return seeds / cost; }
};

// By name.
[[nodiscard]] const std::vector<const Scenario*>& scenarios();

}  // namespace vicinal::sim
