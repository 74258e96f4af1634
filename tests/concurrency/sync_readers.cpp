// Readers enter and leave while a writer publishes versions and retires what they replaced. An
// object that is freed is poisoned, so whoever still reads it notices.
//
// One harness: its steps are first taken by one thread, in every order and in random ones, then by
// threads. The controls are the same steps with one rule of the protocol broken; each must be
// caught.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "concurrency/sync_versions.hpp"

namespace vicinal::sync {

namespace {

// A reclaimer like the real one, with a rule of its own about what a pin holds.
template <bool (*kHolds)(Pin, std::uint64_t, std::uint64_t)>
class BrokenReclaimer {
 public:
  void retire(Versioned* object, std::uint64_t retire) {
    object->retire = retire;
    retired_.push_back(object);
  }
  void scan(const ReaderSlots& slots) {
    std::vector<Pin> pins;
    slots.scan([&](std::uint32_t, Pin pin) { pins.push_back(pin); });
    std::erase_if(retired_, [&](Versioned* object) {
      for (const Pin pin : pins) {
        if (kHolds(pin, object->birth, object->retire)) return false;
      }
      object->destroy(object);
      return true;
    });
  }

 private:
  std::vector<Versioned*> retired_;
};

bool sound(Pin pin, std::uint64_t birth, std::uint64_t retire) { return pin.holds(birth, retire); }
bool blind_to_ranges(Pin pin, std::uint64_t birth, std::uint64_t retire) {
  return pin.kind == Pin::Kind::exact && pin.holds(birth, retire);
}
bool blind_to_exact(Pin pin, std::uint64_t birth, std::uint64_t retire) {
  return pin.kind == Pin::Kind::range && pin.holds(birth, retire);
}
bool birth_excluded(Pin pin, std::uint64_t birth, std::uint64_t retire) {
  return pin.holds(pin.kind == Pin::Kind::exact ? birth + 1 : birth, retire);
}
bool last_excluded(Pin pin, std::uint64_t birth, std::uint64_t retire) {
  return pin.holds(birth, retire - 1);
}

// The order in which a broken reader or writer takes its steps.
struct Sound {
  static constexpr const char* kReader = "abcdueu";  // u: use what was loaded, if it is pinned
  static constexpr const char* kWriter = "r13s";     // r: retire, s: scan
};
struct LoadsBeforeAnnouncing : Sound {
  static constexpr const char* kReader = "acbdueu";
};
struct ForgetsToAnnounce : Sound {
  static constexpr const char* kReader = "acdueu";
};
struct GenerationFirst : Sound {
  static constexpr const char* kWriter = "r31s";
};
struct ScansBeforePublishing : Sound {
  static constexpr const char* kWriter = "rs13";
};

template <class Order, class Reclaim>
class Harness {
 public:
  explicit Harness(std::uint32_t readers, std::uint64_t seed = 1) : random_(seed) {
    for (std::uint32_t i = 0; i < readers; ++i) {
      readers_.push_back({&slots_.slot(slots_.claim().value())});
    }
    next_ = pool_.version(0);
    for (Part*& part : next_->parts) part = pool_.part(0);
    newest_ = next_;
    Steps::store_current(root_, newest_);
  }

  // One step of one reader. False when what it uses was freed under it.
  [[nodiscard]] bool reader_step(std::uint32_t number) {
    Reader& reader = readers_[number];
    const char step = Order::kReader[reader.at];
    reader.at = Order::kReader[reader.at + 1] == '\0' ? 0 : reader.at + 1;
    switch (step) {
      case 'a': reader.generation = Steps::load_generation(root_); return true;
      case 'b': Steps::announce(*reader.slot, reader.generation); return true;
      case 'c': reader.version = static_cast<const Version*>(Steps::load_current(root_)); break;
      case 'd': Steps::narrow(*reader.slot, reader.version->sequence); break;
      case 'e': VersionRoot::leave(*reader.slot); reader.version = nullptr; break;
      default: break;
    }
    return reader.version == nullptr || intact(*reader.version);
  }

