// Objects that the newest version no longer reaches, until no reader can.
//
// Thread safety: the holder of the writer's token; bytes() from any thread.
// I1: an object enters once, after the version that replaced it was stored (version_root.hpp).
// I2: scanning never waits and never allocates.
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

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(relaxed); }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Of every object freed so far.
  [[nodiscard]] std::uint64_t freed_bytes() const noexcept { return freed_bytes_; }

 private:
  Versioned* first_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t freed_bytes_ = 0;
  Atomic<std::uint64_t> bytes_;
};

}  // namespace vicinal::sync
