// The ring, the token, the event count and the completion, each alone and between two threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>

#include "sync/event.hpp"
#include "sync/message_ring.hpp"
#include "sync/writer_token.hpp"

namespace vicinal::sync {
namespace {

// A wait that is never ended by its bound: a lost wake-up shows as a test that does not end.
constexpr std::uint64_t kForever = ~std::uint64_t{0};

TEST(MessageRingTest, MessagesComeOutInOrderAndAFullRingRefuses) {
  MessageRing<int, 4> ring;
  int messages[100];
  int in = 0;
  int out = 0;
  while (out < 90) {
    while (ring.try_push(&messages[in])) ++in;
    EXPECT_EQ(in - out, 4);
    EXPECT_EQ(ring.depth(), 4u);
    for (int i = 0; i < 1 + out % 4; ++i) EXPECT_EQ(ring.try_pop(), &messages[out++]);
    EXPECT_EQ(ring.pending(), in != out);
  }
  while (out < in) EXPECT_EQ(ring.try_pop(), &messages[out++]);
  EXPECT_FALSE(ring.pending());
  EXPECT_EQ(ring.try_pop(), nullptr);
  EXPECT_EQ(ring.depth(), 0u);
}

// The messages are plain numbers: reading one too early is a race.
TEST(MessageRingTest, WhatTheProducerWroteIsThereAndTheDepthStaysWithinTheCapacity) {
  constexpr std::uint64_t kMessages = 20'000;
  MessageRing<std::uint64_t, 8> ring;
  const auto messages = std::make_unique<std::uint64_t[]>(kMessages);
  Atomic<std::uint32_t> ended;
  std::thread observer([&] {
    while (ended.load(acquire) == 0) ASSERT_LE(ring.depth(), 8u);
  });
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      messages[i] = i * i;
      while (!ring.try_push(&messages[i])) std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 0; i < kMessages;) {
    const std::uint64_t* message = ring.try_pop();
    if (message == nullptr) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(*message, i * i);
    ++i;
  }
  ended.store(1, release);
  producer.join();
  observer.join();
}

TEST(WriterTokenTest, OneHoldsItAtATimeAndTheNextSeesWhatTheLastDid) {
  WriterToken token;
  EXPECT_TRUE(token.try_acquire());
  EXPECT_TRUE(token.held());
  EXPECT_FALSE(token.try_acquire());
  token.give_back();
  EXPECT_FALSE(token.held());

  constexpr std::uint64_t kEach = 5'000;
  std::uint64_t guarded = 0;
  const auto count = [&] {
    for (std::uint64_t i = 0; i < kEach;) {
      if (!token.try_acquire()) {
        std::this_thread::yield();
        continue;
      }
      ++guarded;
      ++i;
      token.give_back();
    }
  };
  std::thread first(count);
  std::thread second(count);
  first.join();
  second.join();
  EXPECT_EQ(guarded, 2 * kEach);
}

TEST(EventCountTest, AnEventThatRangSinceIsNotWaitedFor) {
  EventCount event;
  const std::uint32_t prepared = event.prepare();
  event.ring();
  event.wait(prepared, kForever);
  EXPECT_NE(event.prepare(), prepared);
}

TEST(EventCountTest, NoWakeUpIsLostBetweenTwoThreadsThatTakeTurns) {
  constexpr std::uint32_t kTurns = 3'000;
  EventCount event;
  Atomic<std::uint32_t> turn;
  const auto take_turns = [&](std::uint32_t parity) {
    for (std::uint32_t i = 0; i < kTurns; ++i) {
      for (;;) {
        const std::uint32_t prepared = event.prepare();
        if (turn.load(seq_cst) % 2 == parity) break;
        event.wait(prepared, kForever);
      }
      turn.fetch_add(1, seq_cst);
      event.ring();
    }
  };
  std::thread other([&] { take_turns(1); });
  take_turns(0);
  other.join();
  EXPECT_EQ(turn.load(relaxed), 2 * kTurns);
}

TEST(CompletionTest, TheResultIsThereAndTheMessageMayBeFreedAtOnce) {
  struct Message {
    int result = 0;
    Completion completion;
  };
  for (int i = 0; i < 300; ++i) {
    auto message = std::make_unique<Message>();
    std::thread writer([raw = message.get(), i] {
      raw->result = i;
      raw->completion.complete();
    });
    while (!message->completion.done()) message->completion.wait(kForever);
    EXPECT_EQ(message->result, i);
    message.reset();
    writer.join();
  }
}

}  // namespace
}  // namespace vicinal::sync
