// The writer's role: a batch of messages in, one version out.
#include <algorithm>

#include "base/assert.hpp"
#include "engine/core.hpp"
#include "platform/clock.hpp"

namespace vicinal::engine {
namespace {

// Pins are read when this much has been retired since, not at every commit: each read of a reader's
// line costs that reader a miss.
constexpr std::uint64_t kReclaimObjects = 256;
constexpr std::uint64_t kReclaimBytes = std::uint64_t{1} << 20;
// A longer budget is as good as none, and this one in nanoseconds cannot overflow.
constexpr std::uint64_t kBudgetUsMax = std::uint64_t{3600} * 1000 * 1000;

// In a batch no other message is planned before the batch is.
bool waits_for_compaction(const Message& message) noexcept {
  return message.kind() == MessageKind::compact && message.planned.load(sync::relaxed) != 0;
}

[[nodiscard]] Status duplicate(const Message& message, std::uint64_t row) noexcept {
  return message.has_strings() ? Status(Code::duplicate_id, row, 1)
                               : Status(Code::duplicate_id, message.ids()[row]);
}

}  // namespace

Message* Core::take_message() noexcept {
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const std::uint32_t at = (next_lane_ + i) % kLanes;
    Lane* lane = lanes_[at].load(sync::acquire);  // [lane]
    if (lane == nullptr) continue;
    if (Message* message = lane->peek()) {
      in_hand_.enter(*message);
      lane->drop();
      next_lane_ = at + 1;  // the next lane's turn, so that none starves
      return message;
    }
  }
  return nullptr;
}

std::uint32_t Core::run_batch(std::uint64_t budget_us) noexcept {
  const std::uint64_t deadline_ns =
      platform::monotonic_ns() + std::min(budget_us, kBudgetUsMax) * 1000;
  std::uint32_t completed = 0;
  Message* first = in_hand_.first_unplanned();
  if (first == nullptr) first = take_message();
  while (first != nullptr) {
    completed += run_version(first, deadline_ns);
    // What did not fit, once more, when what the version before it freed is free; and what a holder
    // that died had in hand.
    first = in_hand_.first_unplanned();
  }
  return completed;
}

std::uint32_t Core::run_version(Message* first, std::uint64_t deadline_ns) noexcept {
  const auto& base = static_cast<const segment::Version&>(*root_.newest());
  Status allowed = damaged();
  if (allowed.ok()) allowed = check_retired();
  if (allowed.ok()) allowed = builder_.begin(base);

  std::uint32_t count = 0;
  const auto next_behind = [this](const Message& message) {
    Message* next = InHand::after(message);
    return next != nullptr ? next : take_message();
  };
  Message* end = first;
  for (; end != nullptr; end = next_behind(*end)) {
    Message* message = end;
    if (message->planned.load(sync::relaxed) != 0) continue;  // waits for a compaction
    if (closed()) {
      message->status = Status(Code::closed);
    } else if (message->kind() == MessageKind::compact) {
      await_compaction(*message);
      continue;
    } else if (!allowed.ok()) {
      message->status = allowed;
    } else {
      apply(*message);
      if (message->status.code() == Code::full && builder_.changed()) {
        // How writes are batched must not decide: alone it might find memory that the others gave
        // up.
        VICINAL_ASSERT(count > 0);
        break;
      }
    }
    ++count;
    if (count == kBatchMessagesMax || platform::monotonic_ns() >= deadline_ns) {
      end = InHand::after(*message);
      break;
    }
  }
  if (builder_.active() && damage_.any()) refuse_batch(first, end);
  if (builder_.active()) publish_batch(first, end);
  const std::uint64_t sequence = root_.newest()->sequence;
  for (Message* message = first; message != end;) {
    Message* next = InHand::after(*message);  // a completed message is its producer's again
    if (!waits_for_compaction(*message)) {
      message->receipt.sequence = sequence;
      in_hand_.complete(*message);
    }
    message = next;
  }
  return count;
}

void Core::refuse_batch(Message* first, const Message* end) noexcept {
  builder_.abandon();
  for (Message* message = first; message != end; message = InHand::after(*message)) {
    if (!waits_for_compaction(*message) && message->status.ok()) message->status = damaged();
  }
}

void Core::publish_batch(Message* first, const Message* end) noexcept {
  if (builder_.changed()) {
    for (Message* message = first; message != end; message = InHand::after(*message)) {
      // Release [in-hand] (n): the outcome; and before the version is published.
      if (!waits_for_compaction(*message)) {
        message->planned.store(builder_.sequence(), sync::release);
      }
    }
  }
  publish();
}

void Core::publish() noexcept {
  if (!builder_.changed()) {
    builder_.abandon();
    return;
  }
  segment::Version* version = builder_.finish();
  root_.publish(version, [this] { builder_.retire_replaced(reclaimer_); });
  if (version->calibration != nullptr) {
    // Release [calibration], after the publish (I6).
    calibration_.store(version->calibration->number, sync::release);
  }
  if (reclaimer_.count() >= kReclaimObjects || reclaimer_.bytes() >= kReclaimBytes) reclaim();
}

