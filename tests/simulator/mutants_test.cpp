// Every scenario passes with every seed as the core is written, and fails with some seed when one
// order is weaker than written: one mutant for each order, found by running the scenarios.
#include "simulator/mutants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "simulator/survivors.hpp"
#include "support/test_scale.hpp"

namespace vicinal::sim {
namespace {

constexpr std::uint64_t kSeeds = 2'000;

// The run again, with its schedule and how to have it once more.
std::string told(const Scenario& scenario, std::uint64_t seed, const Mutant* mutant) {
  const auto mutation = mutant == nullptr ? std::nullopt : std::optional(mutant->mutation);
  const Outcome outcome =
      run({.body = scenario.body, .seed = seed, .mutation = mutation, .with_schedule = true});
  return report(outcome) + "--scenario " + std::string(scenario.name) + " " +
         std::to_string(seed) + (mutant == nullptr ? "" : " '" + mutant->name + "'");
}

const Survivor* survivor(const Mutant& mutant) {
  const auto* found = std::find_if(std::begin(kSurvivors), std::end(kSurvivors),
                                   [&](const Survivor& one) { return one.mutant == mutant.name; });
  return found == std::end(kSurvivors) ? nullptr : found;
}

class ScenarioTest : public testing::TestWithParam<const Scenario*> {};

TEST_P(ScenarioTest, PassesWithEverySeed) {
  const Scenario& scenario = *GetParam();
  for (std::uint64_t seed = 1; seed <= scenario.share(test::scaled(kSeeds)); ++seed) {
    const Outcome outcome = run({.body = scenario.body, .seed = seed});
    ASSERT_FALSE(outcome.failed) << told(scenario, seed, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ScenarioTest, testing::ValuesIn(scenarios()),
                         [](const auto& one) { return std::string(one.param->name); });

// A file's mutants are a test of their own, so that they run beside the others.
constexpr const char* kFiles[] = {
    "cache/buffer_header.hpp", "cache/page_table.hpp", "cache/readings.hpp",
    "engine/compaction.cpp", "engine/core.cpp",       "engine/core.hpp",
    "engine/in_hand.cpp",    "engine/recovery.cpp",   "engine/stats.cpp",
    "engine/writer.cpp",     "search/help_job.cpp",   "search/help_pool.cpp",
    "segment/builder.hpp",   "sync/event.hpp",        "sync/help_jobs.cpp",
    "sync/help_jobs.hpp",    "sync/live_page.hpp",    "sync/message_ring.hpp",
    "sync/reader_slots.cpp", "sync/reader_slots.hpp", "sync/reclaimer.cpp",
    "sync/short_lock.hpp",
    "sync/slot_claims.hpp",  "sync/use_mark.hpp",     "sync/version_root.hpp",
    "sync/writer_token.hpp",
};

class MutantTest : public testing::TestWithParam<const char*> {};

TEST_P(MutantTest, DiesUnlessItsReasonToSurviveIsGiven) {
  std::uint32_t count = 0;
  for (const Mutant& mutant : mutants()) {
    if (sites().all()[mutant.mutation.site].file != GetParam()) continue;
    ++count;
    const auto death = hunt(mutant, test::scaled(kSeeds));
    const Survivor* survives = survivor(mutant);
    EXPECT_TRUE(death || survives != nullptr) << "nobody notices " << mutant.name;
    if (death && survives != nullptr) {
      ADD_FAILURE() << "this does not hold: " << survives->reason << "\n"
                    << told(*death->scenario, death->seed, &mutant);
    }
  }
  EXPECT_GT(count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, MutantTest, testing::ValuesIn(kFiles), [](const auto& one) {
  std::string name(one.param);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return name;
});

TEST(MutantListTest, HasEveryFileThatOrdersSomething) {
  for (const Mutant& mutant : mutants()) {
    const std::string& file = sites().all()[mutant.mutation.site].file;
    EXPECT_NE(std::find(std::begin(kFiles), std::end(kFiles), file), std::end(kFiles)) << file;
  }
}

TEST(MutantListTest, HasEverySurvivor) {
  for (const Survivor& one : kSurvivors) {
    EXPECT_TRUE(std::any_of(mutants().begin(), mutants().end(), [&](const Mutant& mutant) {
      return mutant.name == one.mutant;
    })) << "no such mutant: "
        << one.mutant;
  }
}

TEST(MutantListTest, HasEachNameOnce) {
  std::vector<std::string> names;
  for (const Mutant& mutant : mutants()) names.push_back(mutant.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(MutantListTest, ADeathIsTheSameWhenItIsRunAgain) {
  const auto mutant = std::find_if(mutants().begin(), mutants().end(), [](const Mutant& one) {
    return one.name == "sync/version_root.hpp narrow store release -> relaxed";
  });
  ASSERT_NE(mutant, mutants().end());
  EXPECT_EQ(mutation_of(mutant->name)->site, mutant->mutation.site);
  const auto death = hunt(*mutant, kSeeds);
  ASSERT_TRUE(death);
  const Request request{.body = death->scenario->body,
                        .seed = death->seed,
                        .mutation = mutant->mutation,
                        .with_schedule = true};
  const Outcome again = run(request);
  EXPECT_EQ(again.text, death->text);
  EXPECT_EQ(again.schedule, run(request).schedule);
}

// The lines of a file that name an order stronger than relaxed as the last argument of a call.
std::vector<std::uint32_t> ordering_lines(const std::filesystem::path& file) {
  const std::regex order(R"(\b(acquire|release|acq_rel|seq_cst)\))");
  std::vector<std::uint32_t> lines;
  std::ifstream text(file);
  std::string line;
  for (std::uint32_t number = 1; std::getline(text, line); ++number) {
    line.resize(std::min(line.find("//"), line.size()));
    if (std::regex_search(line, order)) lines.push_back(number);
  }
  return lines;
}

bool has_site(const std::string& file, std::uint32_t line) {
  const auto& all = sites().all();
  return std::any_of(all.begin(), all.end(), [&](const Site& site) {
    return site.file == file && site.line <= line && line < site.line + 3;
  });
}

TEST(MutantListTest, HasEveryOrderInTheSource) {
  (void)mutants();  // runs the scenarios
  const std::filesystem::path core(VICINAL_CORE_FOLDER);
  std::uint32_t count = 0;
  for (const std::filesystem::path folder :
       {"sync", "cache", "storage", "segment", "search", "engine"}) {
    for (const auto& entry : std::filesystem::directory_iterator(core / folder)) {
      const std::string name = (folder / entry.path().filename()).generic_string();
      if (name.starts_with("sync/atomic")) continue;  // those are what an Atomic is
      for (const std::uint32_t line : ordering_lines(entry.path())) {
        ++count;
        EXPECT_TRUE(has_site(name, line)) << "no scenario reaches core/" << name << ":" << line;
      }
    }
  }
  EXPECT_GT(count, 20u);
}

}  // namespace
}  // namespace vicinal::sim
