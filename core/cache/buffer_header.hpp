// A frame's header, for long uses: who holds it, whether it is on its way out, and a lock of what
// is in it. Short uses need none of it: a reading (readings.hpp) protects them.
//
// Thread safety: any thread.
//
// Two words of 32 bits, each accessed at its own size only. A single word of 64 with accesses to
// its halves would be outside of C++'s memory model and WebAssembly's.
//
// low: a count of pins, and two flags.
//   pin      low + 1, relaxed. Either flag there: low - 1 again, as `unpin`; it lost.
//   unpin    low - 1, release [unpin]
//   detach   low | DETACHED, release [detach]: nobody finds the frame any more
//   retire   low == DETACHED, no pins -> DETACHED | RETIRED, compare-exchange, acquire [unpin]
//   [detach] evict    low == 0 -> DETACHED | RETIRED, compare-exchange, acquire [unpin]
// Who detached it, and everybody who undoes a pin of a detached one, tries `retire`. It happens
// once, with the last pin or after it: a pin that comes later is undone, and finds RETIRED. All of
// these are read-modify-writes, so each continues the release sequences of those before it: who
// retires has acquired the last access of every one that held the frame, and what its detacher did
// before. A pin is relaxed: what is in the frame, its finder has acquired with its place in the
// table.
//
// high: the lock of the content. Bit 31: one holder; below: a count of those who share it.
//   share      high + 1, acquire [content]; bit 31 there: high - 1 again, relaxed; it lost
//   unshare    high - 1, release [content]
//   exclude    high == 0 -> bit 31, compare-exchange, acquire [content]
//   unexclude  high - bit 31, release [content]. A store of 0 would lose the additions of those who
//              are about to find that they lost, and their subtractions would wrap round.
//
// I1: usage is not counted here: the clock's bit is beside it, where setting it twice is free.
// I2: a frame is reused by the one that retired it, after `reset`, when nobody can try to pin it.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "sync/atomic.hpp"

namespace vicinal::cache {

enum class Pinned : std::uint8_t {
  yes,
  lost,  // it is on its way out
  last,  // the same, and the caller has retired it: unpin's `true`
};

class BufferHeader {
 public:
  [[nodiscard]] Pinned pin() noexcept {
    const std::uint32_t before = low_.fetch_add(1, sync::relaxed);
    VICINAL_ASSERT((before & kCount) < kCountMax);
    if ((before & kFlags) == 0) return Pinned::yes;
    return unpin() ? Pinned::last : Pinned::lost;
  }
  // Several at once, by who knows that it cannot lose: under the lock of those who evict and
  // detach.
  void pin_certainly(std::uint32_t pins) noexcept {
    const std::uint32_t before = low_.fetch_add(pins, sync::relaxed);
    VICINAL_ASSERT((before & kFlags) == 0 && (before & kCount) + pins <= kCountMax);
  }
  // True: the caller has retired it, and nobody else will.
  [[nodiscard]] bool unpin() noexcept {
    const std::uint32_t before = low_.fetch_sub(1, sync::release);  // [unpin]
    VICINAL_ASSERT((before & kCount) != 0);
    return before == (kDetached | 1) && retire();
  }
  // Once. True as of unpin.
  [[nodiscard]] bool detach() noexcept {
    const std::uint32_t before = low_.fetch_or(kDetached, sync::release);  // [detach]
    VICINAL_ASSERT((before & kFlags) == 0);
    return before == 0 && retire();
  }
  // False: somebody holds it.
  [[nodiscard]] bool evict() noexcept {
    std::uint32_t none = 0;
    return low_.compare_exchange(none, kFlags, sync::acquire, sync::relaxed);  // [unpin]
  }
  // I2.
  void reset() noexcept {
    const std::uint32_t before = low_.fetch_and(~kFlags, sync::relaxed);
    VICINAL_ASSERT(before == kFlags);
  }
  // A hint.
  [[nodiscard]] std::uint32_t pins() const noexcept { return low_.load(sync::relaxed) & kCount; }

  [[nodiscard]] bool try_share() noexcept {
    const std::uint32_t before = high_.fetch_add(1, sync::acquire);  // [content]
    VICINAL_ASSERT((before & ~kExclusive) < kCountMax);
    if ((before & kExclusive) == 0) return true;
    high_.fetch_sub(1, sync::relaxed);
    return false;
  }
  void unshare() noexcept {
    const std::uint32_t before = high_.fetch_sub(1, sync::release);  // [content]
    VICINAL_ASSERT((before & ~kExclusive) != 0);
  }
  [[nodiscard]] bool try_exclude() noexcept {
    std::uint32_t none = 0;
    return high_.compare_exchange(none, kExclusive, sync::acquire, sync::relaxed);  // [content]
  }
  void unexclude() noexcept {
    const std::uint32_t before = high_.fetch_sub(kExclusive, sync::release);  // [content]
    VICINAL_ASSERT((before & kExclusive) != 0);
  }

 private:
  friend struct BufferHeaderSteps;  // tests have broken ones

  static constexpr std::uint32_t kDetached = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kRetired = std::uint32_t{1} << 30;
  static constexpr std::uint32_t kFlags = kDetached | kRetired;
  static constexpr std::uint32_t kCount = kRetired - 1;
  static constexpr std::uint32_t kCountMax = kRetired / 2;
  static constexpr std::uint32_t kExclusive = std::uint32_t{1} << 31;

  [[nodiscard]] bool retire() noexcept {
    std::uint32_t unpinned = kDetached;
    return low_.compare_exchange(unpinned, kFlags, sync::acquire,  // [unpin] [detach]
                                 sync::relaxed);
  }

  sync::Atomic<std::uint32_t> low_;
  sync::Atomic<std::uint32_t> high_;
};

}  // namespace vicinal::cache
