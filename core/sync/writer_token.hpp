// The writer's role: held by one thread at a time, taken by whoever has work and finds it free, or
// taken from a holder that is dead.
//
// Thread safety: any thread; give_back and epoch only by the holder; take_from by any thread that
// has proof of the realm's death.
//
// No message is left behind. A producer pushes (P1, seq_cst) and then tries the token (P2,
// seq_cst). A holder gives it back (H1, seq_cst) and then looks at every ring again (H2, seq_cst).
// A producer that was refused read the token as held, or as free and then lost the exchange to that
// holder; either way it read what was there before that holder's H1, so P2 comes before H1 in the
// one order of seq_cst operations: P1 < P2 < H1 < H2, and H2 sees the message. Whoever finds one
// pending tries again. Where the holder died, (t) stands for its H1, and who did (t) rings the
// doorbell for the look.
//
// After a death. The word is {epoch, realm of the holder + 1, or 0}. With
//   (p) proof that a realm runs no more: all that it did happens before it,
//   (t) a word that says "held by that realm" becomes {epoch + 1, 0}, compare-exchange seq_cst,
// the role is free, and what the dead holder had under its hands is as it left it, between any two
// instructions. (t) happens before the next try that succeeds; the next holder sees an epoch that
// it has not mended for, and mends before anything else (engine/core.hpp I8). A holder that dies
// while it mends is followed by another epoch, so mending begins anew.
// Without (p) two threads would write at once. (t) cannot hit a successor: a realm's number is not
// given to another before (t) (reader_slots.hpp I4), and no living holder has the number.
//
// I1: what a holder did happens before what the next holder does [token].
// I2: holders of realm 0 cannot be ended from outside, and are never taken from.
// I3: the epoch counts deaths.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "sync/atomic.hpp"

namespace vicinal::sync {

class alignas(128) WriterToken {
 public:
  [[nodiscard]] bool try_acquire(std::uint32_t realm = 0) noexcept {
    std::uint64_t seen = word_.load(seq_cst);  // [token] (P2)
    // Again only where somebody died between the look and the exchange.
    while (holder(seen) == 0) {
      const std::uint64_t mine = seen | (std::uint64_t{realm} + 1);
      // relaxed on failure: the load above is P2.
      if (word_.compare_exchange(seen, mine, seq_cst, relaxed)) return true;  // [token]
    }
    return false;
  }
  void give_back() noexcept {
    const std::uint64_t mine = word_.load(relaxed);  // ours
    VICINAL_ASSERT(holder(mine) != 0);
    word_.store(mine & ~kHolder, seq_cst);  // [token] (H1)
  }
  // (t), under (p). False: that realm does not hold it.
  bool take_from(std::uint32_t realm) noexcept {
    VICINAL_ASSERT(realm != 0);  // I2
    std::uint64_t seen = word_.load(relaxed);  // the dead one's own store, by (p), or a later one
    if (holder(seen) != std::uint64_t{realm} + 1) return false;
    const std::uint64_t free = (seen & ~kHolder) + (std::uint64_t{1} << kEpochShift);
    return word_.compare_exchange(seen, free, seq_cst, relaxed);  // [token] (t)
  }
  [[nodiscard]] bool held() const noexcept { return holder(word_.load(relaxed)) != 0; }
  // Exact for the holder, a figure for others.
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return static_cast<std::uint32_t>(word_.load(relaxed) >> kEpochShift);
  }

 private:
  static constexpr std::uint32_t kEpochShift = 32;
  static constexpr std::uint64_t kHolder = 0xffffffff;

  [[nodiscard]] static constexpr std::uint64_t holder(std::uint64_t word) noexcept {
    return word & kHolder;
  }

  Atomic<std::uint64_t> word_;
};

}  // namespace vicinal::sync
