// A search shares a job with helpers, any of them dies at any step, and a writer frees all the
// while. An object that is freed is poisoned, as in sync_readers.cpp. The writer's scan is taken
// apart: what lies between its reads of a reader's pin and of a job's is where a job's pin matters.
//
// The controls break one rule of help_jobs.hpp each, and each must be caught.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "concurrency/sync_versions.hpp"

namespace vicinal::sync {

struct HelpJobsSteps {
  static void set_pin(HelpJobs& jobs, std::uint32_t job, std::uint64_t pin) {
    jobs.jobs_[job].pin.store(pin, release);
  }
};

namespace {

constexpr std::uint32_t kHelpers = 2;
constexpr std::uint32_t kOwnersRealm = 20;

struct Sound {
  static constexpr bool kJobsFirst = false;      // a scan reads jobs' pins before the readers'
  static constexpr bool kHelpersPin = false;     // not the owner, but who has joined
  static constexpr bool kClosingUnpins = false;  // whoever is in
  static constexpr bool kProof = true;           // of a death, before it is mended
  static constexpr bool kMends = true;
};
struct JobsFirst : Sound {
  static constexpr bool kJobsFirst = true;
};
struct HelpersPin : Sound {
  static constexpr bool kHelpersPin = true;
};
struct ClosingUnpins : Sound {
  static constexpr bool kClosingUnpins = true;
};
struct WithoutProof : Sound {
  static constexpr bool kProof = false;
};
struct Forgets : Sound {
  static constexpr bool kMends = false;
};

template <class Rules>
class Scene {
 public:
  explicit Scene(std::uint64_t seed) : random_(seed) {
    slot_ = &slots_.slot(slots_.claim(kOwnersRealm).value());
    next_ = pool_.version(0);
    for (Part*& part : next_->parts) part = pool_.part(0);
    newest_ = next_;
    Steps::store_current(root_, newest_);
    for (std::uint32_t i = 0; i < kHelpers; ++i) {
      helpers_[i].number = *jobs().enlist(i + 1);
      helpers_[i].realm = i + 1;
      helpers_[i].steps_left = random_.below(60);
    }
    owner_steps_left_ = random_.below(120);
  }

  // False when somebody who is alive read what was freed.
  [[nodiscard]] bool play() {
    for (int i = 0; i < 400; ++i) {
      bool good = true;
      switch (random_.below(6)) {
        case 0:
        case 1: good = owner_step(); break;
        case 2: good = helper_step(helpers_[random_.below(kHelpers)]); break;
        case 3: good = helper_step(helpers_[0]); break;
        case 4: mend_step(); break;
        default: writer_step(); break;
      }
      if (!good) return false;
    }
    return true;
  }

  // With everybody dead and mended. Objects that are still kept.
  [[nodiscard]] std::size_t left_at_the_end() {
    owner_steps_left_ = 0;
    for (Helper& helper : helpers_) helper.steps_left = 0;
    for (int i = 0; i < 100; ++i) mend_step();
    for (int i = 0; i < 6; ++i) writer_step();
    return retired_.size();
  }

 private:
  struct Helper {
    std::uint32_t number = 0;
    std::uint32_t realm = 0;
    std::uint64_t steps_left = 0;
    std::uint32_t at = 0;
    bool mended = false;
  };

  [[nodiscard]] HelpJobs& jobs() { return slots_.jobs(); }

