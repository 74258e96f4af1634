// Publishing versions to readers that never wait.
//
// Thread safety: enter and leave by the owner of the slot; publish by the holder of the writer's
// token.
//
// The protocol. A reader's steps are
//   (a) e = generation            acquire [generation]
//   (b) pin = RANGE e             seq_cst [pin]      the only full fence of a search
//   (c) v = current               seq_cst [current]
//   (d) pin = EXACT v.sequence    release [pin]
//   ... reads v and all that it reaches ...
//   (e) pin = IDLE                release [pin]
// and the writer's, for commit n,
//   (0) what Vn replaces goes to the reclaimer with retire = n
//   (1) current = Vn              seq_cst [current]
//   (3) generation = n            release [generation]
//   (2) now and then: reads every pin, seq_cst [pin], and frees each object that no pin holds.
//
// Why no object is freed under a reader. Let o be reachable from versions birth..n-1.
//   (b) before (2) in the one order of seq_cst operations: the scan sees RANGE e or a later value
//     of that pin. If e < n, o is kept. If e >= n, (a) acquired a generation that was stored after
//     (1), so (c) gives Vn or a later version, from which o is not reachable.
//   (2) before (b): then (1) < (2) < (b) < (c), so (c) cannot give a version before Vn.
//   EXACT s: o is reachable from version s exactly when birth <= s < retire. The version itself is
//     an object with birth s and retire s + 1.
//   A scan that reads IDLE, or the pin of a later search, reads a release store that comes after
//     the reader's last access, so every access happens before the free. (d) must be a release too:
//     the scan may read it in place of an (e) before it, and in C++20 a later relaxed store of the
//     same thread would not continue that release sequence.
// (0) comes before (1), though nothing is freed before (2), for the sake of a writer that dies in
// between: its successor finds in the reclaimer's list whatever the newest version does not reach,
// and drops from it what is marked with a later version (reclaimer.hpp). The other way round, what
// Vn replaced would be lost. One that dies between (1) and (3) leaves a generation behind
// `current`, which only makes readers announce more; the successor does (3) before its own (1).
// A reader takes a fixed number of steps. A search takes effect at (c), a commit at (1).
//
// I1: `current` is never null once the first version is published.
// I2: this line is stored to by the writer alone.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "sync/atomic.hpp"
#include "sync/reader_slots.hpp"
#include "sync/versioned.hpp"

namespace vicinal::sync {

class alignas(128) VersionRoot {
 public:
  // Steps (a) to (d). The version stays valid until `leave` on the same slot.
  [[nodiscard]] const VersionHeader* enter(ReaderSlot& slot) const noexcept {
    const std::uint64_t generation = load_generation();
    announce(slot, generation);
    const VersionHeader* version = load_current();
    narrow(slot, version->sequence);
    return version;
  }
  // The same for somebody who keeps the version without being in a search.
  [[nodiscard]] const VersionHeader* hold(ReaderSlot& slot) const noexcept {
    const VersionHeader* version = enter(slot);
    slot.pin.store(Pin::held(version->sequence), release);  // [pin] (d), once more
    return version;
  }

  // Step (e).
  static void leave(ReaderSlot& slot) noexcept { slot.pin.store(0, release); }

  // Steps (1) and (3); `retire_replaced` runs before them, as (0).
  template <class RetireReplaced>
  void publish(const VersionHeader* version, RetireReplaced retire_replaced) noexcept {
    VICINAL_ASSERT(version != nullptr);
    retire_replaced();
    store_current(version);
    generation_.store(version->sequence, release);  // [generation] (3)
  }

  // Step (3) of a writer that may have died before it; by its successor.
  void recover() noexcept { generation_.store(newest()->sequence, release); }  // [generation]

  // The newest version, for the holder of the writer's token, who alone retires versions.
  [[nodiscard]] const VersionHeader* newest() const noexcept { return current_.load(relaxed); }
  // The newest sequence, for anyone; never behind a commit that was over before the call. Who has
  // entered a version between its steps (1) and (3) may get the one before.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return load_generation(); }

 private:
  friend struct VersionRootSteps;  // tests take the steps one by one, in every order

  [[nodiscard]] std::uint64_t load_generation() const noexcept {
    return generation_.load(acquire);  // [generation] (a)
  }
  static void announce(ReaderSlot& slot, std::uint64_t generation) noexcept {
    slot.pin.store(Pin::range(generation), seq_cst);  // [pin] (b): ordered before (c)
  }
  [[nodiscard]] const VersionHeader* load_current() const noexcept {
    return current_.load(seq_cst);  // [current] (c): ordered after (b)
  }
  static void narrow(ReaderSlot& slot, std::uint64_t sequence) noexcept {
    slot.pin.store(Pin::exact(sequence), release);  // [pin] (d)
  }
  void store_current(const VersionHeader* version) noexcept {
    current_.store(version, seq_cst);  // [current] (1): ordered before the scan (2)
  }

  Atomic<const VersionHeader*> current_;
  Atomic<std::uint64_t> generation_;
};

}  // namespace vicinal::sync
