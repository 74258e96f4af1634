// Things that are used without being counted, and somebody who ends what nobody uses and puts
// another in its place.
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "sync/lock.hpp"
#include "sync/use_mark.hpp"

namespace vicinal::sim {
namespace {

constexpr std::uint32_t kUsers = 2;

struct Thing {
  sync::Usable usable;
  sync::Plain<std::uint64_t> made_as;        // its number, while it is there
  sync::Plain<std::uint32_t> uses[kUsers];  // each user's part
};

struct Desk {
  sync::Lock lock;
  Thing things[2];
  sync::UseMark marks[kUsers];

  auto each_mark() {
    return [this](auto visit) {
      for (const sync::UseMark& mark : marks) {
        if (visit(mark)) return true;
      }
      return false;
    };
  }
};

void use(Desk& desk, std::uint32_t user) {
  sync::UseMark& mark = desk.marks[user];
  constexpr std::uint64_t kNone = ~std::uint64_t{1};
  std::uint64_t given[2] = {kNone, kNone};
  for (int turn = 0; turn < 4; ++turn) {
    const std::uint32_t which = pick(2);
    Thing& thing = desk.things[which];
    const bool given_one = mark.has(thing.usable) ? thing.usable.is(given[which])
                                                  : mark.set(thing.usable, given[which]);
    if (!given_one) {
      mark.clear();
      const sync::Lock::Held held(desk.lock);
      given[which] = thing.usable.number();
      if (pick(2) == 0) continue;  // for the next turn
      mark.set_locked(thing.usable);
    }
    check(thing.made_as == given[which], "another thing is used");
    thing.uses[user] = thing.uses[user] + 1;
    if (pick(2) == 0) mark.clear();
  }
  mark.clear();
}

void end_some(Desk& desk) {
  for (int turn = 0; turn < 3; ++turn) {
    const sync::Lock::Held held(desk.lock);
    Thing& thing = desk.things[pick(2)];
    if (!thing.usable.withdraw(desk.each_mark())) continue;
    for (auto& uses : thing.uses) uses = 0;
    thing.made_as = thing.made_as + 2;
    thing.usable.renew();
  }
}

void uses() {
  Desk desk;
  for (Thing& thing : desk.things) thing.made_as = 0;
  for (std::uint32_t user = 0; user < kUsers; ++user) {
    spawn([&desk, user] { use(desk, user); });
  }
  spawn([&desk] { end_some(desk); });
  join_all();
  for (Thing& thing : desk.things) {
    check(thing.made_as == thing.usable.number(), "a number is of another thing");
    check(thing.usable.withdraw(desk.each_mark()), "a mark was left behind");
  }
}

const Scenario kUses("uses", uses);

}  // namespace
}  // namespace vicinal::sim
