// The writer's role between messages: compactions, a slice at a time.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "engine/core.hpp"
#include "platform/clock.hpp"

namespace vicinal::engine {

void Core::await_compaction(Message& message) noexcept {
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  message.dropped_before = newest.rows_dropped;
  // Segments that writes make from now on are not waited for, or there might be no end.
  compact_goal_ = newest.sequence + (builder_.active() ? 1 : 0);
  message.planned.store(newest.sequence + 1, sync::release);  // [in-hand]: it waits
}

Message* Core::waiting_compaction() const noexcept {
  Message* message = in_hand_.first();
  while (message != nullptr && (message->kind() != MessageKind::compact ||
                                message->planned.load(sync::relaxed) == 0)) {
    message = InHand::after(*message);
  }
  return message;
}

bool Core::answer_compactions() noexcept {
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  bool any = false;
  while (Message* message = waiting_compaction()) {
    any = true;
    if (closed()) message->status = Status(Code::closed);
    message->receipt.sequence = newest.sequence;
    message->receipt.count = newest.rows_dropped - message->dropped_before;
    in_hand_.complete(*message);
  }
  return any;
}

bool Core::compaction_is_urgent() const noexcept {
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  return newest.dead_rows > newest.live_rows && newest.dead_rows >= kCompactDeadMin &&
         (compaction_.active() || newest.sequence >= compact_retry_);
}

bool Core::plan_compaction(const segment::Version& newest) noexcept {
  segment::Compaction::Goal goal;
  if (waiting_compaction() != nullptr) {
    goal.birth_max = compact_goal_;
    goal.merge = true;
  } else {
    const std::uint64_t rows = newest.live_rows + newest.dead_rows;
    // Then one segment at least has as many of its own.
    if (newest.dead_rows < kCompactDeadMin || newest.sequence < compact_retry_ ||
        newest.dead_rows * 100 < rows * kCompactDeadPercent) {
      return false;
    }
    goal.dead_percent = kCompactDeadPercent;
  }
  // Sources may have to wait for a reader, and writes are not to get BUSY for that.
  bool held = false;
  slots_.scan([&held](std::uint32_t, sync::Pin) { held = true; });
  if (held) {
    const std::uint64_t half = options_.retired_bytes_max / 2;
    if (reclaimer_.bytes() > half) reclaim();
    goal.bytes_max = half - std::min(half, reclaimer_.bytes());
  }
  if (compaction_.plan(newest, goal)) return true;
  // What was left out for now is not looked for at every write.
  compact_retry_ = newest.sequence + kCompactRetryVersions;
  return false;
}

std::uint64_t Core::blocks_owed(const segment::Version& newest) noexcept {
  const std::uint64_t before = std::exchange(dead_rows_seen_, newest.dead_rows);
  if (!compaction_is_urgent() || newest.dead_rows <= before) return 0;
  return (newest.dead_rows - before) * kMovedForADeadRow / simd::kBlockRows;
}

bool Core::advance_compaction(bool begins, std::uint64_t deadline_ns) noexcept {
  using Step = segment::Compaction::Step;
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  bool failed = !builder_.begin(newest).ok();
  if (!failed) {
    failed = begins && !compaction_.start();
    Step step = Step::more;
    // One block at least, so that any budget ends, and those that are owed, however slow we are.
    const std::uint64_t owed = blocks_owed(newest);
    for (std::uint64_t blocks = 1; !failed && step == Step::more; ++blocks) {
      step = compaction_.move_block();
      failed = step == Step::failed;
      if (blocks >= owed && platform::monotonic_ns() >= deadline_ns) break;
    }
    if (!failed && step == Step::moved) {
      failed = !compaction_.show();
    }
    if (failed) {
      builder_.abandon();
    } else {
      builder_.keep_tables();
      publish();
      if (begins) compaction_.close_sources();
    }
  }
  if (failed) {
    compaction_.give_up();
    compact_retry_ = newest.sequence + kCompactRetryVersions;
  }
  return !failed;
}

bool Core::compact_slice(std::uint64_t budget_us) noexcept {
  if (closed()) {
    compaction_.give_up();
    return answer_compactions();
  }
  const bool begins = !compaction_.active();
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  const bool planned = !begins || plan_compaction(newest);
  const bool advanced =
      planned && advance_compaction(begins, platform::monotonic_ns() + budget_us * 1000);
  // What does not fit is put off, for those who wait as well.
  return advanced || answer_compactions();
}

}  // namespace vicinal::engine
