// The lock-free heap: alone, with a thread stopped at every step, interleaved at every step,
// threaded.
#include "platform/lock_free_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.hpp"

namespace vicinal::platform {
namespace {

struct Killed {};

// Runs `at_step` before every access to shared bookkeeping of the calling thread. Throwing Killed
// from it abandons the operation there, as a terminated worker does.
struct HookedSteps {
  static inline thread_local std::function<void()>* at_step = nullptr;
  static void step() {
    if (at_step != nullptr && *at_step) (*at_step)();
  }
  static constexpr std::uint64_t kTagStep = std::uint64_t{1} << 32;
};
struct UntaggedSteps : HookedSteps {
  static constexpr std::uint64_t kTagStep = 0;
};

class Range {
 public:
  explicit Range(std::size_t bytes, std::size_t skew = 0)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(65536, round_up(bytes, 65536) + 65536))),
        base_(memory_ + skew),
        bytes_(bytes) {
    std::memset(memory_, 0, bytes + 65536);
  }
  ~Range() { std::free(memory_); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  template <class Steps = HeapSteps>
  [[nodiscard]] LockFreeHeap<Steps> heap() const {
    return LockFreeHeap<Steps>(base_, bytes_);
  }
  [[nodiscard]] bool contains(const void* at, std::uint64_t bytes) const {
    const auto* begin = static_cast<const std::byte*>(at);
    return begin >= base_ && begin + bytes <= base_ + bytes_;
  }

 private:
  std::byte* memory_;
  std::byte* base_;
  std::size_t bytes_;
};

std::uint64_t scale() {
  const char* text = std::getenv("VICINAL_TEST_SCALE");
  return text == nullptr ? 1 : std::max<std::uint64_t>(1, std::strtoull(text, nullptr, 10));
}

std::uint64_t random_bytes(Random& random) {
  const std::uint32_t shape = random.below(100);
  if (shape < 70) return random.below(600);
  if (shape < 90) return random.below(9000);
  return random.below(100'000);
}

struct Held {
  unsigned char* memory;
  std::uint64_t bytes;
  unsigned char mark;
};

void fill(const Held& held) { std::memset(held.memory, held.mark, held.bytes); }
bool intact(const Held& held) {
  return std::all_of(held.memory, held.memory + held.bytes,
                     [&](unsigned char byte) { return byte == held.mark; });
}

TEST(LockFreeHeapTest, EveryClassFitsItsSlabAndTheGapsBetweenClassesAreSmall) {
  for (std::uint32_t c = 0; c < kBlockClasses; ++c) {
    const std::uint32_t count = blocks_of_class(c);
    EXPECT_GE(count, 2u);
    EXPECT_LE(block_offset(count) + count * kBlockBytes[c], kSlabBytes);
    EXPECT_EQ(kBlockBytes[c] % 16, 0u);
    if (c > 0 && kBlockBytes[c] > 64) {
      EXPECT_LE(kBlockBytes[c], kBlockBytes[c - 1] * 3 / 2) << c;
    }
  }
}

TEST(LockFreeHeapTest, EverySizeAndAlignmentGivesAnAlignedBlockThatIsLargeEnough) {
  const Range range(8 << 20, 48);
  auto heap = range.heap();
  for (std::uint64_t alignment = 1; alignment <= 65536; alignment *= 2) {
    for (std::uint64_t bytes = 0; bytes < 20'000; bytes += bytes < 300 ? 1 : 97) {
      void* block = heap.allocate(bytes, alignment);
      void* neighbour = heap.allocate(bytes, 1);
      ASSERT_NE(block, nullptr) << bytes << " aligned to " << alignment;
      ASSERT_NE(block, neighbour);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
      ASSERT_GE(heap.usable_bytes(block), bytes);
      ASSERT_GE(heap.usable_bytes(block), 1u);
      ASSERT_TRUE(range.contains(block, heap.usable_bytes(block)));
      heap.free(neighbour);
      heap.free(block);
    }
  }
}

TEST(LockFreeHeapTest, ARangeTooSmallForOnePageIsAnEmptyHeap) {
  const Range range(4096);
  auto heap = range.heap();
  EXPECT_EQ(heap.pages(), 0u);
  EXPECT_EQ(heap.allocate(1, 16), nullptr);
  EXPECT_EQ(heap.allocate(1 << 20, 16), nullptr);
  EXPECT_EQ(heap.allocate_zeroed(~std::uint64_t{0}, 4096), nullptr);
}

TEST(LockFreeHeapTest, ReachingTheBudgetGivesNullAndEveryPageOfARunComesBack) {
  const Range range(4 << 20);
  auto heap = range.heap();
  std::vector<void*> runs;
  while (void* run = heap.allocate(3 * kHeapPageBytes, 16)) runs.push_back(run);
  EXPECT_EQ(runs.size(), heap.pages() / 3);
  EXPECT_EQ(heap.allocate(~std::uint64_t{0} - 5000, 16), nullptr);
  // Every second one first: neighbours join whatever the order.
  for (std::size_t i = 0; i < runs.size(); i += 2) heap.free(runs[i]);
  for (std::size_t i = 1; i < runs.size(); i += 2) heap.free(runs[i]);
  EXPECT_EQ(heap.pages_taken(), 0u);
  void* all = heap.allocate(std::uint64_t{heap.pages()} * kHeapPageBytes, 16);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(heap.allocate(1, 16), nullptr);
  heap.free(all);
}

TEST(LockFreeHeapTest, BlocksOfAClassAreUsedAgainBeforeAnotherSlabIsMade) {
  const Range range(4 << 20);
  auto heap = range.heap();
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(heap.allocate(100, 16));
  const std::uint32_t pages = heap.pages_taken();
  for (int round = 0; round < 5; ++round) {
    for (void* block : blocks) heap.free(block);
    for (void*& block : blocks) block = heap.allocate(100, 16);
  }
  EXPECT_EQ(heap.pages_taken(), pages);
}

TEST(LockFreeHeapTest, ZeroedMemoryIsZeroWhoeverHadItBefore) {
  const Range range(8 << 20);
  auto heap = range.heap();
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t bytes = 1 + random_bytes(random);
    auto* block = static_cast<unsigned char*>(heap.allocate_zeroed(bytes, round % 2 ? 16 : 4096));
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(std::all_of(block, block + bytes, [](unsigned char b) { return b == 0; })) << bytes;
    std::memset(block, 0xa5, heap.usable_bytes(block));
    heap.free(block);
  }
}

// The oracle: every block keeps its own mark, so that two that overlap spoil each other.
template <class Heap>
void churn(Heap& heap, std::uint64_t seed, int operations) {
  Random random(seed);
  std::vector<Held> held;
  for (int i = 0; i < operations; ++i) {
    if (held.size() > 40 || (!held.empty() && random.below(2) == 0)) {
      const std::size_t which = random.below(held.size());
      ASSERT_TRUE(intact(held[which])) << "seed " << seed << " operation " << i;
      heap.free(held[which].memory);
      held[which] = held.back();
      held.pop_back();
      continue;
    }
    Held fresh{nullptr, random_bytes(random), static_cast<unsigned char>(random.next())};
    const std::uint64_t alignment = std::uint64_t{1} << random.below(13);
    fresh.memory = static_cast<unsigned char*>(heap.allocate(fresh.bytes, alignment));
    if (fresh.memory == nullptr) continue;
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(fresh.memory) % alignment, 0u);
    fill(fresh);
    held.push_back(fresh);
  }
  for (const Held& block : held) {
    ASSERT_TRUE(intact(block)) << "seed " << seed;
    heap.free(block.memory);
  }
}

