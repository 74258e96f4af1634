// The mutants that no scenario can notice, each with the reason why its order may be weaker.
//
// I1: one that begins to die, or whose site is gone, fails the test: the reason has become wrong.
#pragma once

#include <string_view>

namespace vicinal::sim {

struct Survivor {
  std::string_view mutant;
  std::string_view reason;
};

inline constexpr std::string_view kSeenChunk =
    "a chunk that was seen by an acquire was published before, in every order";
inline constexpr std::string_view kEventAlone =
    "every ring changes the value and wakes: the event alone needs release and acquire (event.hpp)";
inline constexpr std::string_view kWhoIsRefused =
    "the one order matters to who is refused; who succeeds needs the last holder's work only";

inline constexpr std::string_view kClaimedLane =
    "the lane's claim has acquired what its last owner did, who made it";
inline constexpr std::string_view kHint =
    "a hint: what is followed is a version, and what the hint overlooks, the writer refuses";
inline constexpr std::string_view kFlag = "a flag that carries nothing, behind which a bell rings";
inline constexpr std::string_view kDyingThread =
    "orders what one thread does, for who finds it dead between two instructions: he has the proof"
    " of its death, and with it all that it did (reclaimer.hpp)";

inline constexpr Survivor kSurvivors[] = {
    {"engine/core.cpp close store release -> relaxed", kFlag},
    {"engine/core.cpp make_message load acquire -> relaxed", kHint},
    {"engine/core.cpp submit load acquire -> relaxed", kClaimedLane},
    {"engine/core.cpp take_lane load acquire -> relaxed", kClaimedLane},
    {"engine/core.cpp ~Core load acquire -> relaxed", "the last owner is alone"},
    {"engine/core.hpp closed load acquire -> relaxed", kFlag},
    {"engine/writer.cpp publish store release -> relaxed", kHint},
    {"search/help_pool.cpp ~HelpPool load acquire -> relaxed", "the last owner is alone"},
    {"engine/compaction.cpp await_compaction store release -> relaxed", kDyingThread},
    {"engine/in_hand.cpp complete store release #2 -> relaxed", kDyingThread},
    {"engine/in_hand.cpp complete store release #3 -> relaxed", kDyingThread},
    {"engine/in_hand.cpp complete store release #4 -> relaxed", kDyingThread},
    {"engine/in_hand.cpp complete store release #5 -> relaxed", kDyingThread},
    {"engine/in_hand.cpp complete store release -> relaxed", kDyingThread},
    {"engine/in_hand.cpp enter store release -> relaxed", kDyingThread},
    {"engine/in_hand.cpp recover store release #2 -> relaxed", kDyingThread},
    {"engine/recovery.cpp recover store release -> relaxed", kHint},
    {"engine/recovery.cpp recover_messages load acquire -> relaxed",
     "the lane that matters is one that the dead writer took from"},
    {"engine/writer.cpp publish_batch store release -> relaxed", kDyingThread},
    {"segment/builder.hpp count store release -> relaxed", kDyingThread},
    {"sync/event.hpp prepare load seq_cst -> acquire", kEventAlone},
    {"sync/event.hpp ring change seq_cst -> acq_rel", kEventAlone},
    {"sync/event.hpp ring change seq_cst -> release", kEventAlone},
    {"sync/reader_slots.cpp bytes load acquire -> relaxed", "a figure: nothing is followed"},
    {"sync/reader_slots.cpp claim compare_exchange seq_cst/seq_cst -> seq_cst/acquire", kSeenChunk},
    {"sync/reader_slots.cpp claim load seq_cst -> acquire", kSeenChunk},
    {"sync/reader_slots.cpp slot load acquire -> relaxed",
     "whoever has a slot's number has it from a claim, which has acquired the chunk"},
    {"sync/reclaimer.cpp recover store release -> relaxed", kDyingThread},
    {"sync/reclaimer.cpp retire store release -> relaxed", kDyingThread},
    {"sync/reclaimer.cpp scan store release -> relaxed", kDyingThread},
    {"sync/reclaimer.cpp scan store release #2 -> relaxed", kDyingThread},
    {"sync/writer_token.hpp try_acquire compare_exchange seq_cst/relaxed -> acq_rel/relaxed",
     kWhoIsRefused},
    {"sync/writer_token.hpp try_acquire compare_exchange seq_cst/relaxed -> acquire/relaxed",
     kWhoIsRefused},
};

}  // namespace vicinal::sim
