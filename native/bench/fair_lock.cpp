#include "bench/fair_lock.hpp"

namespace vicinal::bench {

bool FairLock::admits(Kind kind) const noexcept {
  return !writer_ && (kind == Kind::shared || readers_ == 0);
}

void FairLock::admit(Kind kind) noexcept {
  if (kind == Kind::shared) {
    ++readers_;
  } else {
    writer_ = true;
  }
}

void FairLock::enter(Kind kind) {
  std::unique_lock guard(mutex_);
  if (queue_.empty() && admits(kind)) {  // I1
    admit(kind);
    return;
  }
  Waiter waiter(kind);
  queue_.push_back(&waiter);
  waiter.wake.wait(guard, [&waiter] { return waiter.admitted; });
}

// The waiter's condition variable lives on its stack: it is notified under the mutex, without
// which the waiter cannot leave.
void FairLock::admit_waiters() {
  while (!queue_.empty() && admits(queue_.front()->kind)) {
    Waiter* waiter = queue_.front();
    queue_.pop_front();
    admit(waiter->kind);
    waiter->admitted = true;
    waiter->wake.notify_one();
  }
}

void FairLock::unlock_shared() {
  const std::scoped_lock guard(mutex_);
  --readers_;
  admit_waiters();
}

std::size_t FairLock::waiting() {
  const std::scoped_lock guard(mutex_);
  return queue_.size();
}

void FairLock::unlock() {
  const std::scoped_lock guard(mutex_);
  writer_ = false;
  admit_waiters();
}

}  // namespace vicinal::bench
