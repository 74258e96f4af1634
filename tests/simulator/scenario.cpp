#include "simulator/scenario.hpp"

#include <algorithm>

namespace vicinal::sim {
namespace {

std::vector<const Scenario*>& registered() {
  static std::vector<const Scenario*> all;
  return all;
}

}  // namespace

Scenario::Scenario(std::string_view scenario, void (*run)(), std::uint64_t times)
    : name(scenario), body(run), cost(times) {
  auto& all = registered();
  const auto after = [](const Scenario* one, const Scenario* other) {
    return one->name < other->name;
  };
  all.insert(std::upper_bound(all.begin(), all.end(), this, after), this);
}

const std::vector<const Scenario*>& scenarios() { return registered(); }

}  // namespace vicinal::sim