  void writer_step() {
    const char step = Order::kWriter[writer_at_];
    if (writer_at_ == 0) build();
    writer_at_ = Order::kWriter[writer_at_ + 1] == '\0' ? 0 : writer_at_ + 1;
    switch (step) {
      case '1': Steps::store_current(root_, next_); break;
      case 'r': retire(); break;
      case '3': Steps::store_generation(root_, next_->sequence); break;
      default: reclaimer_.scan(slots_); break;
    }
  }

  // Whole operations, for threads. Every reader has its own; the writer too.
  [[nodiscard]] bool search(std::uint32_t number, std::uint64_t& last_sequence) {
    ReaderSlot& slot = *readers_[number].slot;
    const auto* version = static_cast<const Version*>(root_.enter(slot));
    bool good = version->sequence >= last_sequence;
    last_sequence = version->sequence;
    for (int i = 0; i < 3; ++i) good &= intact(*version);
    VersionRoot::leave(slot);
    return good;
  }
  void commit() {
    build();
    root_.publish(next_, [this] { retire(); });
    if (random_.below(4) == 0) reclaimer_.scan(slots_);
  }

 private:
  struct Reader {
    ReaderSlot* slot;
    std::size_t at = 0;
    std::uint64_t generation = 0;
    const Version* version = nullptr;
  };

  void build() {
    newest_ = next_;
    next_ = pool_.version(newest_->sequence + 1);
    const std::uint32_t replaced = random_.below(kParts);
    for (std::uint32_t i = 0; i < kParts; ++i) {
      next_->parts[i] = i == replaced ? pool_.part(next_->sequence) : newest_->parts[i];
    }
  }
  void retire() {
    for (std::uint32_t i = 0; i < kParts; ++i) {
      if (next_->parts[i] != newest_->parts[i]) {
        reclaimer_.retire(newest_->parts[i], next_->sequence);
      }
    }
    reclaimer_.retire(newest_, next_->sequence);
  }

