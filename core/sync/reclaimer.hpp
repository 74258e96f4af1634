// Objects that the newest version no longer reaches, until no reader can.
//
// Thread safety: the holder of the writer's token; bytes() from any thread.
//
// A holder may die between any two instructions and its successor goes on with the list, so the
// list is whole at every instruction. All its links are stored with release: of two release stores
// of one thread, whoever sees the second sees the first, and what lies before it.
//   enter:  object's retire and link; then the head (release)
//   leave:  the link that leads to the object (release); then the object is freed, then counted
// A successor finds each object in the list or not, never half of it; one that had left and was
// not freed is lost. Objects enter before the version that replaces them is published, so those of
// a version that never was are at the front: they are still reached, and are dropped from the list.
//
// I1: an object enters once, before the version `retire` is stored, and no scan runs in between.
// I2: scanning never waits and never allocates.
// I3: freed_bytes() is never more than what was freed, whenever the holder dies.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/reader_slots.hpp"
#include "sync/versioned.hpp"

namespace vicinal::sync {

class Reclaimer {
 public:
  Reclaimer() = default;
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;
  // Destroys what is left; no reader may exist any more.
  ~Reclaimer();

  // From version `retire` on the object is unreachable. object->birth < retire.
  void retire(Versioned* object, std::uint64_t retire) noexcept;

  // Frees every object that no pin holds. Returns how many were freed.
  std::uint64_t scan(const ReaderSlots& slots) noexcept;

  // By the successor of a holder that died, with the sequence of the newest version: the list and
  // the figures are as if the holder had stopped between two operations.
  void recover(std::uint64_t newest) noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(relaxed); }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Of every object freed so far.
  [[nodiscard]] std::uint64_t freed_bytes() const noexcept { return freed_bytes_.load(relaxed); }

 private:
  Atomic<Versioned*> first_;
  std::uint64_t count_ = 0;
  Atomic<std::uint64_t> freed_bytes_;
  Atomic<std::uint64_t> bytes_;
};

}  // namespace vicinal::sync
