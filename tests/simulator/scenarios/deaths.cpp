// A reader dies at any step. Who joined it gives its slot back, another reader takes that slot, and
// a writer frees all the while.
#include "simulator/scenario.hpp"
#include "simulator/world.hpp"

namespace vicinal::sim {
namespace {

constexpr std::uint32_t kDeadOwner = 7;
constexpr std::uint32_t kNextOwner = 8;

void search(World& world, std::uint32_t owner) {
  const auto claimed = world.slots.claim(owner);
  check(claimed.ok(), "no slot");
  sync::ReaderSlot& slot = world.slots.slot(*claimed);
  for (int i = 0; i < 2; ++i) (void)world.read(slot);
  world.slots.release_slot(*claimed);
}

void deaths() {
  World world;
  const ThreadId mortal = spawn_mortal(1 + pick(14), [&] { search(world, kDeadOwner); });
  spawn([&] { search(world, kNextOwner); });
  spawn([&] {
    for (int i = 0; i < 3; ++i) {
      world.commit();
      world.scan();
    }
  });
  const bool reuse = pick(2) == 0;
  join(mortal);
  const std::uint32_t retired = world.slots.retire_owned(
      kDeadOwner, reuse ? sync::Afterwards::reuse : sync::Afterwards::keep);
  spawn([&] { search(world, kNextOwner); });
  join_all();
  check(world.slots.retired() == (reuse ? 0 : retired), "a retired slot is not counted");
  world.scan();
  check(world.reclaimer.count() == 0, "what the dead held is kept");
}

const Scenario kDeaths("deaths", deaths);

}  // namespace
}  // namespace vicinal::sim
