// Threads that each drop a frame and want another: there is always one, wherever it lies.
#include "cache/frame_lists.hpp"
#include "simulator/scenario.hpp"
#include "simulator/simulation.hpp"

namespace vicinal::sim {
namespace {

void frame_lists() {
  constexpr std::uint32_t kThreads = 2;
  constexpr std::uint32_t kPartitions = 3;
  auto made = cache::FrameLists::create(kPartitions, kThreads);
  check(made.ok(), "no lists");
  cache::FrameLists& lists = **made;
  struct Use {
    sync::Plain<std::uint32_t> times;
  };
  Use frames[kThreads];
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    spawn([&lists, &frames] {
      std::uint64_t steals = 0;
      std::uint32_t frame = lists.take(pick(kPartitions), steals);
      for (int turn = 0; turn < 4; ++turn) {
        check(frame != cache::FrameLists::kNone, "a table that is not full says that it is");
        frames[frame].times = frames[frame].times + 1;  // nobody else has it
        lists.give(pick(kPartitions), frame);
        frame = lists.take(pick(kPartitions), steals);
      }
      check(frame != cache::FrameLists::kNone, "a table that is not full says that it is");
      lists.give(0, frame);
    });
  }
  join_all();
  check(lists.count() == kThreads, "a frame is lost");
  check(frames[0].times + frames[1].times == kThreads * 4, "a frame was somebody else's too");
}

// A frame of the taker's own list is no other's, however often it looks for it.
void frame_lists_own() {
  auto made = cache::FrameLists::create(1, 1);
  check(made.ok(), "no lists");
  cache::FrameLists& lists = **made;
  for (int t = 0; t < 2; ++t) {
    spawn([&lists] {
      std::uint64_t steals = 0;
      for (int turn = 0; turn < 3; ++turn) {
        const std::uint32_t frame = lists.take(0, steals);
        if (frame != cache::FrameLists::kNone) lists.give(0, frame);
      }
      check(steals == 0, "a frame of the own list counts as another's");
    });
  }
  join_all();
}

const Scenario kFrameLists("frame_lists", frame_lists);
const Scenario kFrameListsOwn("frame_lists_own", frame_lists_own);

}  // namespace
}  // namespace vicinal::sim
