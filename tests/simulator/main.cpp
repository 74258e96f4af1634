// The tests, or one scenario with one seed:
//   vicinal_test_simulator --scenario NAME SEED [MUTANT]
// prints its schedule. MUTANT is a line that a failed test printed, in quotes. Or
//   vicinal_test_simulator --mutants SEEDS
// prints every mutant and what notices it first.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "simulator/mutants.hpp"

namespace {

int usage() {
  std::fprintf(stderr, "--mutants SEEDS, or --scenario NAME SEED [MUTANT]; the scenarios are\n");
  for (const auto* scenario : vicinal::sim::scenarios()) {
    std::fprintf(stderr, "  %s\n", std::string(scenario->name).c_str());
  }
  return 2;
}

int run_one(const std::string& name, std::uint64_t seed, const std::string& mutant) {
  const auto* scenario = vicinal::sim::scenario_of(name);
  if (scenario == nullptr) return usage();
  const auto mutation = vicinal::sim::mutation_of(mutant);
  if (!mutant.empty() && !mutation) {
    std::fprintf(stderr, "no such mutant: %s\n", mutant.c_str());
    return 2;
  }
  const auto outcome = vicinal::sim::run(
      {.body = scenario->body, .seed = seed, .mutation = mutation, .with_schedule = true});
  std::printf("%s", vicinal::sim::report(outcome).c_str());
  return outcome.failed ? 1 : 0;
}

int list_mutants(std::uint64_t seeds) {
  for (const auto& mutant : vicinal::sim::mutants()) {
    const auto death = vicinal::sim::hunt(mutant, seeds);
    std::printf("%s: ", mutant.name.c_str());
    if (death) {
      std::printf("%s, seed %llu, %s\n", std::string(death->scenario->name).c_str(),
                  static_cast<unsigned long long>(death->seed), death->text.c_str());
    } else {
      std::printf("survives\n");
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count == 1) return RUN_ALL_TESTS();
  if (count == 3 && std::strcmp(arguments[1], "--mutants") == 0) {
    return list_mutants(std::strtoull(arguments[2], nullptr, 10));
  }
  if (count < 4 || std::strcmp(arguments[1], "--scenario") != 0) return usage();
  return run_one(arguments[2], std::strtoull(arguments[3], nullptr, 10),
                 count > 4 ? arguments[4] : "");
}
