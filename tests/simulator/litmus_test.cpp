// The simulator itself: small programs whose outcomes are known. What C++20 allows must turn up
// with some seed, what it forbids with none.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "support/test_scale.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {
namespace {

using sync::acq_rel;
using sync::acquire;
using sync::Atomic;
using sync::Order;
using sync::Plain;
using sync::relaxed;
using sync::release;
using sync::seq_cst;

using Word = Atomic<std::uint32_t>;

std::string outcome_of_run;  // what the body's last line says

void say(std::initializer_list<std::uint32_t> values) {
  for (const std::uint32_t value : values) outcome_of_run += std::to_string(value);
}

// Every outcome of many seeds; a failed run's is its text behind the thread.
std::set<std::string> outcomes(void (*body)(), std::uint64_t seeds = 3'000) {
  std::set<std::string> all;
  for (std::uint64_t seed = 1; seed <= test::scaled(seeds); ++seed) {
    outcome_of_run.clear();
    const Outcome outcome = run({.body = body, .seed = seed});
    const std::string text = outcome.text.substr(std::min<std::size_t>(outcome.text.size(), 10));
    all.insert(outcome.failed ? text : outcome_of_run);
  }
  return all;
}

using Set = std::set<std::string>;

template <Order kStore, Order kLoad>
void store_buffering() {
  Word x;
  Word y;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  spawn([&] {
    x.store(1, kStore);
    a = y.load(kLoad);
  });
  spawn([&] {
    y.store(1, kStore);
    b = x.load(kLoad);
  });
  join_all();
  say({a, b});
}

TEST(LitmusTest, StoreBufferingIsSeenUnlessAllIsSequentiallyConsistent) {
  const Set weak{"00", "01", "10", "11"};
  const Set strong{"01", "10", "11"};
  EXPECT_EQ((outcomes(store_buffering<relaxed, relaxed>)), weak);
  EXPECT_EQ((outcomes(store_buffering<release, acquire>)), weak);
  EXPECT_EQ((outcomes(store_buffering<seq_cst, acquire>)), weak);
  EXPECT_EQ((outcomes(store_buffering<release, seq_cst>)), weak);
  EXPECT_EQ((outcomes(store_buffering<seq_cst, seq_cst>)), strong);
}

template <Order kStore, Order kLoad>
void message_passing() {
  Word data;
  Word flag;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  spawn([&] {
    data.store(1, relaxed);
    flag.store(1, kStore);
  });
  spawn([&] {
    a = flag.load(kLoad);
    b = data.load(relaxed);
  });
  join_all();
  say({a, b});
}

TEST(LitmusTest, MessagePassingNeedsReleaseAndAcquire) {
  const Set weak{"00", "01", "10", "11"};
  const Set strong{"00", "01", "11"};
  EXPECT_EQ((outcomes(message_passing<relaxed, relaxed>)), weak);
  EXPECT_EQ((outcomes(message_passing<release, relaxed>)), weak);
  EXPECT_EQ((outcomes(message_passing<relaxed, acquire>)), weak);
  EXPECT_EQ((outcomes(message_passing<release, acquire>)), strong);
  EXPECT_EQ((outcomes(message_passing<seq_cst, seq_cst>)), strong);
}

// A seq_cst store, then a weaker one that is seen before it by a thread whose seq_cst load comes
// earlier in the one order.
template <Order kStore, Order kLoad>
void late_store() {
  Word x;
  Word y;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  spawn([&] {
    x.store(1, seq_cst);
    y.store(1, kStore);
  });
  spawn([&] {
    a = y.load(kLoad);
    b = x.load(seq_cst);
  });
  join_all();
  say({a, b});
}

TEST(LitmusTest, AWeakerStoreMayBeSeenBeforeTheSequentiallyConsistentOneInFrontOfIt) {
  EXPECT_TRUE((outcomes(late_store<relaxed, relaxed>)).contains("10"));
  EXPECT_TRUE((outcomes(late_store<release, relaxed>)).contains("10"));
  EXPECT_TRUE((outcomes(late_store<relaxed, acquire>)).contains("10"));
  EXPECT_FALSE((outcomes(late_store<release, acquire>)).contains("10"));
  EXPECT_FALSE((outcomes(late_store<seq_cst, seq_cst>)).contains("10"));
}

// Dekker's test in two threads, the second store and load behind a hand-over: the one order follows
// what happens before.
void one_order_follows_happens_before() {
  Word x;
  Word y;
  Word flag;
  std::uint32_t a = 1;
  std::uint32_t b = 1;
  std::uint32_t handed = 0;
  spawn([&] {
    x.store(1, seq_cst);
    flag.store(1, release);
  });
  spawn([&] {
    handed = flag.load(acquire);
    y.store(1, seq_cst);
    a = x.load(seq_cst);
  });
  spawn([&] { b = y.load(seq_cst); });
  join_all();
  say({handed, a, b});
}

TEST(LitmusTest, TheOneOrderFollowsHappensBefore) {
  const Set all = outcomes(one_order_follows_happens_before);
  EXPECT_EQ(all, (Set{"000", "001", "010", "011", "110", "111"}));
}

template <Order kStore, Order kLoad>
void independent_reads() {
  Word x;
  Word y;
  std::uint32_t seen[4] = {};
  spawn([&] { x.store(1, kStore); });
  spawn([&] { y.store(1, kStore); });
  spawn([&] {
    seen[0] = x.load(kLoad);
    seen[1] = y.load(kLoad);
  });
  spawn([&] {
    seen[2] = y.load(kLoad);
    seen[3] = x.load(kLoad);
  });
  join_all();
  say({seen[0], seen[1], seen[2], seen[3]});
}

TEST(LitmusTest, TwoReadersAgreeOnTheOrderOfTwoStoresOnlyUnderSequentialConsistency) {
  const Set weak = outcomes(independent_reads<release, acquire>);
  EXPECT_EQ(weak.size(), 16u);
  const Set strong = outcomes(independent_reads<seq_cst, seq_cst>);
  EXPECT_EQ(strong.size(), 15u);
  EXPECT_FALSE(strong.contains("1010"));
}

void coherence_of_reads() {
  Word x;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  spawn([&] {
    x.store(1, relaxed);
    x.store(2, relaxed);
  });
  spawn([&] {
    a = x.load(relaxed);
    b = x.load(relaxed);
  });
  join_all();
  say({a, b});
}

TEST(LitmusTest, OneThreadNeverReadsBackwards) {
  EXPECT_EQ(outcomes(coherence_of_reads), (Set{"00", "01", "02", "11", "12", "22"}));
}

// Two threads store to two words in opposite orders, then each word's last value is read.
template <Order kOrder>
void two_plus_two_writes() {
  Word x;
  Word y;
  spawn([&] {
    x.store(1, kOrder);
    y.store(2, kOrder);
  });
  spawn([&] {
    y.store(1, kOrder);
    x.store(2, kOrder);
  });
  join_all();
  say({x.load(relaxed), y.load(relaxed)});
}

TEST(LitmusTest, StoresSettleTheirOrderLateUnlessSequentiallyConsistent) {
  EXPECT_EQ(outcomes(two_plus_two_writes<release>), (Set{"11", "12", "21", "22"}));
  EXPECT_EQ(outcomes(two_plus_two_writes<seq_cst>), (Set{"12", "21", "22"}));
}

enum class Next { store, change };

// A release, then another operation of the same thread on the word: who reads that one.
template <Next kNext>
void release_sequence() {
  Word flag;
  Plain<std::uint32_t> data;
  spawn([&] {
    data = 1;
    flag.store(1, release);
    if (kNext == Next::store) {
      flag.store(2, relaxed);
    } else {
      flag.fetch_add(1, relaxed);
    }
  });
  spawn([&] {
    const std::uint32_t seen = flag.load(acquire);
    if (seen == 2) say({data});
    if (seen == 1) say({data + 1});
  });
  join_all();
}

const char* const kRace = "plain data is used beside a write to it";

TEST(LitmusTest, AReadModifyWriteContinuesAReleaseSequenceAndAStoreDoesNot) {
  EXPECT_EQ(outcomes(release_sequence<Next::change>), (Set{"", "1", "2"}));
  EXPECT_EQ(outcomes(release_sequence<Next::store>), (Set{"", "2", kRace}));
}

// A change by a third thread continues it, too; what that thread did itself is not released by it.
template <Order kOrder>
void release_sequence_of_another() {
  Word flag;
  Plain<std::uint32_t> first;
  Plain<std::uint32_t> second;
  spawn([&] {
    first = 1;
    flag.store(1, release);
  });
  spawn([&] {
    second = 1;
    flag.fetch_add(2, kOrder);
  });
  spawn([&] {
    if (flag.load(acquire) == 3) say({first + second});
  });
  join_all();
}

TEST(LitmusTest, AReleaseSequenceReleasesItsHeadAndWhatItsChangesRelease) {
  EXPECT_EQ(outcomes(release_sequence_of_another<acq_rel>), (Set{"", "2"}));
  EXPECT_EQ(outcomes(release_sequence_of_another<relaxed>), (Set{"", kRace}));
}

void counting() {
  Word count;
  for (int i = 0; i < 3; ++i) {
    spawn([&] {
      count.fetch_add(1, relaxed);
      std::uint32_t seen = count.load(relaxed);
      while (!count.compare_exchange(seen, seen + 1, relaxed, relaxed)) {
      }
    });
  }
  join_all();
  say({count.load(relaxed)});
}

TEST(LitmusTest, ReadModifyWritesLoseNothing) {
  EXPECT_EQ(outcomes(counting), Set{"6"});
}

// Mutual exclusion by a flag; `kOrder` is that of the flag's release.
template <Order kOrder>
void spin_lock() {
  Word lock;
  Plain<std::uint32_t> data;
  for (int i = 0; i < 2; ++i) {
    spawn([&] {
      std::uint32_t open = 0;
      while (!lock.compare_exchange(open, 1, acquire, relaxed)) {
        open = 0;
        pause();
      }
      data = data + 1;
      lock.store(0, kOrder);
    });
  }
  join_all();
  say({data});
}

TEST(LitmusTest, PlainDataUnderALockDoesNotRaceAndWithoutItsReleaseItDoes) {
  EXPECT_EQ(outcomes(spin_lock<release>), Set{"2"});
  EXPECT_TRUE(outcomes(spin_lock<relaxed>).contains(kRace));
}

// A larger thing, whose accesses are said.
template <Order kStore>
void noted_accesses() {
  Word flag;
  std::uint32_t thing[4] = {};
  spawn([&] {
    sync::note_write(thing);
    flag.store(1, kStore);
  });
  spawn([&] {
    if (flag.load(acquire) == 1) sync::note_read(thing);
  });
  join_all();
}

TEST(LitmusTest, AccessesThatAreSaidRaceLikePlainOnes) {
  EXPECT_EQ(outcomes(noted_accesses<release>), Set{""});
  EXPECT_EQ(outcomes(noted_accesses<relaxed>), (Set{"", kRace}));
}

// A pointer is handed over; its reader says by `kOrder` that it is done, and then it ends.
template <Order kPublish, Order kDone>
void hand_over() {
  struct Thing {
    Word word{5};
    Plain<std::uint32_t> data = 5;
  };
  Atomic<Thing*> pointer;
  Word done;
  spawn([&] {
    auto* thing = make<Thing>();
    pointer.store(thing, kPublish);
    while (done.load(acquire) == 0) pause();
    end(thing);
  });
  spawn([&] {
    Thing* thing = nullptr;
    while ((thing = pointer.load(acquire)) == nullptr) pause();
    check(thing->word.load(relaxed) == 5 && thing->data == 5, "not what was published");
    done.store(1, kDone);
  });
  join_all();
}

TEST(LitmusTest, AnObjectIsUsedAfterItsMakingAndBeforeItsEnd) {
  EXPECT_EQ((outcomes(hand_over<release, release>)), Set{""});
  const Set unmade = outcomes(hand_over<relaxed, release>);
  EXPECT_TRUE(unmade.contains("a word is used beside its making"));
  const Set unended = outcomes(hand_over<release, relaxed>);
  EXPECT_TRUE(unended.contains("a word ends beside an access to it"));
}

void use_after_the_end() {
  auto* word = make<Word>();
  end(word);
  say({word->load(relaxed)});
}

TEST(LitmusTest, AWordThatHasEndedIsNotUsed) {
  EXPECT_EQ(outcomes(use_after_the_end, 3), Set{"a word that has ended is used"});
}

}  // namespace
}  // namespace vicinal::sim
