// A writer dies at any step, also of a commit. Who joined it takes its role, and somebody goes on.
#include "simulator/desk.hpp"
#include "simulator/scenario.hpp"
#include "simulator/world.hpp"

namespace vicinal::sim {
namespace {

struct Office {
  Desk desk;
  World world;
  sync::Plain<std::uint32_t> mended;  // the epoch

  void drive(std::uint32_t realm) {
    while (desk.token.try_acquire(realm)) {
      const std::uint32_t epoch = desk.token.epoch();
      if (mended != epoch) {
        world.recover();
        mended = epoch;
      }
      // A message that a dead writer had taken is in_hand.hpp's affair: the mortal one takes none.
      if (realm == 0) desk.drain();
      world.commit();
      world.scan();
      desk.token.give_back();
      if (!desk.pending() || realm != 0) break;
    }
  }
};

void takeover() {
  Office office;
  const ThreadId mortal = spawn_mortal(1 + pick(60), [&] {
    for (int i = 0; i < 2; ++i) office.drive(kMortalRealm);
  });
  for (std::uint32_t p = 0; p < kProducers; ++p) {
    spawn([&office, p] {
      auto* message = make<Message>();
      message->value = p;
      check(office.desk.rings[p].try_push(message), "a new ring is full");
      office.drive(0);
    });
  }
  spawn([&] {
    const auto claimed = office.world.slots.claim();
    check(claimed.ok(), "no slot");
    for (int i = 0; i < 2; ++i) (void)office.world.read(office.world.slots.slot(*claimed));
    office.world.slots.release_slot(*claimed);
  });
  join(mortal);
  const bool taken = office.desk.token.take_from(kMortalRealm);
  // The look that the doorbell is rung for, by the dead or in its place.
  if (office.desk.pending()) office.drive(0);
  check(!office.desk.token.take_from(kMortalRealm), "taken twice");
  join_all();
  check(!office.desk.token.held() && !office.desk.pending(), "a message is left behind");
  check(office.desk.applied == kProducers, "not every message was applied");
  office.drive(0);
  check(office.desk.token.epoch() == (taken ? 1 : 0), "a death is not counted");
  check(office.mended == office.desk.token.epoch(), "nobody mended");
  office.world.scan();
  check(office.world.reclaimer.count() == 0, "what nobody holds is kept");
}

const Scenario kTakeover("takeover", takeover);

// One message, left to a holder that dies.
void heir() {
  Desk desk;
  const ThreadId mortal = spawn_mortal(3, [&] {
    while (desk.token.try_acquire(kMortalRealm)) {
    }
  });
  spawn([&] {
    check(desk.rings[0].try_push(make<Message>()), "a new ring is full");
    desk.drive();
  });
  join(mortal);
  (void)desk.token.take_from(kMortalRealm);
  if (desk.pending()) desk.drive();
  join_all();
  check(desk.applied == 1, "a message is left behind");
}

const Scenario kHeir("heir", heir);

// A commit that is broken off, and the next one.
void broken_commit() {
  World world;
  const ThreadId mortal = spawn_mortal(1 + pick(14), [&] { world.commit(); });
  spawn([&] {
    const auto claimed = world.slots.claim();
    check(claimed.ok(), "no slot");
    for (int i = 0; i < 2; ++i) (void)world.read(world.slots.slot(*claimed));
    world.slots.release_slot(*claimed);
  });
  join(mortal);
  world.recover();
  world.scan();
  world.commit();
  world.scan();
  join_all();
  world.scan();
  check(world.reclaimer.count() == 0, "what nobody holds is kept");
}

const Scenario kBrokenCommit("broken_commit", broken_commit);

}  // namespace
}  // namespace vicinal::sim
