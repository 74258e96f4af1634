// Slots that are taken and given back: what one owner did, the next one sees.
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"
#include "sync/slot_claims.hpp"

namespace vicinal::sim {
namespace {

void slot_claims() {
  constexpr std::uint32_t kThreads = 3;
  constexpr std::uint32_t kTurns = 2;
  sync::SlotClaims<64> claims;
  sync::Plain<std::uint32_t> owners[kThreads];
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    spawn([&] {
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        const std::uint32_t slot = claims.take();
        check(slot < kThreads, "not the lowest free slot");
        owners[slot] = owners[slot] + 1;
        check(claims.taken(slot), "a slot of ours is free");
        claims.give_back(slot);
      }
    });
  }
  join_all();
  std::uint32_t total = 0;
  for (const auto& count : owners) total += count;
  check(total == kThreads * kTurns, "an owner was lost");
  check(claims.count() == 0, "a slot is still taken");
}

const Scenario kSlotClaims("slot_claims", slot_claims);

}  // namespace
}  // namespace vicinal::sim
