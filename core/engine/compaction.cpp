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
  // So that their extents need no room for more rows.
  if (journal_ != nullptr && waiting_compaction() != nullptr) builder_.seal_segments(newest);
  while (Message* message = waiting_compaction()) {
    any = true;
    message->status = closed() ? Status(Code::closed) : damaged();
    message->receipt.sequence = newest.sequence;
    message->receipt.count = newest.rows_dropped - message->dropped_before;
    in_hand_.complete(*message);
  }
  return any;
}

bool Core::compaction_is_urgent() const noexcept {
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  return rows_are_urgent(newest) || strings_are_urgent(newest);
}

bool Core::rows_are_urgent(const segment::Version& newest) const noexcept {
  return newest.dead_rows > newest.live_rows && newest.dead_rows >= kCompactDeadMin &&
         (compaction_.active() || newest.sequence >= compact_retry_);
}

bool Core::strings_are_urgent(const segment::Version& newest) const noexcept {
  if (newest.strings.entries < newest.live_rows + kCompactDeadMin) return false;
  return newest.strings.entries > newest.live_rows * 2 && newest.sequence >= string_retry_;
}

std::uint64_t Core::retirable_bytes() noexcept {
  // What is replaced may have to wait for a reader, and writes are not to get BUSY for that.
  bool held = false;
  slots_.scan([&held](std::uint32_t, sync::Pin) { held = true; });
  if (!held) return ~std::uint64_t{0};
  const std::uint64_t half = options_.retired_bytes_max / 2;
  if (reclaimer_.bytes() > half) reclaim();
  return half - std::min(half, reclaimer_.bytes());
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
  goal.bytes_max = retirable_bytes();
  if (compaction_.plan(newest, goal)) return true;
  // What was left out for now is not looked for at every write.
  compact_retry_ = newest.sequence + kCompactRetryVersions;
  return false;
}

std::uint64_t Core::blocks_owed(const segment::Version& newest) noexcept {
  const std::uint64_t before = std::exchange(dead_rows_seen_, newest.dead_rows);
  if (!rows_are_urgent(newest) || newest.dead_rows <= before) return 0;
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
    failed = failed || damage_.any();  // I9
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

bool Core::move_strings(const segment::Version& newest, std::uint64_t deadline_ns) noexcept {
  segment::VersionBuilder::StringGoal goal;
  if (waiting_compaction() != nullptr) {
    goal = {.dead_percent = 0, .open = true, .birth_max = compact_goal_};
  } else if (newest.sequence < string_retry_) {
    return false;
  }
  if (!segment::VersionBuilder::any_strings_to_move(newest, goal) ||
      retirable_bytes() < segment::kStringChunkBytesMax) {
    return false;
  }
  const std::uint64_t added = newest.strings.end - std::exchange(string_end_seen_,
                                                                 newest.strings.end);
  const std::uint64_t owed = strings_are_urgent(newest) ? added * kStringsForAString : 0;
  bool failed = !builder_.begin(newest).ok();
  for (std::uint64_t looked_at = 0; !failed;) {
    const auto moved = builder_.move_strings(goal);
    failed = !moved.ok();
    if (failed || *moved == 0) break;
    looked_at += *moved;
    if (looked_at >= owed && platform::monotonic_ns() >= deadline_ns) break;
  }
  if (failed) string_retry_ = newest.sequence + kCompactRetryVersions;
  const bool changed = builder_.active() && builder_.changed();
  if (builder_.active()) publish();
  return changed;
}

bool Core::compact_slice(std::uint64_t budget_us) noexcept {
  if (closed() || damage_.any()) {
    compaction_.give_up();
    return answer_compactions();
  }
  if (follower_ != nullptr) return false;  // I10
  const bool begins = !compaction_.active();
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  const std::uint64_t deadline_ns = platform::monotonic_ns() + budget_us * 1000;
  // Rows may always be worth it, and strings must get their turn.
  if (begins && strings_are_urgent(newest) && move_strings(newest, deadline_ns)) return true;
  const bool planned = !begins || plan_compaction(newest);
  if (!planned && newest.strings.any() && move_strings(newest, deadline_ns)) return true;
  const bool advanced = planned && advance_compaction(begins, deadline_ns);
  // What does not fit is put off, for those who wait as well.
  return advanced || answer_compactions();
}

}  // namespace vicinal::engine
