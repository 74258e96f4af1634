// A scenario: threads that use the core as its callers do, and checks what they must see. One file
// in scenarios/ each; naming it is enough.
//
// Thread safety: a body runs as the first thread of a simulation and joins what it spawned.
// I1: a scenario passes with every seed, and with some seed it notices each order that is needed.
#pragma once

#include <string_view>
#include <vector>

namespace vicinal::sim {

struct Scenario {
  std::string_view name;
  void (*body)();

  Scenario(std::string_view scenario, void (*run)());
};

// By name.
[[nodiscard]] const std::vector<const Scenario*>& scenarios();

}  // namespace vicinal::sim
