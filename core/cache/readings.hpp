// Who may be looking at pages, so that a frame is not used for another page before they have gone
// on.
//
// Thread safety: begin and end by the owner of the slot; the rest from any thread.
//
// The protocol is that of versions (sync/version_root.hpp), without versions. A session's steps are
//   (a) e = generation         relaxed
//   (b) pin = RANGE e          seq_cst [reading]
//   (c) reads generation       seq_cst [unmapped]
//   ... finds frames through the table, reads them ...
//   (e) pin = RANGE e' by (b), or IDLE, seq_cst [reading]
// and those of who wants a frame back
//   (1) takes it out of the table
//   (3) n = generation + 1     seq_cst [unmapped]: it retired at n
//   (2) reads every pin        seq_cst [reading]; where each is IDLE, or RANGE e with e >= n, the
//                              frame is nobody's.
//
// Why no frame is reused under a reader. Let a scan give back one that retired at n.
//   (b) before (2) in the one order of seq_cst operations: the scan sees RANGE e, e >= n, or a
//   later
//     value of that pin. If e >= n, (c) gives e or more, since (a) is before it: it acquires (3) of
//     n, as every later (3) continues its release sequence, and (1) happens before the finding.
//   (2) before (b): (3) < (2) < (b) < (c), so (c) gives n or more: the same.
//   A later value of the pin is a release after the reader's last access, and the scan acquires it.
// A finding needs no order of its own for this: (1) happens before it or the frame is held.
//
// Nobody waits for ever. Who waits for a frame
//   (w) waiting + 1            seq_cst [waiting]
//   (x) reads the bell         seq_cst [event]
//   (y) looks: (2), lists, headers
//   (z) sleeps while the bell is what (x) read
// and whoever has made one free does so first, then
//   (f) looks at `waiting` and rings where it is not 0.
// After (e), (f) is a seq_cst load: (e) < (f), (w) < (y); were (y) before (e), then (w) before (f).
// After all else it is a read-modify-write, release: it comes after (w) in the word's order, and
// rings, or before, and then what made the frame free happens before (y).
//
// I1: generations only grow; a RANGE holds what retires after it.
// I2: a session that waits, or calls a source, has no pin.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "sync/event.hpp"
#include "sync/reader_slots.hpp"

namespace vicinal::cache {

class Readings {
 public:
  [[nodiscard]] sync::ReaderSlots& slots() noexcept { return slots_; }

  // (a) to (c), and where the slot had a pin, (e) of it.
  void begin(sync::ReaderSlot& slot) noexcept {
    slot.pin.store(sync::Pin::range(generation_.load(sync::relaxed)), sync::seq_cst);  // [reading]
    (void)generation_.load(sync::seq_cst);  // [unmapped] (c)
    notify_after_pin();
  }
  // (e).
  void end(sync::ReaderSlot& slot) noexcept {
    slot.pin.store(0, sync::seq_cst);  // [reading]
    notify_after_pin();
  }

  // (3), after (1).
  [[nodiscard]] std::uint64_t retire() noexcept {
    return generation_.fetch_add(1, sync::seq_cst) + 1;  // [unmapped]
  }
  // (2): what retired at this or before is nobody's.
  [[nodiscard]] std::uint64_t unread_until() const noexcept {
    std::uint64_t oldest = ~std::uint64_t{0};
    slots_.scan([&](std::uint32_t, sync::Pin pin) {
      VICINAL_ASSERT(pin.kind == sync::Pin::Kind::range);
      if (pin.number < oldest) oldest = pin.number;
    });
    return oldest;
  }

  // Somebody waits for a frame until its end.
  class Waiting {
   public:
    explicit Waiting(Readings& readings) noexcept : readings_(readings) {
      readings_.waiting_.fetch_add(1, sync::seq_cst);  // [waiting] (w)
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { readings_.waiting_.fetch_sub(1, sync::relaxed); }

    [[nodiscard]] std::uint32_t prepare() const noexcept { return readings_.bell_.prepare(); }
    // With this one; a hint.
    [[nodiscard]] std::uint32_t count() const noexcept {
      return readings_.waiting_.load(sync::relaxed);
    }
    void wait(std::uint32_t prepared, std::uint64_t wait_us_max) noexcept {
      readings_.bell_.wait(prepared, wait_us_max);
    }

   private:
    Readings& readings_;
  };

  // (f), of everything but pins.
  void notify() noexcept {
    if (waiting_.fetch_add(0, sync::release) != 0) bell_.ring();  // [waiting]
  }

 private:
  void notify_after_pin() noexcept {
    if (waiting_.load(sync::seq_cst) != 0) bell_.ring();  // [waiting]
  }

  sync::ReaderSlots slots_;
  // Stored to when a frame leaves the table: seldom, compared with what reads it.
  alignas(128) sync::Atomic<std::uint64_t> generation_;
  // A read-modify-write at the end of every hold: not on the line that every reading begins with.
  alignas(128) sync::Atomic<std::uint32_t> waiting_;
  alignas(128) sync::EventCount bell_;
};

}  // namespace vicinal::cache
