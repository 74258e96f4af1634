// Producers push into rings of their own and take the writer's token in turns; sleepers are woken.
//
// As in sync_readers.cpp: one harness, first in every order of steps, then by threads; the controls
// are the same steps with one of them left out or moved.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "sync/event.hpp"
#include "sync/message_ring.hpp"
#include "sync/writer_token.hpp"

namespace vicinal::sync {
namespace {

constexpr std::uint64_t kForever = ~std::uint64_t{0};

std::uint64_t scale() {
  const char* text = std::getenv("VICINAL_TEST_SCALE");
  const std::uint64_t value = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  return value == 0 ? 1 : value;
}

struct Message {
  std::uint64_t value = 0;
  std::uint64_t done = 0;  // plain: the token's holder alone may touch it
  Completion completion;
};

using Ring = MessageRing<Message, 8>;

// What a producer does after its push, as a program of steps:
//   t  try the token; on failure the program ends
//   d  drain every ring
//   h  give the token back
//   l  look at every ring again; start over if anything is there, else end
constexpr const char* kSound = "tdhl";
constexpr const char* kWithoutLooking = "tdh";
constexpr const char* kLooksTooEarly = "tdlh";

class Desk {
 public:
  explicit Desk(std::uint32_t producers) : rings_(producers) {
    for (auto& ring : rings_) ring = std::make_unique<Ring>();
  }
  [[nodiscard]] bool push(std::uint32_t producer, Message& message) {
    return rings_[producer]->try_push(&message);
  }
  [[nodiscard]] bool try_acquire() { return token_.try_acquire(); }
  void give_back() { token_.give_back(); }
  void drain() {
    for (auto& ring : rings_) {
      while (Message* message = ring->try_pop()) {
        ++message->done;
        applied_ += message->value;
        message->completion.complete();
      }
    }
  }
  [[nodiscard]] bool pending() const {
    for (const auto& ring : rings_) {
      if (ring->pending()) return true;
    }
    return false;
  }
  // Once nobody holds the token any more.
  [[nodiscard]] std::uint64_t applied() const { return applied_; }

 private:
  WriterToken token_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::uint64_t applied_ = 0;  // guarded by the token
};

// A producer of one message that can be stopped between any two steps.
class SteppedProducer {
 public:
  SteppedProducer(Desk& desk, std::uint32_t number, const char* program)
      : desk_(desk), number_(number), program_(program) {}
  [[nodiscard]] bool ended() const { return at_ != 0 && program_[at_ - 1] == '\0'; }
  [[nodiscard]] const Message& message() const { return message_; }

  void step() {
    if (at_ == 0) {
      EXPECT_TRUE(desk_.push(number_, message_));
      at_ = 1;
      return;
    }
    switch (program_[at_ - 1]) {
      case 't':
        if (!desk_.try_acquire()) return end();
        break;
      case 'd': desk_.drain(); break;
      case 'h': desk_.give_back(); break;
      default:
        if (desk_.pending()) return restart();
        break;
    }
    ++at_;
  }

 private:
  void end() {
    while (!ended()) ++at_;
  }
  // With the token in hand (looking too early) nothing need be tried again: drain once more.
  void restart() { at_ = program_[at_] == 'h' ? 2 : 1; }