  [[nodiscard]] bool owner_step() {
    if (owner_steps_left_ == 0) return true;
    --owner_steps_left_;
    static constexpr char kSteps[] = "abcdtouuxe";
    const char what = kSteps[owner_at_];
    owner_at_ = (owner_at_ + 1) % (sizeof kSteps - 1);
    switch (what) {
      case 'a': generation_ = Steps::load_generation(root_); break;
      case 'b': Steps::announce(*slot_, generation_); break;
      case 'c': version_ = static_cast<const Version*>(Steps::load_current(root_)); break;
      case 'd': Steps::narrow(*slot_, version_->sequence); break;
      case 't':
        job_ = jobs().try_take(2, version_->sequence, kOwnersRealm);
        if (job_ == HelpJobs::kNone) break;
        shared_[job_] = version_;
        if (Rules::kHelpersPin) HelpJobsSteps::set_pin(jobs(), job_, 0);
        break;
      case 'o':
        if (job_ != HelpJobs::kNone) jobs().open(job_);
        break;
      case 'x':
        if (job_ == HelpJobs::kNone) break;
        jobs().close(job_);
        if (Rules::kClosingUnpins) HelpJobsSteps::set_pin(jobs(), job_, 0);
        break;
      case 'e':
        VersionRoot::leave(*slot_);
        version_ = nullptr;
        break;
      default: break;
    }
    return version_ == nullptr || what == 'c' || intact(*version_);
  }

  [[nodiscard]] bool helper_step(Helper& helper) {
    if (helper.steps_left == 0) return true;
    --helper.steps_left;
    switch (helper.at) {
      case 0:
        in_[helper.number] = random_.below(2);
        if (!jobs().try_join(in_[helper.number], helper.number)) return true;
        helper.at = 1;
        return true;
      case 1:
        if (Rules::kHelpersPin) {
          HelpJobsSteps::set_pin(jobs(), in_[helper.number],
                                 Pin::exact(shared_[in_[helper.number]]->sequence));
        }
        helper.at = 2;
        return true;
      case 2:
      case 3:
        ++helper.at;
        return intact(*shared_[in_[helper.number]]);
      default:
        jobs().leave(in_[helper.number], helper.number);
        helper.at = 0;
        return true;
    }
  }

  void mend_step() {
    if (!Rules::kMends) return;
    Helper& helper = helpers_[random_.below(kHelpers)];
    if (!helper.mended && (helper.steps_left == 0 || !Rules::kProof)) {
      jobs().retire(helper.realm);
      helper.mended = true;
      // Without proof of its death it goes on in the job that it believes to be in, and only there.
      if (helper.steps_left > 0) helper.steps_left = helper.at >= 1 && helper.at <= 3 ? 1 : 0;
    }
    if (owner_steps_left_ == 0 && !owner_mended_) {
      slots_.retire_owned(kOwnersRealm, Afterwards::keep);
      owner_mended_ = true;
    }
  }

  // One third of a scan, or a commit when the last scan is over.
  void writer_step() {
    switch (scan_at_) {
      case 0: commit(); break;
      case 1:
      case 2: read_pins((scan_at_ == 1) == Rules::kJobsFirst); break;
      default: free_unpinned(); break;
    }
    scan_at_ = (scan_at_ + 1) % 4;
  }

  void commit() {
    newest_ = next_;
    const std::uint64_t sequence = newest_->sequence + 1;
    next_ = pool_.version(sequence);
    const std::uint32_t replaced = random_.below(kParts);
    for (std::uint32_t i = 0; i < kParts; ++i) {
      next_->parts[i] = i == replaced ? pool_.part(sequence) : newest_->parts[i];
    }
    root_.publish(next_, [&] {
      for (Versioned* object : {static_cast<Versioned*>(newest_->parts[replaced]),
                                static_cast<Versioned*>(newest_)}) {
        object->retire = sequence;
        retired_.push_back(object);
      }
    });
    pins_.clear();
  }

  void read_pins(bool of_jobs) {
    slots_.scan([&](std::uint32_t number, Pin pin) {
      if ((number >= kReaderSlotsMax) == of_jobs) pins_.push_back(pin);
    });
  }

  void free_unpinned() {
    std::erase_if(retired_, [&](Versioned* object) {
      for (const Pin& pin : pins_) {
        if (pin.holds(object->birth, object->retire)) return false;
      }
      object->destroy(object);
      return true;
    });
  }

