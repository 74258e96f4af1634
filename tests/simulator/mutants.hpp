// One mutant for each order that could be weaker: the core as it is but for that order.
//
// Thread safety: none.
// I1: a mutant dies when some scenario fails with some seed. Its name stays the same as long as its
//     function does; no line number is part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {

struct Mutant {
  std::string name;  // "sync/version_root.hpp narrow store release -> relaxed"
  Mutation mutation;
  std::vector<const Scenario*> scenarios;  // that reach the site
};

// Finds the sites by running every scenario; the same list each time.
[[nodiscard]] const std::vector<Mutant>& mutants();

struct Death {
  const Scenario* scenario;
  std::uint64_t seed;
  std::string text;
};

// The first death with each scenario's share of `seeds`, if it dies.
[[nodiscard]] std::optional<Death> hunt(const Mutant& mutant, std::uint64_t seeds);

[[nodiscard]] const Scenario* scenario_of(std::string_view name);
[[nodiscard]] std::optional<Mutation> mutation_of(std::string_view mutant);
// The schedule and what became of it, a line each.
[[nodiscard]] std::string report(const Outcome& outcome);

}  // namespace vicinal::sim
