// Which of up to 4,096 numbered slots are taken. Cold: one compare-exchange to take or return one.
//
// Thread safety: every method from any thread.
// I1: a slot is taken by at most one owner; what an owner did before `give_back` happens before
//     what the next owner does after `take` [claim].
// I2: an owner that dies leaves its slot taken, nothing else.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace vicinal::sync {

template <std::uint32_t kCount>
class SlotClaims {
 public:
  static_assert(kCount % 64 == 0 && kCount <= 4096);
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The lowest free slot, or kNone.
  [[nodiscard]] std::uint32_t take() noexcept {
    for (std::uint32_t word = 0; word < kCount / 64; ++word) {
      std::uint64_t seen = words_[word].load(relaxed);
      while (seen != ~std::uint64_t{0}) {
        const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(~seen));
        // acquire [claim]: pairs with the release of the owner before.
        if (words_[word].compare_exchange(seen, seen | std::uint64_t{1} << bit, acquire, relaxed)) {
          return word * 64 + bit;
        }
      }
    }
    return kNone;
  }

  void give_back(std::uint32_t slot) noexcept {
    // release [claim]: the next owner's acquire.
    words_[slot / 64].fetch_and(~(std::uint64_t{1} << slot % 64), release);
  }

  [[nodiscard]] bool taken(std::uint32_t slot) const noexcept {
    return (words_[slot / 64].load(relaxed) >> slot % 64 & 1) != 0;
  }

  // Calls visit(slot) for every slot of first .. first + count - 1 that is taken. Multiples of 64.
  template <class Visit>
  void each_taken(std::uint32_t first, std::uint32_t count, Visit visit) const noexcept {
    // Whole words, or a part of one in the simulator.
    const std::uint64_t part = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
    for (std::uint32_t word = first / 64; word * 64 < first + count; ++word) {
      std::uint64_t left = words_[word].load(relaxed) & part << first % 64;
      for (; left != 0; left &= left - 1) {
        visit(word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(left)));
      }
    }
  }

  [[nodiscard]] std::uint32_t count() const noexcept {
    std::uint32_t total = 0;
    for (const Atomic<std::uint64_t>& word : words_) {
      total += static_cast<std::uint32_t>(__builtin_popcountll(word.load(relaxed)));
    }
    return total;
  }

 private:
  Atomic<std::uint64_t> words_[kCount / 64];
};

}  // namespace vicinal::sync
