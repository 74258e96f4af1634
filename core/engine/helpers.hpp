// Who helps an index's long searches: a helper for each thread that does, and threads of our own.
//
// Thread safety: a HelperCore belongs to one thread; HelperThreads::set from any thread.
// I1: a helper that an outside thread uses keeps the index alive; the index's own threads end with
//     it.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/thread.hpp"
#include "search/help_pool.hpp"
#include "search/search.hpp"
#include "sync/event.hpp"
#include "sync/writer_token.hpp"
#include "vicinal/status.hpp"

namespace vicinal::engine {

class Core;

class HelperCore {
 public:
  // BUSY(helpers, limit), FULL.
  [[nodiscard]] static Result<std::unique_ptr<HelperCore>> open(Core& core) noexcept;
  HelperCore(const HelperCore&) = delete;
  HelperCore& operator=(const HelperCore&) = delete;
  ~HelperCore();

  // See search::HelpPool::help.
  bool help(std::uint64_t wait_us_max) noexcept;

 private:
  HelperCore(Core& core, std::uint32_t number, std::unique_ptr<search::Scratch> scratch) noexcept;

  Core& core_;
  std::uint32_t number_;
  std::uint32_t heard_;  // of the bell, before the last look
  std::unique_ptr<search::Scratch> scratch_;
};

class HelperThreads {
 public:
  explicit HelperThreads(Core& core) noexcept : core_(core) {}
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;
  ~HelperThreads();

  // Starts or ends threads until there are `count`. BAD_OPTION(helpers) for more than
  // sync::kHelpersMax, BUSY when another thread is at it or outside helpers leave too few numbers,
  // FULL, UNSUPPORTED: what could be started stays.
  Status set(std::uint32_t count) noexcept;

 private:
  struct Worker {
    Core* core = nullptr;
    std::unique_ptr<HelperCore> helper;
    sync::Completion stop;  // told to end
    platform::Thread thread;
  };

  Status start_one() noexcept;
  void end_one() noexcept;
  static void run(void* worker);

  Core& core_;
  sync::WriterToken changing_;  // held by who starts and ends threads
  std::uint32_t count_ = 0;
  std::unique_ptr<Worker> workers_[sync::kHelpersMax];
};

}  // namespace vicinal::engine
