// Producers' rings and the writer's token, as the engine uses them, for scenarios.
//
// Thread safety: push by a ring's producer; drain by the holder of the token; the rest by anyone.
#pragma once

#include <cstdint>

#include "simulator/simulation.hpp"
#include "sync/event.hpp"
#include "sync/message_ring.hpp"
#include "sync/writer_token.hpp"

namespace vicinal::sim {

inline constexpr std::uint32_t kProducers = 2;

struct Message {
  sync::Plain<std::uint32_t> value;
  sync::Plain<std::uint32_t> result;
  sync::Completion completion;
};

struct Desk {
  using Ring = sync::MessageRing<Message, 2>;

  sync::WriterToken token;
  Ring rings[kProducers];
  sync::EventCount doorbell;
  sync::Plain<std::uint32_t> applied;  // the holder's

  void drain() {
    for (Ring& ring : rings) {
      while (Message* message = ring.try_pop()) {
        check(message->result == 0, "a message is taken twice");
        message->result = message->value + 1;
        applied = applied + 1;
        message->completion.complete();
      }
    }
  }
  [[nodiscard]] bool pending() const {
    for (const Ring& ring : rings) {
      if (ring.pending()) return true;
    }
    return false;
  }
  // What a producer does after its push, when there is no thread that writes.
  void drive() {
    while (token.try_acquire()) {
      drain();
      token.give_back();
      if (!pending()) break;
    }
  }
};

// Waits for its results and ends it.
inline void finish(Message* message) {
  while (!message->completion.done()) message->completion.wait(1000);
  check(message->result == message->value + 1, "a result is not there");
  end(message);
}

}  // namespace vicinal::sim
