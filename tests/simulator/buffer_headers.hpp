// What a buffer header must do, of any header: for scenarios and for broken ones.
//
// Thread safety: a body, as of a scenario.
#pragma once

#include <cstdint>

#include "cache/buffer_header.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {

// Frames that are pinned, read and written under their lock, and taken away by one who may come
// while they are held.
template <class Header>
struct Buffers {
  struct Buffer {
    Header header;
    sync::Plain<std::uint32_t> content;
    sync::Plain<std::uint32_t> retired;
    sync::Plain<std::uint32_t> left_by_detacher;
  };

  Buffer buffer;

  // By the one that the header names.
  void retire() {
    check(buffer.retired == 0, "retired twice");
    buffer.retired = 1;
    check(buffer.left_by_detacher < 2, "what its detacher did");
    buffer.content = 1000;  // another page's
  }
  void use(bool writes) {
    const cache::Pinned pinned = buffer.header.pin();
    if (pinned == cache::Pinned::last) retire();
    if (pinned != cache::Pinned::yes) return;
    if (writes ? buffer.header.try_exclude() : buffer.header.try_share()) {
      check(buffer.content < 1000, "another page is read");
      if (writes) buffer.content = buffer.content + 1;
      writes ? buffer.header.unexclude() : buffer.header.unshare();
    }
    if (buffer.header.unpin()) retire();
  }
  void take_away() {
    if (pick(2) == 0) {
      if (buffer.header.evict()) retire();
      return;
    }
    buffer.left_by_detacher = 1;
    if (buffer.header.detach()) retire();
  }

  static void run() {
    Buffers all;
    for (std::uint32_t user = 0; user < 3; ++user) {
      spawn([&all, user] {
        for (int turn = 0; turn < 3; ++turn) all.use(user != 0 && pick(2) == 0);
      });
    }
    if (pick(4) != 0) spawn([&all] { all.take_away(); });
    join_all();
    check(all.buffer.header.pins() == 0, "a pin was lost");
    check(all.buffer.header.try_exclude(), "an addition to the lock was lost");
    if (all.buffer.retired == 0) check(all.buffer.header.evict(), "it is on its way out");
  }
};

}  // namespace vicinal::sim
