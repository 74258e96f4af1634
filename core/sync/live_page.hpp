// How a process that maps an index file hears of another's commits: a page of the file that all of
// them map.
//
// Thread safety: any thread of any process; stores by the file's one writer.
// I1: what lies before `end` in the file was written before `end` was stored [live]. Who reads
//     `end` reads it through the page cache of one system, as the loads and stores themselves.
// I2: nothing here is trusted: it is not checked, survives a loss of power in any state, and
//     another process may have stored anything.
// I3: a follower looks at the page before each use of the index: it does not wait, and what it
//     overlooks now it sees the next time. So `state` needs no order: who reads it opens the path,
//     and finds there what the system says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"

namespace vicinal::sync {

struct LivePage {
  Atomic<std::uint64_t> end;       // behind the newest commit that may be read
  Atomic<std::uint64_t> sequence;  // of it: a figure
  Atomic<std::uint32_t> state;     // storage::LiveState
  std::uint32_t unused = 0;
  Atomic<std::uint64_t> writer;    // the process that has the file for writing; 0: none

  void announce(std::uint64_t end_now, std::uint64_t sequence_now) noexcept {
    sequence.store(sequence_now, relaxed);
    end.store(end_now, release);  // [live]
  }
  [[nodiscard]] std::uint64_t announced() const noexcept { return end.load(acquire); }  // [live]

  // Another file has this one's name, and goes on where this one ends.
  void say_moved() noexcept { state.store(kMoved, relaxed); }
  [[nodiscard]] bool moved() const noexcept { return state.load(relaxed) == kMoved; }

  static constexpr std::uint32_t kMoved = 1;
};

#ifndef VICINAL_ATOMICS_SIMULATED
static_assert(offsetof(LivePage, sequence) == 8 && offsetof(LivePage, state) == 16 &&
              offsetof(LivePage, writer) == 24 && sizeof(LivePage) == 32);
#endif

}  // namespace vicinal::sync
