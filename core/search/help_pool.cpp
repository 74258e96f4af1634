#include "search/help_pool.hpp"

#include <new>

namespace vicinal::search {

HelpPool::~HelpPool() {
  for (sync::Atomic<HelpJob*>& job : made_) delete job.load(sync::acquire);  // [job-made]
}

HelpPool::Asked HelpPool::ask(const Wave& wave, const SearchOptions& options,
                              const WaveMemory& memory, const std::byte* prepared,
                              BlockPosition from) noexcept {
  if (slots_.searching(processors_)) return {};
  std::uint32_t made = 0;
  while (made < sync::kJobs && made_[made].load(sync::acquire) != nullptr) ++made;  // [job-made]
  const std::uint32_t number = jobs_.try_take(
      made, wave.shared().version.sequence, sync::HelpJobs::calling_realm());
  if (number == sync::HelpJobs::kNone) return {};
  HelpJob* job = made_[number].load(sync::relaxed);  // seen above
  if (!job->fill(wave, options, memory, prepared, from, limits_.chunk_blocks)) {
    jobs_.give_back(number);
    return {};
  }
  jobs_.open(number);
  bell_.ring();
  searches_.fetch_add(1, sync::relaxed);
  return {job, number};
}

Result<std::uint32_t> HelpPool::enlist() noexcept {
  const auto number = jobs_.enlist(sync::HelpJobs::calling_realm());
  if (!number.ok()) return number.status();
  for (std::uint32_t i = 0; i <= *number; ++i) {
    if (made_[i].load(sync::relaxed) != nullptr) continue;
    auto* fresh = new (std::nothrow) HelpJob;
    if (fresh == nullptr) {
      jobs_.dismiss(*number);
      return Status(Code::full, sizeof(HelpJob));
    }
    HelpJob* expected = nullptr;
    // release [job-made]: for the searches that take the job. Helpers meet it through its word.
    if (!made_[i].compare_exchange(expected, fresh, sync::release, sync::relaxed)) delete fresh;
  }
  return *number;
}

bool HelpPool::help(std::uint32_t helper, Scratch& scratch, std::uint32_t& heard,
                    std::uint64_t wait_us_max) noexcept {
  if (help_any(helper, scratch)) return true;
  jobs_.set_idle(helper, true);
  bell_.wait(heard, wait_us_max);
  jobs_.set_idle(helper, false);
  heard = bell_.prepare();
  return help_any(helper, scratch);
}

bool HelpPool::help_any(std::uint32_t helper, Scratch& scratch) noexcept {
  bool helped = false;
  for (std::uint32_t i = 0; i < sync::kJobs; ++i) {
    const std::uint32_t number = (helper + i) % sync::kJobs;  // helpers spread over jobs
    if (!jobs_.try_join(number, helper)) continue;
    // Relaxed: the job's owner has seen it, and we are in the job.
    const std::uint32_t done = made_[number].load(sync::relaxed)->help(scratch.buffers());
    jobs_.leave(number, helper);
    if (done == 0) continue;
    chunks_.fetch_add(done, sync::relaxed);
    helped = true;
  }
  return helped;
}

std::uint64_t HelpPool::bytes() const noexcept {
  std::uint64_t total = 0;
  for (const sync::Atomic<HelpJob*>& made : made_) {
    const HelpJob* job = made.load(sync::acquire);  // [job-made]
    if (job != nullptr) total += sizeof(HelpJob) + job->memory_bytes();
  }
  return total;
}

}  // namespace vicinal::search
