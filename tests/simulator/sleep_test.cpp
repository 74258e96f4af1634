// The simulator's sleepers: a wake-up that comes is never missed, and one that does not come is a
// failure, whatever the bound of the wait.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "platform/futex.hpp"
#include "support/test_scale.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {
namespace {

using sync::Atomic;
using sync::relaxed;

constexpr std::uint64_t kBoundUs = 1000;

std::uint64_t failures(void (*body)(), std::uint64_t seeds, const std::string& text) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = run({.body = body, .seed = seed});
    if (!outcome.failed) continue;
    EXPECT_NE(outcome.text.find(text), std::string::npos) << outcome.text;
    ++count;
  }
  return count;
}

template <bool kWakes>
void sleep_and_wake() {
  Atomic<std::uint32_t> word;
  spawn([&] {
    while (word.load(relaxed) == 0) platform::futex_wait(word.address(), 0, kBoundUs);
  });
  spawn([&] {
    word.store(1, relaxed);
    if (kWakes) platform::futex_wake_all(word.address());
  });
  join_all();
}

const char* const kLost = "a wake-up was lost";

TEST(SleepTest, ASleeperIsWokenHoweverOldTheValueItKnew) {
  EXPECT_EQ(failures(sleep_and_wake<true>, test::scaled(2'000), kLost), 0u);
}

TEST(SleepTest, ASleeperWhomNobodyWakesIsReported) {
  EXPECT_GT(failures(sleep_and_wake<false>, 200, kLost), 0u);
}

void endless() {
  Atomic<std::uint32_t> word;
  while (word.load(relaxed) == 0) pause();
}

TEST(SleepTest, ALoopWithoutAnEndIsReported) {
  EXPECT_EQ(failures(endless, 1, "no end in sight"), 1u);
}

void a_thread_dies() {
  Atomic<std::uint32_t> word;
  const ThreadId mortal = spawn_mortal(1 + pick(5), [&] {
    for (std::uint32_t i = 1; i < 10; ++i) word.store(i, relaxed);
  });
  join(mortal);
  check(word.load(relaxed) < 5, "it lived on");
}

TEST(SleepTest, AMortalThreadStopsWhereItWasTold) {
  EXPECT_EQ(failures(a_thread_dies, 100, ""), 0u);
}

TEST(SleepTest, ARunIsItsSeeds) {
  const Request request{.body = sleep_and_wake<true>, .seed = 5, .with_schedule = true};
  const Outcome first = run(request);
  EXPECT_FALSE(first.schedule.empty());
  EXPECT_EQ(first.schedule, run(request).schedule);
}

}  // namespace
}  // namespace vicinal::sim
