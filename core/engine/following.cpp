// The writer's role in an index that follows a file: what another process committed becomes a
// version (follower.hpp).
#include "base/assert.hpp"
#include "engine/core.hpp"

namespace vicinal::engine {

Result<bool> Core::refresh() noexcept {
  if (closed()) return Status(Code::closed);
  if (follower_ == nullptr || !take_role()) return false;
  auto published = follow_newest();
  token_.give_back();
  if (published.ok() && *published) followed_.ring();
  return published;
}

Result<bool> Core::follow_newest() noexcept {
  Status allowed = damaged();
  if (allowed.ok()) allowed = check_retired();
  if (!allowed.ok()) {
    follower_->put_off();
    return allowed;
  }
  const auto& newest = static_cast<const segment::Version&>(*root_.newest());
  auto news = follower_->look(newest.sequence);
  while (news.ok() && *news) {  // each turn with fewer records
    Status made = builder_.begin(newest, follower_->sequence());
    if (made.ok()) {
      segment::Replay replay(builder_, options_.metric);
      made = follower_->apply(replay, damage_);
      if (made.ok()) made = damaged();
      if (made.ok()) {
        publish();
        follower_->keep();
        return true;
      }
      builder_.abandon();
    }
    news = follower_->take_back(made);
    if (news.ok() && !*news) return made;
  }
  return news;
}

void Core::follow_to(std::uint64_t sequence) noexcept {
  follow();
  for (int turn = 0; turn < kFollowWaitsMax; ++turn) {
    if (follower_ == nullptr || root_.sequence() >= sequence || !follower_->has_news()) return;
    const std::uint32_t seen = followed_.prepare();
    follow();
    if (root_.sequence() < sequence && token_.held()) followed_.wait(seen, kWaitUsMax);
  }
}

}  // namespace vicinal::engine
