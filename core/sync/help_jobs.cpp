#include "sync/help_jobs.hpp"

#include "base/assert.hpp"
#include "platform/realm.hpp"

namespace vicinal::sync {
namespace {

// FREE is 0. Else: who is in, the owner's realm above them, and two flags.
constexpr std::uint64_t kHelpers = (std::uint64_t{1} << kHelpersMax) - 1;
constexpr std::uint32_t kRealmBits = 30;
constexpr std::uint64_t kOpen = std::uint64_t{1} << 62;
constexpr std::uint64_t kTaken = std::uint64_t{1} << 63;

[[nodiscard]] constexpr std::uint64_t bit_of(std::uint32_t helper) noexcept {
  return std::uint64_t{1} << helper;
}

[[nodiscard]] constexpr std::uint64_t owned_by(std::uint32_t realm) noexcept {
  return kTaken | std::uint64_t{realm} << kHelpersMax;
}

[[nodiscard]] constexpr std::uint32_t owner_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> kHelpersMax) & ((std::uint32_t{1} << kRealmBits) - 1);
}

}  // namespace

std::uint32_t HelpJobs::calling_realm() noexcept { return platform::realm(); }

std::uint32_t HelpJobs::try_take(std::uint32_t end, std::uint64_t sequence,
                                 std::uint32_t realm) noexcept {
  VICINAL_ASSERT(end <= kJobs && realm < std::uint32_t{1} << kRealmBits);
  for (std::uint32_t i = 0; i < end; ++i) {
    std::uint64_t seen = jobs_[i].word.load(relaxed);
    if (seen != 0) continue;
    // acquire [job-free] (p1): what the last one in the job did.
    if (!jobs_[i].word.compare_exchange(seen, owned_by(realm), acquire, relaxed)) {
      continue;
    }
    VICINAL_ASSERT(jobs_[i].pin.load(relaxed) == 0);
    jobs_[i].pin.store(Pin::exact(sequence), release);  // [job-pin] (p2)
    return i;
  }
  return kNone;
}

void HelpJobs::open(std::uint32_t job) noexcept {
  const std::uint64_t held = jobs_[job].word.load(relaxed);  // ours
  VICINAL_ASSERT((held & kTaken) != 0 && (held & (kOpen | kHelpers)) == 0);
  jobs_[job].word.store(held | kOpen, release);  // [job] (p3)
}

void HelpJobs::close(std::uint32_t job) noexcept { close_for(jobs_[job]); }

void HelpJobs::give_back(std::uint32_t job) noexcept {
  VICINAL_ASSERT((jobs_[job].word.load(relaxed) & (kOpen | kHelpers)) == 0);
  free(jobs_[job]);
}

void HelpJobs::close_for(Job& job) noexcept {
  std::uint64_t seen = job.word.load(relaxed);
  VICINAL_ASSERT((seen & kOpen) != 0);
  // acq_rel [job-left] (p4): the accesses of helpers that have left, and the owner's own for the
  // last one to leave.
  while (!job.word.compare_exchange(seen, seen & ~kOpen, acq_rel, relaxed)) {
  }
  if ((seen & kHelpers) == 0) free(job);
}

// (p5) and (j3), by who is alone with the job.
void HelpJobs::free(Job& job) noexcept {
  job.pin.store(0, release);   // [job-pin]
  job.word.store(0, release);  // [job-free]
}

Result<std::uint32_t> HelpJobs::enlist(std::uint32_t realm) noexcept {
  for (std::uint32_t i = 0; i < kHelpersMax; ++i) {
    std::uint32_t free = 0;
    // acquire [helper]: that the last one of this number is in no job.
    if (realms_[i].compare_exchange(free, realm + 1, acquire, relaxed)) return i;
  }
  return Status(Code::busy, kHelpersMax, kHelpersMax);
}

void HelpJobs::dismiss(std::uint32_t helper) noexcept {
  VICINAL_ASSERT(realms_[helper].load(relaxed) != 0);
  set_idle(helper, false);
  realms_[helper].store(0, release);  // [helper]
}

bool HelpJobs::try_join(std::uint32_t job, std::uint32_t helper) noexcept {
  std::uint64_t seen = jobs_[job].word.load(relaxed);
  while ((seen & kOpen) != 0) {
    VICINAL_ASSERT((seen & bit_of(helper)) == 0);
    // acquire [job] (j1): what the owner filled in.
    if (jobs_[job].word.compare_exchange(seen, seen | bit_of(helper), acquire, relaxed)) {
      return true;
    }
  }
  return false;
}

void HelpJobs::leave(std::uint32_t job, std::uint32_t helper) noexcept {
  // acquire [job-left]: for (j3), what the owner and the others did before they left.
  std::uint64_t seen = jobs_[job].word.load(acquire);
  for (;;) {
    VICINAL_ASSERT((seen & bit_of(helper)) != 0);
    if ((seen & kOpen) == 0 && (seen & kHelpers) == bit_of(helper)) return free(jobs_[job]);
    // release [job-left] (j2)
    if (jobs_[job].word.compare_exchange(seen, seen & ~bit_of(helper), release, acquire)) return;
  }
}

void HelpJobs::set_idle(std::uint32_t helper, bool idle) noexcept {
  const auto bit = static_cast<std::uint32_t>(bit_of(helper));
  if (idle) {
    idle_.fetch_or(bit, relaxed);
  } else {
    idle_.fetch_and(~bit, relaxed);
  }
}

void HelpJobs::retire(std::uint32_t realm) noexcept {
  VICINAL_ASSERT(realm != 0);
  for (Job& job : jobs_) {
    // Relaxed: the dead owner's own stores happen before this by the proof, and nobody else opens
    // or holds a job under its realm.
    const std::uint64_t seen = job.word.load(relaxed);
    if ((seen & kTaken) == 0 || owner_of(seen) != realm) continue;
    if ((seen & kOpen) != 0) {
      close_for(job);
    } else if ((seen & kHelpers) == 0) {
      free(job);
    }
  }
  for (std::uint32_t helper = 0; helper < kHelpersMax; ++helper) {
    if (realms_[helper].load(relaxed) != realm + 1) continue;
    for (std::uint32_t job = 0; job < kJobs; ++job) {
      if ((jobs_[job].word.load(relaxed) & bit_of(helper)) != 0) leave(job, helper);
    }
    dismiss(helper);
  }
}

std::uint32_t HelpJobs::helpers() const noexcept {
  std::uint32_t count = 0;
  for (const Atomic<std::uint32_t>& realm : realms_) count += realm.load(relaxed) != 0;
  return count;
}

}  // namespace vicinal::sync
