// Jobs: the rest of a search that other threads may join. Here is who is in a job, and for how long
// its version is kept; search/help_job.hpp has the work.
//
// Thread safety: try_take, open and close by a job's owner; join and leave by a helper under its
// own number; scan by the writer; retire by any thread that has proof of death.
//
// A job's word is FREE, or names its owner's realm and the helpers that are in:
//   HELD    the owner's alone, which fills or empties it
//   OPEN    helpers may join
//   CLOSED  nobody may join; some are in, and the owner has gone on
// The owner is a reader in a search of version s, its own pin EXACT s. Its steps:
//   (p1) FREE -> HELD              compare-exchange, acquire [job-free]
//   (p2) job.pin = EXACT s         release [job-pin]
//        ... fills the job ...
//   (p3) HELD -> OPEN              release [job]
//        ... works beside the helpers, and takes what they have done ...
//   (p4) OPEN -> CLOSED, or HELD where nobody is in   compare-exchange, acq_rel [job-left]
//   (p5) HELD: job.pin = IDLE, release [job-pin]; FREE, release [job-free]
//        ... ends its search: its own pin = IDLE ...
// and those of helper h:
//   (j1) OPEN -> OPEN with h       compare-exchange, acquire [job]
//        ... reads the version, writes what it found into the job ...
//   (j2) OPEN, or others are in: the same without h   compare-exchange, release [job-left]
//   (j3) CLOSED, and h alone is in: job.pin = IDLE and FREE, as in (p5)
// The owner waits for nobody: what a helper has begun and not finished it does itself.
//
// Why no object is freed under a helper. A scan reads the pins of all readers first, then those of
// the jobs. Let a helper of this job read an object of version s, and let a scan judge that object
// by what it read of the owner's pin:
//   - this search's RANGE or EXACT: it holds the object (version_root.hpp).
//   - an older value: then the scan came before the owner's announcement, and the owner's version
//     does not reach anything that this scan may free.
//   - a newer value: the scan has acquired a store that follows (p4), hence (p2). It reads the
//     job's pin afterwards and finds EXACT s, which holds the object, or a later value: IDLE, whose
//     store follows every helper's last access ((j2) releases, (p4) and (j3) acquire), or the pin
//     of a later owner, which took the job after that.
// With the jobs' pins read first, or a helper that pins for itself, the newer value could be read
// when the job's pin was not looked at in time.
//
// Deaths. A helper's number is a bit in every word, so that a dead helper is in a job exactly when
// its bit is set: with proof of its death, (j2) or (j3) is done in its place. (j3) keeps the bit
// until the job is FREE: a death in the middle leaves it to be done again. A dead owner's job is
// HELD or OPEN under its realm's number: (p4) and (p5) are done in its place.
//
// I1: a job's pin is stored by its owner in HELD, by the last helper in (j3), or in the place of
//     one of them; each follows the one before through the word.
// I2: jobs and helpers are few; taking a job and joining one are not part of a warm search that
//     nobody helps, and their read-modify-writes are counted apart.
// I3: a helper's number is not given out again before its death was mended.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/pin.hpp"
#include "vicinal/status.hpp"

namespace vicinal::sync {

inline constexpr std::uint32_t kHelpersMax = 32;
inline constexpr std::uint32_t kJobs = kHelpersMax;

class HelpJobs {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  HelpJobs() = default;
  HelpJobs(const HelpJobs&) = delete;
  HelpJobs& operator=(const HelpJobs&) = delete;

  // The number that the calling thread's jobs and helpers go by, for the day of its death.
  [[nodiscard]] static std::uint32_t calling_realm() noexcept;

  // The owner: (p1) and (p2) for the first free job below `end`, for a reader that is pinned to
  // `sequence`; kNone when all are taken.
  [[nodiscard]] std::uint32_t try_take(std::uint32_t end, std::uint64_t sequence,
                                       std::uint32_t realm) noexcept;
  // (p3). Filled before.
  void open(std::uint32_t job) noexcept;
  // (p4), (p5). What helpers have written into the job is the owner's to read until here.
  void close(std::uint32_t job) noexcept;
  // (p5) of a job that was taken and not opened.
  void give_back(std::uint32_t job) noexcept;

  // Helpers. A number to join by, BUSY(helpers, limit) when there is none; given back by the thread
  // that took it when it is in no job.
  [[nodiscard]] Result<std::uint32_t> enlist(std::uint32_t realm) noexcept;
  void dismiss(std::uint32_t helper) noexcept;
  // (j1); false where the job is not open. Then (j2) or (j3).
  [[nodiscard]] bool try_join(std::uint32_t job, std::uint32_t helper) noexcept;
  void leave(std::uint32_t job, std::uint32_t helper) noexcept;
  // Hints for owners: helpers that say that they have nothing to do.
  void set_idle(std::uint32_t helper, bool idle) noexcept;
  [[nodiscard]] bool any_idle() const noexcept { return idle_.load(relaxed) != 0; }

  // Once, with proof that the realm (not 0) runs no more: ends what it had of every job.
  void retire(std::uint32_t realm) noexcept;

  [[nodiscard]] std::uint32_t helpers() const noexcept;

  // Calls visit(job, Pin) for every job whose pin is not IDLE. After the readers' pins.
  template <class Visit>
  void scan(Visit visit) const noexcept {
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      // acquire [job-pin]: the helpers' last accesses. The readers' pins, read before, have told
      // all that this one has to show.
      const Pin pin = Pin::of(jobs_[i].pin.load(acquire));
      if (pin.kind != Pin::Kind::idle) visit(i, pin);
    }
  }

 private:
  friend struct HelpJobsSteps;  // tests break the rules one by one

  struct alignas(128) Job {
    Atomic<std::uint64_t> word;
    Atomic<std::uint64_t> pin;
  };

  void free(Job& job) noexcept;
  void close_for(Job& job) noexcept;

  Job jobs_[kJobs];
  alignas(128) Atomic<std::uint32_t> idle_;
  // By number: the helper's realm plus 1, or 0.
  Atomic<std::uint32_t> realms_[kHelpersMax];
};

}  // namespace vicinal::sync
