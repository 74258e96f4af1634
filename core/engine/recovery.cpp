// The writer's role after a death: what the dead holder left is made whole (core.hpp I8).
#include "engine/core.hpp"
#include "platform/realm.hpp"

namespace vicinal::engine {

void Core::take_role_from(std::uint32_t realm) noexcept {
  (void)token_.take_from(realm);
  if (journal_ != nullptr) journal_->take_from(realm);
  // In either case, since nobody else may come by: whoever works next looks at what was in hand,
  // and a holder that gave the role back may have died before its look at what it had refused (H2).
  doorbell_.ring();
}

bool Core::take_role() noexcept {
  if (!token_.try_acquire(platform::realm())) return false;
  if (token_.epoch() != recovered_epoch_) recover();
  in_hand_.free_let_go();
  return true;
}

void Core::recover() noexcept {
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  root_.recover();
  if (newest.calibration != nullptr) {
    calibration_.store(newest.calibration->number, sync::release);  // [calibration], I6
  }
  reclaimer_.recover(newest.sequence);
  builder_.set_bytes_ended(reclaimer_.freed_bytes());
  lost_buffers_ += compaction_.forget();
  if (follower_ != nullptr) follower_->forget();
  const std::uint64_t leaked = builder_.recover(newest, reclaimer_.bytes());
  leaked_bytes_.store(leaked + lost_buffers_, sync::relaxed);
  recover_messages();
  // Last: who dies before it is followed by another epoch.
  recovered_epoch_ = token_.epoch();
}

void Core::recover_messages() noexcept {
  if (in_hand_.recover()) ++recovered_messages_;
  for (sync::Atomic<Lane*>& lane : lanes_) {
    Lane* ring = lane.load(sync::acquire);  // [lane]
    if (ring == nullptr) continue;
    const Message* oldest = ring->peek();
    if (oldest != nullptr && in_hand_.has(oldest)) ring->drop();  // in_hand.hpp (r)
  }
  const std::uint64_t newest = root_.newest()->sequence;
  for (Message* message = in_hand_.first(); message != nullptr;) {
    Message* next = InHand::after(*message);
    const std::uint64_t planned = message->planned.load(sync::relaxed);
    if (planned == 0 || planned > newest || message->kind() == MessageKind::compact) {
      // From scratch. One that waited for a compaction waits again, for less if anything.
      if (message->kind() != MessageKind::compact) message->planned.store(0, sync::relaxed);
      message->status = Status();
    } else {
      message->receipt.sequence = planned;
      ++recovered_messages_;
      in_hand_.complete(*message);
    }
    message = next;
  }
  compact_goal_ = newest;
}

}  // namespace vicinal::engine