  Pool pool_;
  VersionRoot root_;
  ReaderSlots slots_;
  Reclaim reclaimer_;
  Random random_;
  std::vector<Reader> readers_;
  std::size_t writer_at_ = 0;
  Version* newest_ = nullptr;
  Version* next_ = nullptr;
};

// Every order of `reader_steps` of one reader and `writer_steps`. Returns how many went wrong.
template <class Order, class Reclaim>
std::uint64_t broken_schedules(std::uint32_t reader_steps, std::uint32_t writer_steps) {
  const std::uint32_t steps = reader_steps + writer_steps;
  std::uint64_t broken = 0;
  for (std::uint64_t schedule = 0; schedule < std::uint64_t{1} << steps; ++schedule) {
    if (static_cast<std::uint32_t>(__builtin_popcountll(schedule)) != reader_steps) continue;
    Harness<Order, Reclaim> harness(1);
    bool good = true;
    for (std::uint32_t i = 0; i < steps && good; ++i) {
      if ((schedule >> i & 1) != 0) {
        good = harness.reader_step(0);
      } else {
        harness.writer_step();
      }
    }
    if (!good) ++broken;
  }
  return broken;
}

// Random orders of several readers and the writer.
template <class Order, class Reclaim>
std::uint64_t broken_walks(std::uint64_t walks, std::uint64_t seed) {
  std::uint64_t broken = 0;
  for (std::uint64_t walk = 0; walk < walks; ++walk) {
    Random random(seed + walk);
    Harness<Order, Reclaim> harness(3, seed + walk);
    for (int i = 0; i < 300; ++i) {
      const std::uint32_t who = random.below(4);
      if (who == 3) {
        harness.writer_step();
      } else if (!harness.reader_step(who)) {
        ++broken;
        break;
      }
    }
  }
  return broken;
}

constexpr std::uint32_t kReaderSteps = 7;
constexpr std::uint32_t kWriterSteps = 12;  // three commits

TEST(SyncReadersTest, NoOrderOfStepsFreesAnObjectUnderAReader) {
  EXPECT_EQ((broken_schedules<Sound, Reclaimer>(kReaderSteps, kWriterSteps)), 0u);
}

TEST(SyncReadersTest, NoRandomOrderOfThreeReadersDoesEither) {
  const std::uint64_t seed = 20;
  EXPECT_EQ((broken_walks<Sound, Reclaimer>(300 * scale(), seed)), 0u) << "seed " << seed;
}

TEST(SyncReadersTest, TheControlsReclaimerIsSoundUntilItsRuleIsBroken) {
  EXPECT_EQ((broken_schedules<Sound, BrokenReclaimer<sound>>(kReaderSteps, 8)), 0u);
}

TEST(SyncReadersTest, AReclaimerThatMisreadsPinsIsCaught) {
  EXPECT_GT((broken_schedules<Sound, BrokenReclaimer<blind_to_ranges>>(kReaderSteps, 8)), 0u);
  EXPECT_GT((broken_schedules<Sound, BrokenReclaimer<blind_to_exact>>(kReaderSteps, 8)), 0u);
  EXPECT_GT((broken_schedules<Sound, BrokenReclaimer<birth_excluded>>(kReaderSteps, 8)), 0u);
  EXPECT_GT((broken_schedules<Sound, BrokenReclaimer<last_excluded>>(kReaderSteps, 8)), 0u);
}

TEST(SyncReadersTest, AReaderOrWriterThatTakesItsStepsInAnotherOrderIsCaught) {
  EXPECT_GT((broken_schedules<LoadsBeforeAnnouncing, Reclaimer>(kReaderSteps, 8)), 0u);
  EXPECT_GT((broken_schedules<ForgetsToAnnounce, Reclaimer>(kReaderSteps, 8)), 0u);
  EXPECT_GT((broken_schedules<GenerationFirst, Reclaimer>(kReaderSteps, 8)), 0u);
  EXPECT_GT((broken_schedules<ScansBeforePublishing, Reclaimer>(kReaderSteps, 8)), 0u);
}

TEST(SyncReadersTest, ThreadsNeverSeeAFreedObjectOrGoBackInTime) {
  constexpr std::uint32_t kReaders = 3;
  const std::uint64_t commits = 3'000 * scale();
  Harness<Sound, Reclaimer> harness(kReaders, 7);
  Atomic<std::uint32_t> ended;
  Atomic<std::uint64_t> searches;
  std::vector<std::thread> readers;
  for (std::uint32_t r = 0; r < kReaders; ++r) {
    readers.emplace_back([&, r] {
      std::uint64_t last = 0;
      std::uint64_t count = 0;
      do {
        ASSERT_TRUE(harness.search(r, last));
        ++count;
      } while (ended.load(acquire) == 0);
      searches.fetch_add(count, relaxed);
    });
  }
  for (std::uint64_t n = 0; n < commits; ++n) harness.commit();
  ended.store(1, release);
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(searches.load(relaxed), kReaders);
}

// Slots come and go beside a writer that scans: a chunk that was just made is not missed.
TEST(SyncReadersTest, ReadersThatRegisterWhileTheWriterScansAreSafeToo) {
  const std::uint64_t rounds = 200 * scale();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Pool pool;
    VersionRoot root;
    ReaderSlots slots;
    Reclaimer reclaimer;
    Version* newest = pool.version(0);
    for (Part*& part : newest->parts) part = pool.part(0);
    root.publish(newest, [] {});
    const auto read = [&] {
      const std::uint32_t number = slots.claim().value();
      ReaderSlot& slot = slots.slot(number);
      ASSERT_TRUE(intact(*static_cast<const Version*>(root.enter(slot))));
      VersionRoot::leave(slot);
      slots.release_slot(number);
    };
    std::thread first(read);
    std::thread second(read);
    for (std::uint64_t n = 1; n < 20; ++n) {
      Version* next = pool.version(n);
      for (std::uint32_t i = 0; i < kParts; ++i) next->parts[i] = newest->parts[i];
      next->parts[n % kParts] = pool.part(n);
      root.publish(next, [&] {
        reclaimer.retire(newest->parts[n % kParts], n);
        reclaimer.retire(newest, n);
      });
      newest = next;
      reclaimer.scan(slots);
    }
    first.join();
    second.join();
  }
}

}  // namespace
}  // namespace vicinal::sync
