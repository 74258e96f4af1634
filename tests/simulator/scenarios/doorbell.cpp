// A writer that sleeps on the doorbell and producers that sleep until their messages are done.
// Nobody else drives, so a lost wake-up ends the run.
#include "simulator/desk.hpp"
#include "simulator/scenario.hpp"

namespace vicinal::sim {
namespace {

void doorbell() {
  constexpr std::uint32_t kEach = 2;
  Desk desk;
  spawn([&] {
    check(desk.token.try_acquire(), "the token is taken");
    while (desk.applied != kProducers * kEach) {
      const std::uint32_t prepared = desk.doorbell.prepare();
      desk.drain();
      if (desk.applied == kProducers * kEach) break;
      if (!desk.pending()) desk.doorbell.wait(prepared, 1000);
    }
    desk.token.give_back();
  });
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    spawn([&desk, p] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        auto* message = make<Message>();
        message->value = i;
        check(desk.rings[p].try_push(message), "the ring is full");
        desk.doorbell.ring();
        finish(message);
      }
    });
  }
  join_all();
}

const Scenario kDoorbell("doorbell", doorbell);

}  // namespace
}  // namespace vicinal::sim
