// A reader dies at any step. With proof of that a third party gives its slot back, another reader
// takes it, and a writer frees all the while. An object that is freed is poisoned, as in
// sync_readers.cpp.
//
// The controls are the same steps with one rule of ReaderSlots::retire broken; each must be caught.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "base/random.hpp"
#include "concurrency/sync_versions.hpp"

namespace vicinal::sync {
namespace {

constexpr std::uint32_t kDeadOwner = 7;

// p: waits for the proof; R: ReaderSlots::retire; i: stores IDLE; g: lets the next owner in.
struct Sound {
  static constexpr const char* kSteps = "pR";
};
struct SoundStepByStep {
  static constexpr const char* kSteps = "pig";
};
struct WithoutProof {
  static constexpr const char* kSteps = "ig";
};
struct IdleBeforeProof {
  static constexpr const char* kSteps = "ipg";
};
struct GivesBackFirst {
  static constexpr const char* kSteps = "pgi";
};
struct Twice {
  static constexpr const char* kSteps = "pigi";
};
struct Forgets {
  static constexpr const char* kSteps = "p";
};

// One seeded order of the steps of all four.
template <class Retire>
class Scene {
 public:
  explicit Scene(std::uint64_t seed) : random_(seed) {
    dead_.slot = next_owner_.slot = &slots_.slot(slots_.claim(kDeadOwner).value());
    dead_.steps_left = random_.below(2 * kSearchSteps);  // then it dies, wherever it is
    next_owner_.steps_left = 2 * kSearchSteps;
    next_ = pool_.version(0);
    for (Part*& part : next_->parts) part = pool_.part(0);
    newest_ = next_;
    Steps::store_current(root_, newest_);
  }

  // False when a living reader's version was freed under it.
  [[nodiscard]] bool play() {
    for (int i = 0; i < 150; ++i) {
      bool good = true;
      switch (random_.below(4)) {
        case 0: good = step(dead_); break;
        case 1: retire_step(); break;
        case 2: good = !next_may_ || step(next_owner_); break;
        default: writer_step(); break;
      }
      if (!good) return false;
    }
    return true;
  }

  // What nobody alive holds is freed at last. Returns the objects that are left.
  [[nodiscard]] std::uint64_t left_at_the_end() {
    while (step(dead_) && dead_.steps_left > 0) {
    }
    while (Retire::kSteps[retire_at_] != '\0') retire_step();
    while (next_may_ && step(next_owner_) && next_owner_.steps_left > 0) {
    }
    reclaimer_.scan(slots_);
    return reclaimer_.count();
  }

 private:
  static constexpr const char* kSearch = "abcduue";
  static constexpr std::uint32_t kSearchSteps = 7;
  struct Reader {
    ReaderSlot* slot = nullptr;
    std::uint32_t steps_left = 0;
    std::uint32_t at = 0;
    std::uint64_t generation = 0;
    const Version* version = nullptr;
  };

  [[nodiscard]] bool step(Reader& reader) {
    if (reader.steps_left == 0) return true;
    --reader.steps_left;
    const char what = kSearch[reader.at];
    reader.at = (reader.at + 1) % kSearchSteps;
    switch (what) {
      case 'a': reader.generation = Steps::load_generation(root_); return true;
      case 'b': Steps::announce(*reader.slot, reader.generation); return true;
      case 'c': reader.version = static_cast<const Version*>(Steps::load_current(root_)); break;
      case 'd': Steps::narrow(*reader.slot, reader.version->sequence); break;
      case 'e': VersionRoot::leave(*reader.slot); reader.version = nullptr; break;
      default: break;
    }
    return reader.version == nullptr || intact(*reader.version);
  }

  void retire_step() {
    const char what = Retire::kSteps[retire_at_];
    if (what == '\0' || (what == 'p' && dead_.steps_left > 0)) return;
    ++retire_at_;
    if (what == 'i') dead_.slot->pin.store(0, release);
    if (what == 'g') next_may_ = true;
    if (what == 'R') {
      EXPECT_EQ(slots_.retire_owned(kDeadOwner, Afterwards::reuse), 1u);
      EXPECT_EQ(&slots_.slot(slots_.claim(kDeadOwner + 1).value()), next_owner_.slot);
      next_may_ = true;
    }
  }

  void writer_step() {
    newest_ = next_;
    const std::uint64_t sequence = newest_->sequence + 1;
    next_ = pool_.version(sequence);
    const std::uint32_t replaced = random_.below(kParts);
    for (std::uint32_t i = 0; i < kParts; ++i) {
      next_->parts[i] = i == replaced ? pool_.part(sequence) : newest_->parts[i];
    }
    root_.publish(next_, [&] {
      reclaimer_.retire(newest_->parts[replaced], sequence);
      reclaimer_.retire(newest_, sequence);
    });
    reclaimer_.scan(slots_);
  }