  Pool pool_;
  VersionRoot root_;
  ReaderSlots slots_;
  Random random_;
  ReaderSlot* slot_ = nullptr;
  std::uint64_t owner_steps_left_ = 0;
  std::size_t owner_at_ = 0;
  bool owner_mended_ = false;
  std::uint64_t generation_ = 0;
  const Version* version_ = nullptr;
  std::uint32_t job_ = HelpJobs::kNone;
  const Version* shared_[2] = {};
  Helper helpers_[kHelpers];
  std::uint32_t in_[kHelpersMax] = {};
  Version* newest_ = nullptr;
  Version* next_ = nullptr;
  std::vector<Versioned*> retired_;
  std::vector<Pin> pins_;
  std::uint32_t scan_at_ = 0;
};

struct Outcome {
  std::uint64_t broken = 0;
  std::uint64_t leaking = 0;
};

template <class Rules>
Outcome play(std::uint64_t scenes) {
  Outcome outcome;
  for (std::uint64_t seed = 1; seed <= scenes; ++seed) {
    Scene<Rules> scene(seed);
    if (!scene.play()) {
      ++outcome.broken;
    } else if (scene.left_at_the_end() > 2) {  // the version that was replaced last, and its part
      ++outcome.leaking;
    }
  }
  return outcome;
}

constexpr std::uint64_t kScenes = 2000;

TEST(SyncHelpTest, NothingIsFreedUnderAHelperAndADeadOnesShareIsFreedAtLast) {
  const Outcome real = play<Sound>(kScenes * scale());
  EXPECT_EQ(real.broken, 0u);
  EXPECT_EQ(real.leaking, 0u);
}

TEST(SyncHelpTest, AScanThatReadsTheJobsFirstIsCaught) {
  EXPECT_GT(play<JobsFirst>(kScenes).broken, 0u);
}

TEST(SyncHelpTest, HelpersThatPinForThemselvesAreCaught) {
  EXPECT_GT(play<HelpersPin>(kScenes).broken, 0u);
}

TEST(SyncHelpTest, AnOwnerThatUnpinsWhileHelpersAreInIsCaught) {
  EXPECT_GT(play<ClosingUnpins>(kScenes).broken, 0u);
}

TEST(SyncHelpTest, ADeathThatIsMendedWithoutProofIsCaught) {
  EXPECT_GT(play<WithoutProof>(kScenes).broken, 0u);
}

TEST(SyncHelpTest, ADeathThatIsNeverMendedIsCaught) {
  EXPECT_GT(play<Forgets>(kScenes).leaking, 0u);
}

// Real threads: ThreadSanitizer sees whether what an owner fills in happens before a helper reads
// it, what a helper writes before the owner reads it, and all of both before the next owner fills
// it.
TEST(SyncHelpTest, AJobsContentIsHandedOnWithoutARace) {
  const std::uint64_t rounds = 2000 * scale();
  HelpJobs jobs;
  struct Content {
    std::uint64_t given = 0;
    std::uint64_t results[2] = {};
    Atomic<std::uint32_t> done[2];
  } content;
  Atomic<std::uint32_t> stop;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const std::uint32_t helper = *jobs.enlist(i + 1);
      while (stop.load(acquire) == 0) {
        if (!jobs.try_join(0, helper)) {
          std::this_thread::yield();
          continue;
        }
        if (content.done[i].load(relaxed) == 0) {  // not at its second visit
          content.results[i] = content.given + i;
          content.done[i].store(1, release);
        }
        jobs.leave(0, helper);
      }
      jobs.dismiss(helper);
    });
  }
  std::uint64_t helped = 0;
  // Until a helper came in time: what that takes is the scheduler's business.
  for (std::uint64_t round = 0; round < rounds || (helped == 0 && round < 1000 * rounds);) {
    if (jobs.try_take(1, round, 0) == HelpJobs::kNone) {
      std::this_thread::yield();
      continue;
    }
    ++round;
    content.given = round * 10;
    for (auto& done : content.done) done.store(0, relaxed);
    jobs.open(0);
    // Closed early, in their midst and late.
    for (std::uint64_t turn = 0; turn < round % 8; ++turn) std::this_thread::yield();
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (content.done[i].load(acquire) == 0) continue;
      EXPECT_EQ(content.results[i], round * 10 + i);
      ++helped;
    }
    jobs.close(0);
  }
  stop.store(1, release);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(helped, 0u);
}

}  // namespace
}  // namespace vicinal::sync
