// The tests, or one scenario with one seed:
//   vicinal_test_simulator --scenario NAME SEED [MUTANT]
// prints its schedule. MUTANT is a line that a failed test printed, in quotes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "simulator/mutants.hpp"

namespace {

int usage() {
  std::fprintf(stderr, "--scenario NAME SEED [MUTANT]; the scenarios are\n");
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

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (count == 1) return RUN_ALL_TESTS();
  if (count < 4 || std::strcmp(arguments[1], "--scenario") != 0) return usage();
  return run_one(arguments[2], std::strtoull(arguments[3], nullptr, 10),
                 count > 4 ? arguments[4] : "");
}
