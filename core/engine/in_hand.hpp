// The messages that the writer has taken from the rings and not completed, where a successor finds
// them.
//
// Thread safety: the holder of the writer's token; let_go by a message's producer, from any thread.
//
// A holder may die between any two instructions. For its successor to apply and complete every
// message exactly once, it stores, in this order and all with release (of two release stores of one
// thread, whoever sees the second sees the first):
//   take      (k) the message is entered at the list's end; (r) it leaves its ring
//   apply     its status and receipt, in the message
//   publish   (n) planned = the version that will show it; (0), (1) as version_root.hpp
//   complete  (A) completing = the message, (W) waking = the word that its producer sleeps on;
//             (B) it leaves the list; (C) its completion is set; (D) completing = null; its
//             producer is woken; (E) waking = null
// What the successor finds, and does:
//   between (k) and (r)   one message in the list and at its ring's front: it leaves the ring
//   planned > current     (1) did not happen: planned = 0, and it is applied from scratch
//   planned <= current    (1) happened: it is completed with the outcome that it has
//   planned = 0           no version of the dead holder shows it: it is applied
//   between (A) and (B)   completing is in the list: nothing was told yet, as above
//   between (B) and (D)   completing is not in the list: it is completed, unless (C) did it
//   between (W) and (E)   whoever sleeps there is woken, perhaps once more than needed. The word
//                         may be no message's any more: its address alone is used
// The successor takes back planned before it publishes anything, since its next version has the
// same number. It completes by the same steps, so it may die, too.
//
// A message's memory is its producer's after (C), but the successor looks at the message that is
// completing. So a producer that sees the completion frees a message only if `completing` is
// another one: (A) is before (C), so it reads (A) or what came later, and if it reads something
// later, (D) is past and nobody looks at the message again. Otherwise it lets go of the message,
// and a later holder frees it. It waits for nothing.
//
// I1: a message in the list is not completed, so its memory is there and its address is no other
//     message's.
// I2: the order of the list is that of the takes: a lane's messages are applied in their order,
//     after a death as before.
// I3: a message that asks for a compaction stays in the list until the compaction's end; planned is
//     not 0 when it waits for that.
#pragma once

#include <cstdint>

#include "engine/message.hpp"
#include "sync/atomic.hpp"

namespace vicinal::engine {

class alignas(128) InHand {
 public:
  // (k)
  void enter(Message& message) noexcept;
  // The oldest one; null: none.
  [[nodiscard]] Message* first() const noexcept { return first_.load(sync::relaxed); }
  [[nodiscard]] static Message* after(const Message& message) noexcept {
    return message.next.load(sync::relaxed);
  }
  // The oldest one that is not planned.
  [[nodiscard]] Message* first_unplanned() const noexcept;
  [[nodiscard]] bool has(const Message* message) const noexcept;
  // (A) to (E).
  void complete(Message& message) noexcept;
  // By the successor of a holder that died, before anything else here: ends (B) to (E). Whether it
  // completed a message.
  bool recover() noexcept;
  // Frees what producers have let go of.
  void free_let_go() noexcept;

  // By the producer of a message that is completed: whether it may free it. If not it forgets it.
  [[nodiscard]] bool let_go(Message& message) noexcept;

 private:
  sync::Atomic<Message*> first_;
  sync::Atomic<Message*> completing_;
  sync::Atomic<const void*> waking_;
  Message* last_ = nullptr;
  sync::Atomic<Message*> let_go_;  // linked by `next`
};

}  // namespace vicinal::engine
