// The writer's role: held by one thread at a time, taken by whoever has work and finds it free.
//
// Thread safety: any thread; release only by the holder.
//
// No message is left behind. A producer pushes (P1, seq_cst) and then tries the token (P2,
// seq_cst). A holder gives it back (H1, seq_cst) and then looks at every ring again (H2, seq_cst).
// A producer that was refused read the token as held, so P2 comes before that holder's H1 in the
// one order of seq_cst operations: P1 < P2 < H1 < H2, and H2 sees the message. Whoever finds one
// pending tries again.
//
// I1: what a holder did happens before what the next holder does [token].
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "sync/atomic.hpp"

namespace vicinal::sync {

class alignas(128) WriterToken {
 public:
  [[nodiscard]] bool try_acquire() noexcept {
    std::uint32_t expected = 0;
    return held_.compare_exchange(expected, 1, seq_cst, seq_cst);  // [token] (P2)
  }
  void give_back() noexcept {
    VICINAL_ASSERT(held_.load(relaxed) == 1);
    held_.store(0, seq_cst);  // [token] (H1)
  }
  [[nodiscard]] bool held() const noexcept { return held_.load(relaxed) != 0; }

 private:
  Atomic<std::uint32_t> held_;
};

}  // namespace vicinal::sync
