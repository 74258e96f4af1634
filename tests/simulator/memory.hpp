// The simulated memory: what a load may return, and which accesses race.
//
// A word is a list of messages in modification order. A thread has a view: for each word the newest
// message that it knows of, by its own accesses or because what wrote it happens before. It may
// read that message or any later one, and it stores after it. So loads go back as far as coherence
// allows, and stores of different threads settle their order late.
// - A release puts the thread's view into the message, an acquire joins it. A read-modify-write
//   passes on the view of the message that it replaces; a store does not, not even its own
//   thread's: that is the release sequence of C++20.
// - seq_cst operations have one order S. For each word, none of them may read, or be placed, before
//   what an earlier one of S read or stored; with no fences in the program that is all that C++20
//   asks. A load takes its place in S when it is executed. A store or read-modify-write may take it
//   later, as a store that is still on its way does: at the latest when an operation of S follows
//   it, in its thread, by happens-before, or by what it reads or replaces. Meanwhile weaker
//   operations of its thread may be seen.
// - Happens-before is a clock per thread, carried by the views. Two accesses of Plain data, one of
//   them a write, that it does not order are a race; so is an access to a word whose making, or the
//   end of a word whose accesses, it does not order.
//
// Thread safety: none; fibers call it one at a time.
// I1: every outcome is one that C++20 allows, so that what fails here is wrong. Left out are three
//     kinds, so that what passes is not proven: a load that reads a store which comes after it in a
//     circle of reads and program order (that would take promises); a seq_cst load whose place in S
//     is later than its execution; and an S that contradicts happens-before, which C++20 allows
//     where a seq_cst operation synchronises with a weaker one.
// I2: the choices are the Random's alone: nothing depends on addresses.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"
#include "sync/atomic.hpp"

namespace vicinal::sim {

using ThreadId = std::uint32_t;
inline constexpr ThreadId kThreadsMax = 10;

[[nodiscard]] constexpr bool acquires(sync::Order order) noexcept {
  return order == sync::acquire || order == sync::acq_rel || order == sync::seq_cst;
}
[[nodiscard]] constexpr bool releases(sync::Order order) noexcept {
  return order == sync::release || order == sync::acq_rel || order == sync::seq_cst;
}

struct Clock {
  std::array<std::uint32_t, kThreadsMax> at = {};

  void join(const Clock& other) noexcept;
  [[nodiscard]] bool covers(const Clock& other) const noexcept;
};

struct View {
  Clock clock;
  std::vector<std::uint32_t> seen;  // by word: a message's number; missing: 0, the first one
};

// One in so many loads goes back, one in so many stores is placed early in its word's order, and
// one in so many seq_cst stores comes late in S, where they may.
struct Weakness {
  std::uint32_t old_load_in = 2;
  std::uint32_t early_store_in = 4;
  std::uint32_t late_seq_cst_in = 2;
};

class Memory {
 public:
  Memory(Random& random, Weakness weakness) : random_(random), weakness_(weakness) {}

  void create(ThreadId thread, const void* word, std::uint64_t value);
  void destroy(ThreadId thread, const void* word);
  [[nodiscard]] std::uint64_t load(ThreadId thread, const void* word, sync::Order order);
  void store(ThreadId thread, const void* word, std::uint64_t value, sync::Order order);
  std::uint64_t change(ThreadId thread, const void* word, sync::simulated::Change what,
                       std::uint64_t operand, std::size_t bytes, sync::Order order);
  bool compare_exchange(ThreadId thread, const void* word, std::uint64_t& expected,
                        std::uint64_t desired, sync::Order success, sync::Order failure);

  // A futex call compares and sleeps, or wakes, under a lock of the kernel. Who compares after a
  // wake sees the value that the waker knew; the thread's own view learns nothing.
  [[nodiscard]] std::uint64_t compare_for_wait(ThreadId thread, const void* word);
  void note_wake(ThreadId thread, const void* word);

  void create_plain(ThreadId thread, const void* data);
  void read_plain(ThreadId thread, const void* data);
  void write_plain(ThreadId thread, const void* data);

  // Ends all words and plain data in these bytes.
  void end_range(ThreadId thread, const void* begin, std::size_t bytes);

  void start_thread(ThreadId thread, ThreadId parent);
  void join_thread(ThreadId thread, ThreadId ended);

  // For reports: the word's number, in the order of making.
  [[nodiscard]] std::uint32_t number_of(const void* word) const;
  // Whether the last load returned something older than the last message.
  [[nodiscard]] bool last_was_old() const noexcept { return last_was_old_; }

 private:
  struct Message {
    std::uint64_t value = 0;
    std::uint32_t position = 0;
    bool attached = false;  // a read-modify-write's: nothing comes between it and the one before
    bool has_view = false;
    View view;
  };
  struct Word {
    std::uint32_t number = 0;
    bool ended = false;
    Clock made;      // by whom and when: one entry is not 0
    Clock accesses;  // of every thread, the last
    std::vector<Message> messages;
    std::vector<std::uint32_t> order;  // numbers of messages, in modification order
    std::uint32_t settled = 0;         // the message that bounds seq_cst operations from below
    std::uint32_t wake_seen = 0;       // the message that bounds comparisons for a sleep
  };
  // A seq_cst store that has no place in S yet.
  struct Late {
    Clock stored;  // one entry is not 0
    std::uint32_t word;
    std::uint32_t message;
  };
  struct PlainData {
    bool ended = false;
    Clock written;  // one entry is not 0
    Clock read;     // since
  };

  [[nodiscard]] Word& access(ThreadId thread, const void* word);
  [[nodiscard]] Word& access(ThreadId thread, const void* word, sync::Order order);
  [[nodiscard]] PlainData& access_plain(ThreadId thread, const void* data);
  void tick(ThreadId thread) { ++views_[thread].clock.at[thread]; }
  [[nodiscard]] Clock now(ThreadId thread) const;
  [[nodiscard]] std::uint32_t known(ThreadId thread, const Word& word) const;
  // The first position that an operation of this order may read, or that it follows.
  [[nodiscard]] std::uint32_t floor(ThreadId thread, const Word& word, sync::Order order) const;
  // From position `from` on: the last position, or now and then another that `fits`.
  template <class Fits>
  [[nodiscard]] std::uint32_t choose(std::uint32_t from, std::uint32_t last, std::uint32_t one_in,
                                     Fits fits);
  [[nodiscard]] bool followed_by_change(const Word& word, std::uint32_t position) const;
  const Message& read(ThreadId thread, Word& word, std::uint32_t position, sync::Order order);
  void write(ThreadId thread, Word& word, std::uint32_t position, std::uint64_t value,
             sync::Order order, bool attached);
  void replace(ThreadId thread, Word& word, std::uint32_t position, std::uint64_t value,
               sync::Order order);
  // Those of S that come before an operation of this thread get their place.
  void settle_before(ThreadId thread);
  // A message of this word has its place in S, and so have those that it follows.
  void settle(Word& word, std::uint32_t message);
  void see(ThreadId thread, const Word& word, std::uint32_t message);
  void join(View& view, const View& other) const;
  void end(ThreadId thread, Word& word);

  Random& random_;
  Weakness weakness_;
  std::array<View, kThreadsMax> views_;
  std::vector<Word> words_;
  std::vector<Late> late_;
  std::unordered_map<const void*, std::uint32_t> word_at_;
  std::unordered_map<const void*, PlainData> plain_at_;
  bool last_was_old_ = false;
};

}  // namespace vicinal::sim
