// Ways to hold a page in memory while its rows are read: a pin, and a shared lock of the content.
// `read(words)` is one of them: pin, share the lock, read ten rows, unshare, unpin.
//
// Thread safety: any thread.
// I1: each would refuse one who wants the page alone, as the lock of a header does: a read that met
//     one would begin anew. Nobody does in the benchmark, and what is compared is the price of
//     asking.
// I2: `retries` counts attempts that another thread's made vain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/buffer_header.hpp"
#include "cache/page_source.hpp"
#include "sync/atomic.hpp"

namespace vicinal::bench {

inline constexpr std::size_t kRowsOfAPage = 10;
inline constexpr std::size_t kRowStride = cache::kPageBytes / kRowsOfAPage / 8;

// A word of each row.
[[nodiscard]] inline std::uint64_t sum_of_rows(const std::uint64_t* words) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < kRowsOfAPage; ++row) sum += words[row * kRowStride];
  return sum;
}

template <class T>
class Halves {
 public:
  // word + add, by compare-exchange, where no bit of `taken` is set.
  static bool exchange_in(sync::Atomic<T>& word, T add, T taken, std::uint64_t& retries) noexcept {
    T seen = word.load(sync::relaxed);
    for (;;) {
      if ((seen & taken) != 0) return false;
      if (word.compare_exchange(seen, seen + add, sync::acquire, sync::relaxed)) return true;
      ++retries;
    }
  }
  static void exchange_out(sync::Atomic<T>& word, T add, std::uint64_t& retries) noexcept {
    T seen = word.load(sync::relaxed);
    while (!word.compare_exchange(seen, seen - add, sync::release, sync::relaxed)) ++retries;
  }
};

// One word of 64 bits, as PostgreSQL had for its header and has for a lock: pins below, the lock
// above, flags at the tops of both.
template <bool kExchangesOut>
class alignas(64) WholeHeader {
 public:
  static constexpr const char* kName = kExchangesOut ? "full-cas" : "cas-in-subtract-out";
  static constexpr std::uint64_t kSharedRmw = 4;
  using Word = std::uint64_t;

  std::uint64_t read(const std::uint64_t* words, std::uint64_t& retries) noexcept {
    using Whole = Halves<std::uint64_t>;
    while (!Whole::exchange_in(word_, kPin, kGone, retries)) ++retries;
    while (!Whole::exchange_in(word_, kShare, kExclusive, retries)) ++retries;
    const std::uint64_t sum = sum_of_rows(words);
    for (const std::uint64_t one : {kShare, kPin}) {
      if (kExchangesOut) {
        Whole::exchange_out(word_, one, retries);
      } else {
        word_.fetch_sub(one, sync::release);
      }
    }
    return sum;
  }

 private:
  static constexpr std::uint64_t kPin = 1;
  static constexpr std::uint64_t kGone = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kShare = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kExclusive = std::uint64_t{1} << 63;

  sync::Atomic<std::uint64_t> word_;
};

// Two words of 32 bits, each by compare-exchange: what the half-state patch does to halves of one.
class alignas(64) HalfCasHeader {
 public:
  static constexpr const char* kName = "half-cas";
  static constexpr std::uint64_t kSharedRmw = 4;
  using Word = std::uint64_t;

  std::uint64_t read(const std::uint64_t* words, std::uint64_t& retries) noexcept {
    using Half = Halves<std::uint32_t>;
    while (!Half::exchange_in(pins_, 1, kTop, retries)) ++retries;
    while (!Half::exchange_in(lock_, 1, kTop, retries)) ++retries;
    const std::uint64_t sum = sum_of_rows(words);
    Half::exchange_out(lock_, 1, retries);
    Half::exchange_out(pins_, 1, retries);
    return sum;
  }

 private:
  static constexpr std::uint32_t kTop = std::uint32_t{1} << 31;

  sync::Atomic<std::uint32_t> pins_;
  sync::Atomic<std::uint32_t> lock_;
};

// The core's header.
class alignas(64) HalfAddHeader {
 public:
  static constexpr const char* kName = "half-add";
  static constexpr std::uint64_t kSharedRmw = 4;
  using Word = std::uint64_t;

  std::uint64_t read(const std::uint64_t* words, std::uint64_t& retries) noexcept {
    while (header_.pin() != cache::Pinned::yes) ++retries;
    while (!header_.try_share()) ++retries;
    const std::uint64_t sum = sum_of_rows(words);
    header_.unshare();
    (void)header_.unpin();
    return sum;
  }

 private:
  cache::BufferHeader header_;
};

// Pin and lock are one addition of both, in one word of 64 bits.
class alignas(64) JointAddHeader {
 public:
  static constexpr const char* kName = "joint-add";
  static constexpr std::uint64_t kSharedRmw = 2;
  using Word = std::uint64_t;

  std::uint64_t read(const std::uint64_t* words, std::uint64_t& retries) noexcept {
    while ((word_.fetch_add(kBoth, sync::acquire) & kRefused) != 0) {
      word_.fetch_sub(kBoth, sync::relaxed);
      ++retries;
    }
    const std::uint64_t sum = sum_of_rows(words);
    word_.fetch_sub(kBoth, sync::release);
    return sum;
  }

 private:
  static constexpr std::uint64_t kBoth = (std::uint64_t{1} << 32) + 1;
  static constexpr std::uint64_t kRefused = (std::uint64_t{1} << 63) | (std::uint64_t{1} << 31);

  sync::Atomic<std::uint64_t> word_;
};

// No pin and no lock: a version that is odd while somebody writes, and is the same behind the read.
// The rows' words are read with acquire, or the second look could come first.
class alignas(64) VersionHeader {
 public:
  static constexpr const char* kName = "version-validated";
  static constexpr std::uint64_t kSharedRmw = 0;
  using Word = sync::Atomic<std::uint64_t>;

  std::uint64_t read(const Word* words, std::uint64_t& retries) noexcept {
    for (;; ++retries) {
      const std::uint64_t before = version_.load(sync::acquire);
      std::uint64_t sum = 0;
      for (std::size_t row = 0; row < kRowsOfAPage; ++row) {
        sum += words[row * kRowStride].load(sync::acquire);
      }
      if (before % 2 == 0 && version_.load(sync::relaxed) == before) return sum;
    }
  }

 private:
  sync::Atomic<std::uint64_t> version_;
};

}  // namespace vicinal::bench
