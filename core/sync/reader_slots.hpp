// Where each reader announces which versions it may be looking at.
//
// Thread safety: claim, release_slot and slot from any thread; the pin of a slot is stored only by
// its owner; scan by the writer; retire and retire_owned by any thread that has proof of death.
//
// After a death. Its owner gone, a slot stays pinned, and with it what its version reaches. Who has
// proof that the owner runs no more gives the slot back in its place:
//   (p) the proof: whatever made it known (a thread's exit, a lock that its end has released). All
//       that the owner ever did happens before it, its last access and its last store of the pin.
//   (i) pin = IDLE       release [pin]     as the owner's own step (e)
//   (o) owner = 0        relaxed
//   (g) claim given back release [claim]   only where the slot may be used again
// A scan that reads (i) acquires it, and through (p) the owner's accesses: they happen before the
// free. (i) follows the owner's stores in the pin's order, since they happen before it, so none of
// them can come later and hide it. (g) follows (i), or (i) would put an end to the next owner's pin
// and free under a live reader. Without (p), for example after a time-out, (i) is exactly that.
// An owner that dies between the claim and the store of its number, or between the store of 0 and
// the release, leaves an idle slot taken: that slot is lost and holds no memory.
//
// I1: a slot's line is stored to by its owner alone, or in its place by who has proof of its death;
//     claiming happens on other lines.
// I2: a chunk is published before any of its slots is handed out, seq_cst, and never removed; a
//     scan visits every slot of every published chunk, claimed or not. With release and acquire
//     alone the writer could miss a chunk whose reader announced before the scan [chunk].
// I3: a scan reads the pins of jobs after those of all readers (help_jobs.hpp).
// I4: an owner's number is not used by another until every slot of the dead one was retired.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/help_jobs.hpp"
#include "sync/pin.hpp"
#include "sync/slot_claims.hpp"
#include "vicinal/status.hpp"

namespace vicinal::sync {

// In the simulator every slot is a chunk of its own, so that each scenario publishes some.
inline constexpr std::uint32_t kChunkSlots = kSimulated ? 1 : 64;
inline constexpr std::uint32_t kReaderSlotsMax = kSimulated ? 64 : 4096;

struct alignas(128) ReaderSlot {
  Atomic<std::uint64_t> pin;
  Atomic<std::uint32_t> owner;  // who claimed it; 0: nobody, or somebody who has no number
};

// What becomes of the slot of a dead owner.
enum class Afterwards : std::uint8_t {
  keep,   // never handed out again, and counted
  reuse,  // the proof says that nothing of the owner is left: its thread has been joined
};

static_assert(sizeof(ReaderSlot) == 128);

class ReaderSlots {
 public:
  ReaderSlots() = default;
  ReaderSlots(const ReaderSlots&) = delete;
  ReaderSlots& operator=(const ReaderSlots&) = delete;
  ~ReaderSlots();

  // A free slot's number. BUSY(in use, limit) at the cap, FULL without memory.
  [[nodiscard]] Result<std::uint32_t> claim(std::uint32_t owner = 0) noexcept;
  // Returns a slot whose pin is IDLE.
  void release_slot(std::uint32_t number) noexcept;
  // Once, by whoever has proof that the slot's owner runs no more and will not be followed by
  // another retire of this slot: steps (i) to (g) above.
  void retire(std::uint32_t number, Afterwards afterwards) noexcept;
  // The same for all slots and jobs of an owner (not 0), under I4. Returns how many slots there
  // were.
  std::uint32_t retire_owned(std::uint32_t owner, Afterwards afterwards) noexcept;

  [[nodiscard]] ReaderSlot& slot(std::uint32_t number) noexcept;
  // By the living, and by dead whom nobody has proved dead.
  [[nodiscard]] std::uint32_t in_use() const noexcept { return claims_.count() - retired(); }
  // Kept from use after their owner's death.
  [[nodiscard]] std::uint32_t retired() const noexcept { return retired_.load(relaxed); }
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Whether at least `limit` readers are in a search: a hint.
  [[nodiscard]] bool searching(std::uint32_t limit) const noexcept;

  [[nodiscard]] HelpJobs& jobs() noexcept { return jobs_; }
  [[nodiscard]] const HelpJobs& jobs() const noexcept { return jobs_; }

  // Calls visit(number, Pin) for every slot whose pin is not IDLE, then, with numbers from
  // kReaderSlotsMax on, for every such job.
  template <class Visit>
  void scan(Visit visit) const noexcept {
    for (std::uint32_t c = 0; c < kReaderSlotsMax / kChunkSlots; ++c) {
      // seq_cst [chunk]: in the one order with the announcing store, so that a chunk whose reader
      // announced before this scan is seen.
      const Chunk* chunk = chunks_[c].load(seq_cst);
      if (chunk == nullptr) break;
      for (std::uint32_t i = 0; i < kChunkSlots; ++i) {
        // seq_cst [pin]: follows the store of the newest version in the one order; as an acquire it
        // also makes the reader's last accesses happen before a free.
        const Pin pin = Pin::of(chunk->slots[i].pin.load(seq_cst));
        if (pin.kind != Pin::Kind::idle) visit(c * kChunkSlots + i, pin);
      }
    }
    jobs_.scan([&](std::uint32_t job, Pin pin) { visit(kReaderSlotsMax + job, pin); });  // I3
  }

 private:
  struct Chunk {
    ReaderSlot slots[kChunkSlots];
  };

  SlotClaims<kReaderSlotsMax> claims_;
  Atomic<std::uint32_t> retired_;
  // Filled from the front; see I2.
  Atomic<Chunk*> chunks_[kReaderSlotsMax / kChunkSlots];
  HelpJobs jobs_;
};

}  // namespace vicinal::sync
