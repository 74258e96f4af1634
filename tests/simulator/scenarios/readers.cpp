// Readers that register while a writer publishes, retires and frees.
#include "simulator/scenario.hpp"
#include "simulator/world.hpp"

namespace vicinal::sim {
namespace {

// The sequence of the last commit that is over, for who asks by the way.
using Told = sync::Atomic<std::uint64_t>;

void search_twice(World& world, const Told& told) {
  const auto claimed = world.slots.claim();
  check(claimed.ok(), "no slot");
  sync::ReaderSlot& slot = world.slots.slot(*claimed);
  const std::uint64_t first = world.read(slot);
  check(world.read(slot) >= first, "a reader goes back in time");
  check(!world.slots.searching(kThreadsMax), "more are searching than there are");
  const std::uint64_t published = told.load(sync::acquire);
  check(world.slots.bytes() > sizeof world.slots, "a chunk of ours is not counted");
  check(world.root.sequence() >= published, "the sequence is behind a commit that is over");
  world.slots.release_slot(*claimed);
}

void readers() {
  World world;
  Told told;
  spawn([&] { search_twice(world, told); });
  spawn([&] {
    search_twice(world, told);
    search_twice(world, told);
  });
  spawn([&] {
    for (int i = 0; i < 3; ++i) {
      world.commit();
      told.store(world.root.newest()->sequence, sync::release);
      if (pick(4) != 0) world.scan();
    }
    world.scan();
  });
  join_all();
  world.scan();
  check(world.reclaimer.count() == 0, "something that nobody holds is kept");
  check(world.slots.in_use() == 0, "a slot is lost");
}

const Scenario kReaders("readers", readers);

// One reader that has its slot and a writer whose next step is always the scan: nothing else that
// could order them.
void one_reader() {
  World world;
  sync::ReaderSlot& slot = world.slots.slot(*world.slots.claim());
  spawn([&] {
    for (int i = 0; i < 3; ++i) {
      if (pick(4) != 0) {
        (void)world.read(slot);
      } else {
        World::look_at(static_cast<const Version&>(*world.root.hold(slot)));
        sync::VersionRoot::leave(slot);
      }
    }
  });
  spawn([&] {
    for (int i = 0; i < 3; ++i) {
      world.commit();
      world.scan();
    }
  });
  join_all();
}

const Scenario kOneReader("one_reader", one_reader);

}  // namespace
}  // namespace vicinal::sim