  Pool pool_;
  VersionRoot root_;
  ReaderSlots slots_;
  Reclaimer reclaimer_;
  Random random_;
  Reader dead_;
  Reader next_owner_;
  std::uint32_t retire_at_ = 0;
  bool next_may_ = false;
  Version* newest_ = nullptr;
  Version* next_ = nullptr;
};

struct Outcome {
  std::uint64_t broken = 0;  // read what was freed
  std::uint64_t leaking = 0;
};

template <class Retire>
Outcome play(std::uint64_t scenes, std::uint64_t seed) {
  Outcome outcome;
  for (std::uint64_t i = 0; i < scenes; ++i) {
    Scene<Retire> scene(seed + i);
    if (!scene.play()) {
      ++outcome.broken;
    } else if (scene.left_at_the_end() > 0) {
      ++outcome.leaking;
    }
  }
  return outcome;
}

constexpr std::uint64_t kScenes = 1000;
constexpr std::uint64_t kSeed = 31;

TEST(SyncDeathsTest, WhatADeadReaderHeldIsFreedAndNothingUnderALivingOne) {
  const Outcome real = play<Sound>(kScenes * scale(), kSeed);
  EXPECT_EQ(real.broken, 0u) << "seed " << kSeed;
  EXPECT_EQ(real.leaking, 0u) << "seed " << kSeed;
}

TEST(SyncDeathsTest, TheControlsStepsAreSoundUntilOneIsMoved) {
  const Outcome steps = play<SoundStepByStep>(kScenes, kSeed);
  EXPECT_EQ(steps.broken, 0u);
  EXPECT_EQ(steps.leaking, 0u);
}

TEST(SyncDeathsTest, RetiringWithoutProofOrBeforeItIsCaught) {
  EXPECT_GT(play<WithoutProof>(kScenes, kSeed).broken, 0u);
  EXPECT_GT(play<IdleBeforeProof>(kScenes, kSeed).broken, 0u);
}

TEST(SyncDeathsTest, GivingTheSlotBackBeforeItIsIdleOrRetiringItTwiceIsCaught) {
  EXPECT_GT(play<GivesBackFirst>(kScenes, kSeed).broken, 0u);
  EXPECT_GT(play<Twice>(kScenes, kSeed).broken, 0u);
}

TEST(SyncDeathsTest, ASlotThatIsNeverRetiredIsCaught) {
  EXPECT_EQ(play<Forgets>(kScenes, kSeed).broken, 0u);
  EXPECT_GT(play<Forgets>(kScenes, kSeed).leaking, 0u);
}

// The proof here is a join. ThreadSanitizer sees whether the accesses of a thread that ended in the
// middle of a search happen before the free by a writer that knows nothing of it.
TEST(SyncDeathsTest, AThreadsAccessesHappenBeforeTheFreeThatItsRetiredSlotAllows) {
  const std::uint64_t rounds = 100 * scale();
  Pool pool;
  VersionRoot root;
  ReaderSlots slots;
  Reclaimer reclaimer;
  Version* newest = pool.version(0);
  for (Part*& part : newest->parts) part = pool.part(0);
  root.publish(newest, [] {});
  Atomic<std::uint32_t> ended;
  std::thread writer([&] {
    for (std::uint64_t n = 1; ended.load(acquire) == 0 || reclaimer.count() > 2; ++n) {
      Version* next = pool.version(n);
      for (std::uint32_t i = 0; i < kParts; ++i) next->parts[i] = newest->parts[i];
      next->parts[n % kParts] = pool.part(n);
      root.publish(next, [&] {
        reclaimer.retire(newest->parts[n % kParts], n);
        reclaimer.retire(newest, n);
      });
      newest = next;
      reclaimer.scan(slots);
      std::this_thread::yield();
    }
  });
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto owner = static_cast<std::uint32_t>(round + 1);
    std::thread reader([&] {
      ReaderSlot& slot = slots.slot(slots.claim(owner).value());
      EXPECT_TRUE(intact(*static_cast<const Version*>(root.enter(slot))));
    });
    reader.join();
    const auto afterwards = round % 4 == 0 ? Afterwards::keep : Afterwards::reuse;
    EXPECT_EQ(slots.retire_owned(owner, afterwards), 1u);
  }
  ended.store(1, release);
  writer.join();
  EXPECT_EQ(slots.retired(), (rounds + 3) / 4);
  EXPECT_EQ(slots.in_use(), 0u);
}

}  // namespace
}  // namespace vicinal::sync
