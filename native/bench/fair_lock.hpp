// A reader-writer lock that lets nobody overtake: what `locked-pool` puts around an index.
//
// Thread safety: any number of threads; whoever locked unlocks.
// I1: first come, first served. A reader that arrives behind a waiting writer waits as well, so
//     that neither side can starve the other; readers that stand together enter together.
// I2: the lock is handed to who waits, never left open for a newcomer to snatch.
// Who waits sleeps: a lock that spins would burn what other callers need once there are more
// callers than cores.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace vicinal::bench {

// For std::shared_lock and std::unique_lock.
class FairLock {
 public:
  void lock_shared() { enter(Kind::shared); }
  void unlock_shared();
  void lock() { enter(Kind::exclusive); }
  void unlock();
  // Those who stand in the queue, for tests.
  [[nodiscard]] std::size_t waiting();

 private:
  enum class Kind { shared, exclusive };
  struct Waiter {
    explicit Waiter(Kind wanted) : kind(wanted) {}
    Kind kind;
    bool admitted = false;
    std::condition_variable wake;
  };

  void enter(Kind kind);
  // Those who now hold the lock, with mutex_ held.
  [[nodiscard]] bool admits(Kind kind) const noexcept;
  void admit(Kind kind) noexcept;
  void admit_waiters();

  std::mutex mutex_;
  std::deque<Waiter*> queue_;
  std::size_t readers_ = 0;
  bool writer_ = false;
};

}  // namespace vicinal::bench
