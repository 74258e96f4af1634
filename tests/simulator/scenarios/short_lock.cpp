// A lock whose waiters sleep: what one holder did the next one sees, and nobody sleeps for ever.
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "sync/short_lock.hpp"

namespace vicinal::sim {
namespace {

void short_lock() {
  constexpr std::uint32_t kThreads = 3;
  constexpr std::uint32_t kTurns = 3;
  struct Guarded {
    sync::ShortLock lock;
    sync::Plain<std::uint32_t> count;
    sync::Plain<std::uint32_t> inside;
  };
  Guarded guarded;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    spawn([&] {
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        if (pick(3) != 0 || !guarded.lock.try_take()) guarded.lock.take();
        check(guarded.inside == 0, "two are inside");
        guarded.inside = 1;
        guarded.count = guarded.count + 1;
        guarded.inside = 0;
        guarded.lock.give_back();
      }
    });
  }
  join_all();
  check(guarded.count == kThreads * kTurns, "a turn was lost");
}

const Scenario kShortLock("short_lock", short_lock);

}  // namespace
}  // namespace vicinal::sim