void Core::reclaim() noexcept {
  if (reclaimer_.count() == 0) return;
  reclaimer_.scan(slots_);
  builder_.set_bytes_ended(reclaimer_.freed_bytes());
}

Status Core::check_retired() noexcept {
  // Whatever can be freed is freed before anything is refused.
  const bool near = reclaimer_.bytes() > options_.retired_bytes_max || !builder_.has_room();
  if (near || reclaimer_.bytes() >= kReclaimBytes) reclaim();
  if (reclaimer_.bytes() <= options_.retired_bytes_max) return {};
  return Status(Code::busy, reclaimer_.bytes(), options_.retired_bytes_max);
}

void Core::apply(Message& message) noexcept {
  apply_once(message);
  if (message.status.code() != Code::full || builder_.incoming() == nullptr) return;
  // I7: the memory of a compaction under way is the write's.
  compaction_.give_up();
  compact_retry_ = builder_.sequence() + kCompactRetryVersions;
  apply_once(message);
}

void Core::apply_once(Message& message) noexcept {
  switch (message.kind()) {
    case MessageKind::add:
    case MessageKind::upsert:
      message.status = apply_rows(message);
      break;
    case MessageKind::remove:
      message.status = apply_remove(message);
      break;
    case MessageKind::clear:
      message.status = apply_clear(message);
      break;
    case MessageKind::calibrate:
      message.status = apply_calibrate(message);
      break;
    case MessageKind::compact:
      VICINAL_ASSERT(false);  // waits elsewhere
      break;
  }
}

Status Core::apply_rows(Message& message) noexcept {
  if (message.calibration() != builder_.calibration()) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::stale_write));
  }
  if (message.has_strings()) {
    return apply_rows_of(message, [&message](std::uint64_t row) { return message.key(row); });
  }
  return apply_rows_of(message, [&message](std::uint64_t row) { return message.ids()[row]; });
}

template <class KeyOf>
Status Core::apply_rows_of(Message& message, KeyOf key_of) noexcept {
  const bool replace = message.kind() == MessageKind::upsert;
  const std::uint64_t count = message.count();
  const segment::VersionBuilder::Savepoint savepoint = builder_.savepoint();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = key_of(i);
    message.replaced()[i] = segment::Slot{};
    Status step;
    // Finds rows of this message too: an id that stands twice in it.
    const segment::Slot old = builder_.find(key);
    if (old.valid()) {
      step = replace ? builder_.kill(old) : duplicate(message, i);
      if (step.ok()) message.replaced()[i] = old;
    }
    if (step.ok()) {
      step = builder_.append(key, message.packed_row(i), message.factors(i), count - i,
                             message.original(i));
    }
    if (!step.ok()) {
      undo(message, i + 1);
      builder_.rollback(savepoint);
      return step;
    }
  }
  message.receipt.count = count;
  return {};
}

// Brings back what the first `rows` rows of the message replaced or removed, the last one first.
void Core::undo(Message& message, std::uint64_t rows) noexcept {
  for (std::uint64_t i = rows; i-- > 0;) {
    if (message.replaced()[i].valid()) builder_.revive(message.replaced()[i]);
  }
}

Status Core::apply_remove(Message& message) noexcept {
  if (message.has_strings()) {
    return apply_remove_of(message, [&message](std::uint64_t row) { return message.key(row); });
  }
  return apply_remove_of(message, [&message](std::uint64_t row) { return message.ids()[row]; });
}

template <class KeyOf>
Status Core::apply_remove_of(Message& message, KeyOf key_of) noexcept {
  const segment::VersionBuilder::Savepoint savepoint = builder_.savepoint();
  std::uint64_t removed = 0;
  for (std::uint64_t i = 0; i < message.count(); ++i) {
    const segment::Slot slot = builder_.find(key_of(i));
    message.replaced()[i] = slot;
    if (!slot.valid()) continue;
    const Status killed = builder_.kill(slot);
    if (!killed.ok()) {
      undo(message, i);
      builder_.rollback(savepoint);
      return killed;
    }
    ++removed;
  }
  message.receipt.count = removed;
  return {};
}

Status Core::apply_clear(Message& message) noexcept {
  const std::uint64_t rows = builder_.live_rows();
  const Status cleared = builder_.clear();
  if (cleared.ok()) message.receipt.count = rows;
  return cleared;
}

Status Core::apply_calibrate(Message& message) noexcept {
  // Codes of rows that are there already would mean other vectors from now on.
  if (builder_.live_rows() != 0) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::calibrate));
  }
  return builder_.calibrate(message.fit());
}

}  // namespace vicinal::engine