  Desk& desk_;
  std::uint32_t number_;
  const char* program_;
  std::size_t at_ = 0;  // 0: the push; then 1 + place in the program
  Message message_;
};

// Whether a message is left in a ring, over all orders that `choices` names (one bit a step).
bool leaves_a_message(const char* program, std::uint32_t choices) {
  Desk desk(2);
  std::array<SteppedProducer, 2> producers = {SteppedProducer(desk, 0, program),
                                              SteppedProducer(desk, 1, program)};
  for (int i = 0; !producers[0].ended() || !producers[1].ended(); ++i) {
    EXPECT_LT(i, 100);
    std::size_t who = i < 20 ? choices >> i & 1 : 0;
    if (producers[who].ended()) who = 1 - who;
    producers[who].step();
  }
  for (const SteppedProducer& producer : producers) EXPECT_LE(producer.message().done, 1u);
  return producers[0].message().done == 0 || producers[1].message().done == 0;
}

std::uint32_t orders_that_leave_a_message(const char* program) {
  std::uint32_t count = 0;
  for (std::uint32_t choices = 0; choices < 1u << 14; ++choices) {
    if (leaves_a_message(program, choices)) ++count;
  }
  return count;
}

TEST(SyncMessagesTest, NoOrderOfStepsLeavesAMessageBehind) {
  EXPECT_EQ(orders_that_leave_a_message(kSound), 0u);
}

TEST(SyncMessagesTest, AHolderThatDoesNotLookAgainLeavesAMessage) {
  EXPECT_GT(orders_that_leave_a_message(kWithoutLooking), 0u);
}

TEST(SyncMessagesTest, AHolderThatLooksBeforeGivingBackLeavesAMessage) {
  EXPECT_GT(orders_that_leave_a_message(kLooksTooEarly), 0u);
}

// Nobody drains at the end: what the producers did between them must have been enough.
TEST(SyncMessagesTest, ThreadsProcessEveryMessageOnceAndLeaveNoneBehind) {
  constexpr std::uint32_t kProducers = 4;
  const std::uint64_t each = 2'000 * scale();
  Desk desk(kProducers);
  std::vector<std::unique_ptr<Message[]>> messages;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    messages.push_back(std::make_unique<Message[]>(each));
  }
  const auto drive = [&] {
    while (desk.try_acquire()) {
      desk.drain();
      desk.give_back();
      if (!desk.pending()) break;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (std::uint64_t i = 0; i < each; ++i) {
        messages[p][i].value = i + 1;
        while (!desk.push(p, messages[p][i])) {
          drive();
          std::this_thread::yield();
        }
        drive();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : messages) {
    for (std::uint64_t i = 0; i < each; ++i) {
      ASSERT_TRUE(mine[i].completion.done());
      ASSERT_EQ(mine[i].done, 1u);
    }
  }
  EXPECT_EQ(desk.applied(), kProducers * each * (each + 1) / 2);
}

// A writer that sleeps on the doorbell and producers that wait for their messages: nobody drives
// but the writer, and no wait has a bound, so a lost wake-up would not end.
TEST(SyncMessagesTest, ASleepingWriterIsWokenForEveryMessage) {
  constexpr std::uint32_t kProducers = 3;
  const std::uint64_t each = 500 * scale();
  Desk desk(kProducers);
  EventCount doorbell;
  Atomic<std::uint32_t> ended;
  std::thread writer([&] {
    ASSERT_TRUE(desk.try_acquire());
    for (;;) {
      const std::uint32_t prepared = doorbell.prepare();
      const bool last = ended.load(seq_cst) == kProducers;
      desk.drain();
      if (last) break;
      if (!desk.pending()) doorbell.wait(prepared, kForever);
    }
    desk.give_back();
  });
  std::vector<std::thread> producers;
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (std::uint64_t i = 0; i < each; ++i) {
        Message message;
        message.value = 1;
        ASSERT_TRUE(desk.push(p, message));
        doorbell.ring();
        while (!message.completion.done()) message.completion.wait(kForever);
        ASSERT_EQ(message.done, 1u);
      }
      ended.fetch_add(1, seq_cst);
      doorbell.ring();
    });
  }
  for (std::thread& producer : producers) producer.join();
  writer.join();
  EXPECT_EQ(desk.applied(), kProducers * each);
}

// Steps of a waiter (p: prepare, l: look, s: sleep) in every order with a ringer's (m: make the
// work visible, r: ring). Counts the orders after which the waiter sleeps though there is work and
// nobody will ring again.
std::uint32_t orders_that_oversleep(const char* waiter, const char* ringer) {
  std::uint32_t count = 0;
  for (std::uint32_t order = 0; order < 32; ++order) {
    if (__builtin_popcount(order) != 3) continue;
    Desk desk(1);
    EventCount event;
    Message message;
    std::uint32_t prepared = 0;
    bool found = false;
    bool sleeps = false;
    const char* waits = waiter;
    const char* rings = ringer;
    for (int i = 0; i < 5; ++i) {
      const bool waiting = (order >> i & 1) != 0;
      switch (waiting ? *waits++ : *rings++) {
        case 'p': prepared = event.prepare(); break;
        case 'l': found = desk.pending(); break;
        case 's': sleeps = !found && event.prepare() == prepared; break;
        case 'm': EXPECT_TRUE(desk.push(0, message)); break;
        default:
          event.ring();
          sleeps = false;
          break;
      }
    }
    if (sleeps) ++count;
  }
  return count;
}

TEST(SyncMessagesTest, NoOrderOfStepsLosesAWakeUp) {
  EXPECT_EQ(orders_that_oversleep("pls", "mr"), 0u);
}

TEST(SyncMessagesTest, AWaiterThatLooksBeforePreparingOversleeps) {
  EXPECT_GT(orders_that_oversleep("lps", "mr"), 0u);
}

TEST(SyncMessagesTest, ARingerThatRingsBeforeItsWorkIsVisibleIsNotHeard) {
  EXPECT_GT(orders_that_oversleep("pls", "rm"), 0u);
}

}  // namespace
}  // namespace vicinal::sync
