// Things that threads use again and again without counting themselves, and that somebody may end
// while nobody uses them.
//
// Thread safety: a UseMark is its owner's, but for `is_on`. Of a Usable: `current` and the users'
// side from any thread, everything else by the holder of a lock of whoever has the things.
//
// The protocol. Under the lock a user is given the thing T with its number. Its steps are
//   (a) mark = T              seq_cst [use]
//   (b) reads T.number        seq_cst [withdrawal]: T is used only if it is the one that was given
//   ... uses T ...
//   (c) mark = something else, by (a), or nothing, release [use]
// and, under the lock, those of who wants to end T
//   (1) T.number + 1          seq_cst [withdrawal]
//   (2) reads each mark       seq_cst [use]
//   (3) where one is on T: T.number as it was; else T is ended.
//
// Why nothing is ended under a user. Of (a), (b), (1), (2), all of them seq_cst, either (a) comes
// before (2), which then sees the mark, or one that was set later; or (1) comes before (b), which
// then sees another number than the given one: (2) < (a) and (1) < (2), (a) < (b). Where (2) sees a
// later mark of that user, it acquires what the user did to T before (c).
// Who comes between (1) and (3) is refused, takes the lock, and finds T as it was.
// A user that still has its mark on T needs neither (a) nor (b): T cannot be ended.
//
// I1: a number is even while the thing may be used, and never the same for two things that lie in
//     the same place one after the other.
// I2: a Usable's memory stays while marks may be set on it.
// I3: a mark's line is stored to by its owner alone.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "sync/atomic.hpp"

namespace vicinal::sync {

class UseMark;

class Usable {
 public:
  // Under the lock: what a user is given.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_.load(relaxed); }
  // By a user whose mark is on it, or whose answer somebody else will look at again: whether the
  // thing is the given one. No order: it is not looked at because of this.
  [[nodiscard]] bool is(std::uint64_t number) const noexcept {
    return number_.load(relaxed) == number;
  }

  // (1) to (3), under the lock. `each_mark(visit)` calls visit(const UseMark&) -> bool until one
  // answers true, and returns whether one has. False: it is used, and stays.
  template <class EachMark>
  [[nodiscard]] bool withdraw(EachMark each_mark) noexcept;
  // The same of one that is used: nobody begins to use it any more. Whoever has a mark on it may go
  // on; it is over when `is_used` says so, under the lock.
  void forbid() noexcept { number_.store(withdrawn(number()), seq_cst); }  // [withdrawal] (1)
  template <class EachMark>
  [[nodiscard]] bool is_used(EachMark each_mark) const noexcept;
  // After it was ended: another thing is in its place.
  void renew() noexcept {
    VICINAL_ASSERT(number() % 2 == 1);
    number_.store(number() + 1, relaxed);
  }

 private:
  friend class UseMark;

  [[nodiscard]] static std::uint64_t withdrawn(std::uint64_t number) noexcept {
    VICINAL_ASSERT(number % 2 == 0);
    return number + 1;
  }

  Atomic<std::uint64_t> number_;
};

class alignas(128) UseMark {
 public:
  // (a), (b). False: it is not that one any more, and is not used.
  [[nodiscard]] bool set(const Usable& thing, std::uint64_t number) noexcept {
    VICINAL_ASSERT(number % 2 == 0);  // I1: given by the lock's holder
    thing_.store(&thing, seq_cst);                  // [use] (a)
    return thing.number_.load(seq_cst) == number;  // [withdrawal] (b)
  }
  // The same under the lock, where nobody withdraws, by an owner that has cleared it.
  void set_locked(const Usable& thing) noexcept { thing_.store(&thing, relaxed); }
  // (c).
  void clear() noexcept { thing_.store(nullptr, release); }  // [use]
  // The owner's: whether it is on this one.
  [[nodiscard]] bool has(const Usable& thing) const noexcept {
    return thing_.load(relaxed) == &thing;
  }
  // (2), under the lock.
  [[nodiscard]] bool is_on(const Usable& thing) const noexcept {
    return thing_.load(seq_cst) == &thing;  // [use]
  }

 private:
  Atomic<const Usable*> thing_;
};

template <class EachMark>
bool Usable::is_used(EachMark each_mark) const noexcept {
  return each_mark([this](const UseMark& mark) { return mark.is_on(*this); });
}

template <class EachMark>
bool Usable::withdraw(EachMark each_mark) noexcept {
  const std::uint64_t before = number();
  forbid();
  if (!is_used(each_mark)) return true;
  number_.store(before, relaxed);  // (3)
  return false;
}

}  // namespace vicinal::sync
