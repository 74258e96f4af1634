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
  ThreadId users[kUsers];

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
      if (thing.usable.number() % 2 == 1) continue;  // forbidden
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

void end(Thing& thing) {
  for (auto& uses : thing.uses) uses = 0;
  thing.made_as = thing.made_as + 2;
  thing.usable.renew();
}

void end_some(Desk& desk) {
  bool forbidden[2] = {};  // and to be ended when nobody uses it
  const auto settle = [&](bool certainly) {
    for (std::uint32_t which = 0; which < 2; ++which) {
      Thing& thing = desk.things[which];
      if (!forbidden[which]) continue;
      if (thing.usable.is_used(desk.each_mark())) {
        check(!certainly, "a mark was left behind");
        continue;
      }
      forbidden[which] = false;
      end(thing);
    }
  };
  for (int turn = 0; turn < 3; ++turn) {
    const sync::Lock::Held held(desk.lock);
    settle(false);
    const std::uint32_t which = pick(2);
    Thing& thing = desk.things[which];
    if (forbidden[which]) continue;
    if (pick(2) == 0) {
      thing.usable.forbid();
      forbidden[which] = true;
    } else if (thing.usable.withdraw(desk.each_mark())) {
      end(thing);
    }
  }
  for (std::uint32_t user = 0; user < kUsers; ++user) join(desk.users[user]);
  settle(true);
}

void uses() {
  Desk desk;
  for (Thing& thing : desk.things) thing.made_as = 0;
  for (std::uint32_t user = 0; user < kUsers; ++user) {
    desk.users[user] = spawn([&desk, user] { use(desk, user); });
  }
  end_some(desk);
  for (Thing& thing : desk.things) {
    check(thing.made_as == thing.usable.number(), "a number is of another thing");
    check(thing.usable.withdraw(desk.each_mark()), "a mark was left behind");
  }
}

const Scenario kUses("uses", uses);

}  // namespace
}  // namespace vicinal::sim
