// Helpers of an index's long searches.
//
// Thread safety: ask and close by a reader in a search; enlist, help and dismiss by a helper's
// thread, each with its own number; figures from any thread.
//
// A search asks for help once it has worked for a while (HelpLimits), when a helper has nothing
// to do, when what is left is worth far more than the asking, and when fewer readers are searching
// than there are processors: a busy service runs every search alone, since a helper would only take
// the time of another caller. None of it changes a result.
// I1: a search never waits for a helper (help_job.hpp), and what it asks with is made before: its
//     job's memory grows by need and stays.
// I2: helpers wait for the bell; a job is open before it rings.
#pragma once

#include <cstdint>

#include "search/help_job.hpp"
#include "search/search.hpp"
#include "sync/event.hpp"
#include "sync/reader_slots.hpp"
#include "vicinal/status.hpp"

namespace vicinal::search {

// Bytes of codes that a search reads before it asks, and that must be left to read: at 10 to 20
// GB/s, 50 to 100 us of its own work, and twenty times what asking costs.
struct HelpLimits {
  std::uint64_t ask_after_bytes = std::uint64_t{1} << 20;
  std::uint64_t ask_for_bytes = std::uint64_t{2} << 20;
  std::uint64_t chunk_blocks = 64;  // 6 to 25 us of work
};

class HelpPool {
 public:
  // `processors`: 1 or more.
  HelpPool(sync::ReaderSlots& slots, std::uint32_t processors,
           const HelpLimits& limits = {}) noexcept
      : slots_(slots), jobs_(slots.jobs()), processors_(processors), limits_(limits) {}
  HelpPool(const HelpPool&) = delete;
  HelpPool& operator=(const HelpPool&) = delete;
  ~HelpPool();

  // Before there is a helper: for tests, whose indexes are small and whose machines differ.
  void set_limits(std::uint32_t processors, const HelpLimits& limits) noexcept {
    processors_ = processors;
    limits_ = limits;
  }
  [[nodiscard]] const HelpLimits& limits() const noexcept { return limits_; }
  // Whether there is a helper that could be asked. One load.
  [[nodiscard]] bool may_ask() const noexcept { return jobs_.any_idle(); }
  // A search's: opens a job for the rest of the wave and rings; null where it has to go on alone.
  // See HelpJob::fill.
  struct Asked {
    HelpJob* job = nullptr;
    std::uint32_t number = 0;
  };
  [[nodiscard]] Asked ask(const Wave& wave, const SearchOptions& options, const WaveMemory& memory,
                          const std::byte* prepared, BlockPosition from) noexcept;
  // Always, at the end of a search that got a job.
  void close(const Asked& asked) noexcept { jobs_.close(asked.number); }

  // A helper's number. BUSY(helpers, limit), FULL.
  [[nodiscard]] Result<std::uint32_t> enlist() noexcept;
  void dismiss(std::uint32_t helper) noexcept { jobs_.dismiss(helper); }
  // Works where help is asked for; without such a search waits for one, `wait_us_max` at most.
  // Whether it has done anything. `heard` is the helper's, from `listen`: a ring that came between
  // two calls ends the wait of the second, so that what the caller looks at in between, to see
  // whether it should stop, is not overlooked.
  bool help(std::uint32_t helper, Scratch& scratch, std::uint32_t& heard,
            std::uint64_t wait_us_max) noexcept;
  [[nodiscard]] std::uint32_t listen() const noexcept { return bell_.prepare(); }
  // Ends every helper's wait.
  void ring() noexcept { bell_.ring(); }

  [[nodiscard]] std::uint32_t helpers() const noexcept { return jobs_.helpers(); }
  // Searches that asked, and chunks that helpers did for them, ever.
  [[nodiscard]] std::uint64_t searches() const noexcept { return searches_.load(sync::relaxed); }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_.load(sync::relaxed); }
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  bool help_any(std::uint32_t helper, Scratch& scratch) noexcept;

  sync::ReaderSlots& slots_;
  sync::HelpJobs& jobs_;
  std::uint32_t processors_;
  HelpLimits limits_;
  sync::EventCount bell_;
  sync::Atomic<std::uint64_t> searches_;
  sync::Atomic<std::uint64_t> chunks_;
  // One for each helper that there ever was at a time, filled from the front, never removed.
  // Release and acquire [job-made] are enough: who takes a job has seen it.
  sync::Atomic<HelpJob*> made_[sync::kJobs];
};

}  // namespace vicinal::search
