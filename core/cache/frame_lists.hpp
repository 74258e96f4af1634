// Numbers of free frames: a list for each partition, under a lock of its own.
//
// Thread safety: any thread.
//
// A taker looks at its own list, then at the others, one lock at a time: two locks are never held
// together. A look at every list, one after the other, may find none though one was free all the
// time: it passes list 5, somebody gives a frame to 5 and takes one from 9, and 9 is empty when it
// gets there. So it counts: lists tell how many frames they were ever given. Where a second look
// finds all of them empty again, and the same sum, nobody has given any between its two visits to
// any list, so that all of them were empty at once, between the two looks: the table was full.
// Otherwise it looks again; each such turn is another thread's frame, given and taken.
//
// I1: a frame is in one list at most; who gave it back, "delete one, then insert one", finds one.
// I2: `filled_` is a hint for where to look: bits are set and cleared under their list's lock, and
//     read relaxed. What it overlooks, the looks under the locks find.
#pragma once

#include <cstdint>
#include <memory>

#include "sync/short_lock.hpp"
#include "vicinal/status.hpp"

namespace vicinal::cache {

inline constexpr std::uint32_t kPartitionsMax = 1024;

class FrameLists {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Frames 0 .. frames - 1, dealt out in turn. FULL(bytes, 0) without memory.
  [[nodiscard]] static Result<std::unique_ptr<FrameLists>> create(std::uint32_t partitions,
                                                                  std::uint32_t frames) noexcept;
  FrameLists(const FrameLists&) = delete;
  FrameLists& operator=(const FrameLists&) = delete;

  // A frame, or kNone where all lists were empty at a moment during the call. Adds 1 to `steals`
  // where it is another list's.
  [[nodiscard]] std::uint32_t take(std::uint32_t partition, std::uint64_t& steals) noexcept;
  // The same without the proof: kNone where no list looked filled.
  [[nodiscard]] std::uint32_t try_take(std::uint32_t partition, std::uint64_t& steals) noexcept;
  void give(std::uint32_t partition, std::uint32_t frame) noexcept;

  // Free frames; exact while nobody takes or gives.
  [[nodiscard]] std::uint32_t count() noexcept;

 private:
  struct alignas(128) List {
    sync::ShortLock lock;
    std::uint32_t first = kNone;
    std::uint32_t count = 0;
    std::uint64_t given = 0;
  };

  FrameLists() = default;
  [[nodiscard]] std::uint32_t pop(std::uint32_t partition) noexcept;
  // I2: from `partition` on, round.
  [[nodiscard]] std::uint32_t take_filled(std::uint32_t partition, std::uint64_t& steals) noexcept;
  // Under each lock in turn. The sum of what was given, where it took nothing.
  [[nodiscard]] std::uint32_t look(std::uint32_t partition, std::uint64_t& given,
                                   std::uint64_t& steals) noexcept;

  std::uint32_t partitions_ = 0;
  std::unique_ptr<List[]> lists_;
  std::unique_ptr<std::uint32_t[]> next_;  // by frame; of its list's lock
  alignas(128) sync::Atomic<std::uint64_t> filled_[kPartitionsMax / 64];
};

}  // namespace vicinal::cache
