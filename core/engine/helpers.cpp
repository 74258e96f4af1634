#include "engine/helpers.hpp"

#include <new>
#include <utility>

#include "engine/core.hpp"

namespace vicinal::engine {
namespace {

// Bounds a wait for the bell, in case a mistake should ever lose a ring.
constexpr std::uint64_t kSleepUs = 1'000'000;

}  // namespace

HelperCore::HelperCore(Core& core, std::uint32_t number,
                       std::unique_ptr<search::Scratch> scratch) noexcept
    : core_(core), number_(number), heard_(core.help().listen()), scratch_(std::move(scratch)) {}

HelperCore::~HelperCore() { core_.help().dismiss(number_); }

Result<std::unique_ptr<HelperCore>> HelperCore::open(Core& core) noexcept {
  auto scratch = search::Scratch::create(core.quantiser());
  if (!scratch.ok()) return scratch.status();
  const auto number = core.help().enlist();
  if (!number.ok()) return number.status();
  std::unique_ptr<HelperCore> helper(
      new (std::nothrow) HelperCore(core, *number, std::move(scratch).value()));
  if (helper == nullptr) {
    core.help().dismiss(*number);
    return Status(Code::full, sizeof(HelperCore));
  }
  return helper;
}

bool HelperCore::help(std::uint64_t wait_us_max) noexcept {
  return core_.help().help(number_, *scratch_, heard_, wait_us_max);
}

HelperThreads::~HelperThreads() {
  while (count_ > 0) end_one();
}

Status HelperThreads::set(std::uint32_t count) noexcept {
  if (count > sync::kHelpersMax) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::helpers));
  }
  if (!changing_.try_acquire()) return Status(Code::busy);
  sync::note_write(workers_);
  Status status;
  while (status.ok() && count_ < count) status = start_one();
  while (count_ > count) end_one();
  changing_.give_back();
  return status;
}

Status HelperThreads::start_one() noexcept {
  std::unique_ptr<Worker> worker(new (std::nothrow) Worker);
  if (worker == nullptr) return Status(Code::full, sizeof(Worker));
  auto helper = HelperCore::open(core_);
  if (!helper.ok()) return helper.status();
  worker->core = &core_;
  worker->helper = std::move(helper).value();
  const Status started = worker->thread.start(run, worker.get());
  if (!started.ok()) return started;
  workers_[count_++] = std::move(worker);
  return {};
}

void HelperThreads::end_one() noexcept {
  Worker& worker = *workers_[--count_];
  worker.stop.complete();
  core_.help().ring();
  worker.thread.join();
  workers_[count_].reset();
}

void HelperThreads::run(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  while (!worker.stop.done()) worker.helper->help(kSleepUs);
}

}  // namespace vicinal::engine