TEST(LockFreeHeapTest, BlocksNeverOverlapAlone) {
  const Range range(16 << 20);
  auto heap = range.heap();
  churn(heap, 1, static_cast<int>(8'000 * scale()));
}

TEST(LockFreeHeapTest, BlocksNeverOverlapAmongThreadsEvenAtTheBudget) {
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{32} << 20}) {
    const Range range(bytes);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&range, t] {
        auto heap = range.heap();
        churn(heap, 100 + t, static_cast<int>(4'000 * scale()));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(LockFreeHeapTest, BlocksFreedByOtherThreadsComeBack) {
  const Range range(4 << 20);
  constexpr int kRounds = 50;
  std::uint32_t pages_after_first = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<void*> blocks[4];
    std::vector<std::thread> threads;
    for (auto& mine : blocks) {
      threads.emplace_back([&range, &mine] {
        auto heap = range.heap();
        for (std::uint64_t i = 0; i < 200; ++i) mine.push_back(heap.allocate(8 + i * 40, 16));
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (auto& theirs : blocks) {
      threads.emplace_back([&range, &theirs] {
        auto heap = range.heap();
        for (void* block : theirs) heap.free(block);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (round == 0) pages_after_first = range.heap().pages_taken();
  }
  // A slab more per class and thread at most, made while others held the last blocks.
  EXPECT_LE(range.heap().pages_taken(), pages_after_first + 4 * kSlabPages * kBlockClasses);
}

// One operation of each kind, on a heap with something of everything in it.
struct Scene {
  Range range{400 << 10};
  LockFreeHeap<HookedSteps> heap = range.heap<HookedSteps>();
  std::vector<Held> held;

  Scene() {
    for (const std::uint64_t bytes : {24u, 24u, 24u, 1500u, 1500u, 20'000u, 80'000u, 20'000u}) {
      keep(heap.allocate(bytes, 16), bytes);
    }
    for (const std::size_t i : {1u, 5u}) {
      heap.free(held[i].memory);
      held[i].memory = nullptr;
    }
  }
  void keep(void* memory, std::uint64_t bytes) {
    if (memory == nullptr) return;
    const auto mark = static_cast<unsigned char>(held.size() + 1);
    held.push_back({static_cast<unsigned char*>(memory), bytes, mark});
    fill(held.back());
  }
  void drop(std::size_t i) {
    unsigned char* memory = std::exchange(held[i].memory, nullptr);
    heap.free(memory);
  }
  void check() const {
    for (const Held& block : held) {
      EXPECT_TRUE(block.memory == nullptr || intact(block)) << block.bytes;
    }
  }
};

using Operation = void (*)(Scene&);
constexpr Operation kOperations[] = {
    [](Scene& scene) { scene.keep(scene.heap.allocate(24, 16), 24); },
    [](Scene& scene) { scene.keep(scene.heap.allocate(7000, 16), 7000); },  // makes a slab
    [](Scene& scene) { scene.keep(scene.heap.allocate(100, 1024), 100); },
    [](Scene& scene) { scene.keep(scene.heap.allocate_zeroed(70'000, 4096), 70'000); },
    [](Scene& scene) { scene.drop(0); },
    [](Scene& scene) { scene.drop(3); },
    [](Scene& scene) { scene.drop(6); },
};

// Runs `operation` and calls `then` at its step number `step`. False when it has fewer steps.
bool at_step(Scene& scene, Operation operation, int step, const std::function<void()>& then) {
  int count = 0;
  bool reached = false;
  std::function<void()> hook = [&] {
    if (count++ != step) return;
    reached = true;
    std::function<void()>* outer = std::exchange(HookedSteps::at_step, nullptr);
    struct Restore {
      std::function<void()>* hook;
      ~Restore() { HookedSteps::at_step = hook; }
    } restore{outer};
    then();
  };
  HookedSteps::at_step = &hook;
  try {
    operation(scene);
  } catch (const Killed&) {
  }
  HookedSteps::at_step = nullptr;
  return reached;
}

TEST(LockFreeHeapTest, AThreadStoppedAtAnyStepLeaksOnlyWhatItWasAllocatingOrFreeing) {
  for (const Operation operation : kOperations) {
    int step = 0;
    for (bool reached = true; reached; ++step) {
      ASSERT_LT(step, 5000);
      Scene scene;
      reached = at_step(scene, operation, step, [] { throw Killed{}; });
      scene.check();
      for (std::size_t i = 0; i < scene.held.size(); ++i) scene.drop(i);
      // What is left are the slabs of the scene, and of the operation at most one run or slab.
      EXPECT_LE(scene.heap.pages_taken(), 20 + 3 * kSlabPages) << "step " << step;
      EXPECT_NE(scene.heap.allocate(90'000, 16), nullptr) << "step " << step;
      churn(scene.heap, static_cast<std::uint64_t>(step) + 1, 20);
    }
    EXPECT_GT(step, 2);
  }
}

TEST(LockFreeHeapTest, AnyOperationMayRunBetweenAnyTwoStepsOfAnother) {
  for (const Operation outer : kOperations) {
    for (const Operation inner : kOperations) {
      if (outer == inner && outer != kOperations[0] && outer != kOperations[1]) continue;
      bool reached = true;
      for (int step = 0; reached; ++step) {
        Scene scene;
        reached = at_step(scene, outer, step, [&] {
          inner(scene);
          inner == kOperations[0] ? inner(scene) : void();
        });
        churn(scene.heap, static_cast<std::uint64_t>(step) + 1, 10);
        scene.check();
      }
    }
  }
}

// Between another pop's read of `next` and its exchange: pop X, pop Y, push X. The stack's head is
// X again, but the link that was read leads to Y, which is in use. Returns whether Y is handed out
// twice.
template <class Steps>
bool hands_out_twice() {
  const Range range(1 << 20);
  auto heap = range.heap<Steps>();
  void* y = heap.allocate(24, 16);
  void* x = heap.allocate(24, 16);
  heap.free(y);
  heap.free(x);
  int count = 0;
  void* taken = nullptr;
  std::function<void()> hook = [&] {
    if (count++ != 2) return;
    HookedSteps::at_step = nullptr;
    void* first = heap.allocate(24, 16);
    taken = heap.allocate(24, 16);
    heap.free(first);
  };
  HookedSteps::at_step = &hook;
  void* outer = heap.allocate(24, 16);
  HookedSteps::at_step = nullptr;
  void* next = heap.allocate(24, 16);
  EXPECT_EQ(taken, y);
  EXPECT_TRUE(outer == x || outer == y);
  return outer == taken || next == taken;
}

TEST(LockFreeHeapTest, AHeadThatCameBackIsNotMistakenForTheOldOne) {
  EXPECT_FALSE(hands_out_twice<HookedSteps>());
}

TEST(LockFreeHeapTest, WithoutTheTagABlockIsHandedOutTwice) {
  EXPECT_TRUE(hands_out_twice<UntaggedSteps>());
}

}  // namespace
}  // namespace vicinal::platform
