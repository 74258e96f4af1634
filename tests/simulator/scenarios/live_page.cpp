// A file's writer and a process that follows it: plain data stand for the bytes of each commit.
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "sync/live_page.hpp"

namespace vicinal::sim {
namespace {

void live_page() {
  constexpr std::uint64_t kCommits = 3;
  sync::LivePage page;
  sync::Plain<std::uint64_t> commits[kCommits];
  spawn([&] {
    for (std::uint64_t i = 0; i < kCommits; ++i) {
      commits[i] = i + 10;
      page.announce(i + 1, i + 1);
    }
  });
  for (int reader = 0; reader < 2; ++reader) {
    spawn([&] {
      for (int look = 0; look < 4; ++look) {
        const std::uint64_t end = page.announced();
        for (std::uint64_t i = 0; i < end; ++i) {
          check(commits[i] == i + 10, "a commit that was announced is there");
        }
      }
    });
  }
  join_all();
}

const Scenario kLivePage("live_page", live_page);

}  // namespace
}  // namespace vicinal::sim
