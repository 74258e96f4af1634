#include "sync/reclaimer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace vicinal::sync {
namespace {

struct Object : Versioned {
  bool* destroyed = nullptr;
};

class ReclaimerTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 100;

  Object* make(std::uint64_t birth, bool* destroyed) {
    objects_.push_back(std::make_unique<Object>());
    Object* object = objects_.back().get();
    object->birth = birth;
    object->bytes = kBytes;
    object->destroyed = destroyed;
    object->destroy = [](Versioned* self) noexcept {
      *static_cast<Object*>(self)->destroyed = true;
    };
    return object;
  }
  // Whether one object of this life survives a scan while `pin` is set.
  bool held(std::uint64_t birth, std::uint64_t retire, std::uint64_t pin) {
    ReaderSlots slots;
    slots.slot(slots.claim().value()).pin.store(pin, release);
    bool destroyed = false;
    Reclaimer reclaimer;
    reclaimer.retire(make(birth, &destroyed), retire);
    const std::uint64_t freed = reclaimer.scan(slots);
    EXPECT_EQ(freed, destroyed ? 1u : 0u);
    const bool held = !destroyed;
    EXPECT_EQ(reclaimer.count(), held ? 1u : 0u);
    EXPECT_EQ(reclaimer.bytes(), held ? kBytes : 0u);
    return held;
  }

  std::vector<std::unique_ptr<Object>> objects_;
};

struct Case {
  std::uint64_t birth, retire, pin;
  bool held;
};

TEST_F(ReclaimerTest, AnObjectIsHeldExactlyByThePinsThatMayReachIt) {
  constexpr Case kCases[] = {
      {3, 6, 0, false},               // idle
      {3, 6, Pin::exact(2), false},   // a version before it
      {3, 6, Pin::exact(3), true},    // the first that reaches it
      {3, 6, Pin::exact(5), true},    // the last
      {3, 6, Pin::exact(6), false},   // the one that replaced it
      {3, 6, Pin::exact(9), false},
      {3, 6, Pin::range(0), true},    // any version from there on
      {3, 6, Pin::range(2), true},
      {3, 6, Pin::range(3), true},
      {3, 6, Pin::range(5), true},
      {3, 6, Pin::range(6), false},   // cannot go back
      {3, 6, Pin::range(9), false},
      {5, 6, Pin::exact(5), true},    // a version itself: birth s, retire s + 1
      {5, 6, Pin::exact(4), false},
      {5, 6, Pin::exact(6), false},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(held(c.birth, c.retire, c.pin), c.held)
        << c.birth << ".." << c.retire << " pin " << c.pin;
  }
}

// The same against the definition, for every life and pin of a small world.
TEST_F(ReclaimerTest, HoldingAgreesWithTheDefinitionForEveryLifeAndPin) {
  constexpr std::uint64_t kLast = 6;
  for (std::uint64_t birth = 0; birth < kLast; ++birth) {
    for (std::uint64_t retire = birth + 1; retire <= kLast; ++retire) {
      for (std::uint64_t number = 0; number <= kLast; ++number) {
        bool reachable = false;
        for (std::uint64_t s = birth; s < retire; ++s) reachable |= s >= number;
        EXPECT_EQ(Pin::of(Pin::range(number)).holds(birth, retire), reachable);
        EXPECT_EQ(Pin::of(Pin::exact(number)).holds(birth, retire),
                  birth <= number && number < retire);
        EXPECT_FALSE(Pin::of(0).holds(birth, retire));
      }
    }
  }
}

// One stalled reader holds what its version reaches, and nothing that came or went around it.
TEST_F(ReclaimerTest, AStalledReaderHoldsOnlyItsOwnVersion) {
  constexpr std::uint64_t kCommits = 1000;
  constexpr std::uint64_t kStalledAt = 400;
  ReaderSlots slots;
  slots.slot(slots.claim().value()).pin.store(Pin::exact(kStalledAt), release);
  const auto destroyed = std::make_unique<bool[]>(kCommits + 1);
  Reclaimer reclaimer;
  for (std::uint64_t n = 1; n <= kCommits; ++n) {
    reclaimer.retire(make(n - 1, &destroyed[n]), n);
    reclaimer.scan(slots);
    EXPECT_LE(reclaimer.count(), 1u);
  }
  EXPECT_EQ(reclaimer.count(), 1u);
  EXPECT_FALSE(destroyed[kStalledAt + 1]);
  EXPECT_EQ(reclaimer.freed_bytes(), (kCommits - 1) * kBytes);
  slots.slot(0).pin.store(0, release);
  EXPECT_EQ(reclaimer.scan(slots), 1u);
  EXPECT_EQ(reclaimer.bytes(), 0u);
}

// More pins than the scan keeps apart: none of what they reach is freed, and nothing stays for
// good.
TEST_F(ReclaimerTest, ManyPinsAtOnceHoldAtLeastWhatEachHolds) {
  constexpr std::uint32_t kReaders = 1000;
  ReaderSlots slots;
  for (std::uint32_t i = 0; i < kReaders; ++i) {
    slots.slot(slots.claim().value()).pin.store(Pin::exact(2 * i), release);
  }
  const auto destroyed = std::make_unique<bool[]>(2 * kReaders + 1);
  Reclaimer reclaimer;
  for (std::uint64_t s = 0; s < 2 * kReaders; ++s) {
    reclaimer.retire(make(s, &destroyed[s]), s + 1);
  }
  reclaimer.scan(slots);
  for (std::uint32_t i = 0; i < kReaders; ++i) EXPECT_FALSE(destroyed[2 * i]);
  EXPECT_TRUE(destroyed[1]);
  for (std::uint32_t i = 0; i < kReaders; ++i) slots.slot(i).pin.store(0, release);
  reclaimer.scan(slots);
  EXPECT_EQ(reclaimer.count(), 0u);
}

TEST_F(ReclaimerTest, TheEndDestroysWhatIsLeft) {
  bool destroyed[2] = {};
  {
    Reclaimer reclaimer;
    reclaimer.retire(make(1, &destroyed[0]), 2);
    reclaimer.retire(make(1, &destroyed[1]), 3);
  }
  EXPECT_TRUE(destroyed[0] && destroyed[1]);
}

}  // namespace
}  // namespace vicinal::sync
