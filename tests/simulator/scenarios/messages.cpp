// Producers that drive the writer's role themselves: no message is taken twice or left behind.
#include "simulator/desk.hpp"
#include "simulator/scenario.hpp"

namespace vicinal::sim {
namespace {

void push(Desk& desk, std::uint32_t producer, Message* message) {
  while (!desk.rings[producer].try_push(message)) {
    desk.drive();
    pause();
  }
  desk.drive();
}

void messages() {
  constexpr std::uint32_t kEach = 3;
  Desk desk;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    spawn([&desk, p] {
      Message* pushed[kEach];
      for (std::uint32_t i = 0; i < kEach; ++i) {
        pushed[i] = make<Message>();
        pushed[i]->value = i;
        push(desk, p, pushed[i]);
      }
      for (Message* message : pushed) finish(message);
    });
  }
  join_all();
  check(!desk.token.held() && !desk.pending(), "a message is left behind");
  check(desk.applied == kProducers * kEach, "not every message was applied");
}

const Scenario kMessages("messages", messages);

// One message, which whoever cannot take the token leaves to its holder.
void last_message() {
  Desk desk;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    spawn([&desk, p] {
      auto* message = make<Message>();
      message->value = p;
      check(desk.rings[p].try_push(message), "a new ring is full");
      desk.drive();
    });
  }
  join_all();
  check(desk.applied == kProducers, "a message is left behind");
}

const Scenario kLastMessage("last_message", last_message);

// The figure for statistics.
void depth() {
  Desk desk;
  Desk::Ring& ring = desk.rings[0];
  spawn([&] {
    auto* message = make<Message>();
    check(ring.try_push(message), "a new ring is full");
    finish(message);
  });
  spawn([&] {
    while (desk.applied == 0) {
      desk.drain();
      pause();
    }
  });
  spawn([&] { check(ring.depth() <= 1, "deeper than it ever was"); });
  join_all();
  check(ring.depth() == 0, "not empty at the end");
}

const Scenario kDepth("depth", depth);

}  // namespace
}  // namespace vicinal::sim
