#include "simulator/mutants.hpp"

#include <algorithm>

namespace vicinal::sim {
namespace {

constexpr std::uint64_t kSurveySeeds = 40;

std::vector<Mutant> make_mutants() {
  std::vector<std::vector<const Scenario*>> reaching;  // by site
  for (const Scenario* scenario : scenarios()) {
    sites().forget_reached();
    for (std::uint64_t seed = 1; seed <= kSurveySeeds; ++seed) {
      (void)run({.body = scenario->body, .seed = seed});
    }
    reaching.resize(sites().all().size());
    for (std::uint32_t site = 0; site < reaching.size(); ++site) {
      if (sites().reached(site)) reaching[site].push_back(scenario);
    }
  }
  std::vector<Mutant> all;
  for (std::uint32_t number = 0; number < reaching.size(); ++number) {
    const Site& site = sites().all()[number];
    for (const Orders& orders : weaker(site)) {
      all.push_back({title(number) + " -> " + text_of(site.kind, orders),
                     {number, orders},
                     reaching[number]});
    }
  }
  return all;
}

}  // namespace

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = make_mutants();
  return all;
}

std::optional<Death> hunt(const Mutant& mutant, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const Scenario* scenario : mutant.scenarios) {
      if (seed > scenario->share(seeds)) continue;
      Outcome outcome =
          run({.body = scenario->body, .seed = seed, .mutation = mutant.mutation});
      if (outcome.failed) return Death{scenario, seed, std::move(outcome.text)};
    }
  }
  return std::nullopt;
}

const Scenario* scenario_of(std::string_view name) {
  const auto& all = scenarios();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Scenario* scenario) {
    return scenario->name == name;
  });
  return found == all.end() ? nullptr : *found;
}

std::optional<Mutation> mutation_of(std::string_view name) {
  for (const Mutant& mutant : mutants()) {
    if (mutant.name == name) return mutant.mutation;
  }
  return std::nullopt;
}

std::string report(const Outcome& outcome) {
  std::string text;
  for (const std::string& line : outcome.schedule) text += line + "\n";
  return text + (outcome.failed ? "failed: " + outcome.text : "passed") + "\n";
}

}  // namespace vicinal::sim
