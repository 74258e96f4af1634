// A sleeper and two ringers; the work is a word with release and acquire, as the flag of a closed
// index is, so that nothing but the event keeps the wake-up.
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "sync/event.hpp"

namespace vicinal::sim {
namespace {

void event() {
  constexpr std::uint32_t kRingers = 2;
  sync::EventCount doorbell;
  sync::Atomic<std::uint32_t> work[kRingers];
  spawn([&] {
    for (;;) {
      const std::uint32_t prepared = doorbell.prepare();
      std::uint32_t found = 0;
      for (const auto& word : work) found += word.load(sync::acquire);
      if (found == kRingers) break;
      doorbell.wait(prepared, 1000);
    }
  });
  for (auto& word : work) {
    spawn([&] {
      word.store(1, sync::release);
      doorbell.ring();
    });
  }
  join_all();
}

const Scenario kEvent("event", event);

// Two who sleep on one completion's word: the producer and somebody whom it told the address.
void completion() {
  sync::Plain<std::uint32_t> result;
  sync::Completion done;
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      while (!done.done()) done.wait(1000);
      check(result == 1, "the result is not there");
    });
  }
  spawn([&] {
    result = 1;
    done.complete();
  });
  join_all();
}

const Scenario kCompletion("completion", completion);

}  // namespace
}  // namespace vicinal::sim
