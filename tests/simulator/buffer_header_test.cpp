// Headers that lack one of the rules of cache/buffer_header.hpp: the scenario finds each of them.
#include <gtest/gtest.h>

#include "simulator/buffer_headers.hpp"
#include "support/test_scale.hpp"

namespace vicinal::cache {

struct BufferHeaderSteps : BufferHeader {
  [[nodiscard]] sync::Atomic<std::uint32_t>& low() noexcept { return low_; }
  [[nodiscard]] sync::Atomic<std::uint32_t>& high() noexcept { return high_; }
  [[nodiscard]] static bool gone(std::uint32_t low) noexcept { return (low & kFlags) != 0; }
};

}  // namespace vicinal::cache

namespace vicinal::sim {
namespace {

using cache::Pinned;
using Steps = cache::BufferHeaderSteps;

// Unlocks by a plain store: additions of those who are about to lose are lost.
struct StoresToUnlock : Steps {
  void unexclude() noexcept { high().store(0, sync::release); }
};
// Does not look whether the frame is on its way out.
struct PinsWithoutALook : Steps {
  Pinned pin() noexcept {
    (void)low().fetch_add(1, sync::relaxed);
    return Pinned::yes;
  }
};
// Looks before it pins, and not behind.
struct LooksBeforePinning : Steps {
  Pinned pin() noexcept {
    if (gone(low().load(sync::relaxed))) return Pinned::lost;
    (void)low().fetch_add(1, sync::relaxed);
    return Pinned::yes;
  }
};
// Takes a lost pin back without a thought of who retires the frame.
struct ForgetsToRetire : Steps {
  Pinned pin() noexcept {
    if (!gone(low().fetch_add(1, sync::relaxed))) return Pinned::yes;
    (void)low().fetch_sub(1, sync::release);
    return Pinned::lost;
  }
};
// Shares without a look whether somebody has it alone.
struct SharesWithoutALook : Steps {
  bool try_share() noexcept {
    (void)high().fetch_add(1, sync::acquire);
    return true;
  }
};

template <class Header>
void detached_under_two() {
  Buffers<Header> all;
  spawn([&all] { all.use(false); });
  spawn([&all] { all.use(false); });
  spawn([&all] {
    if (all.buffer.header.detach()) all.retire();
  });
  join_all();
  check(all.buffer.retired == 1, "a frame is lost");
}

bool fails(void (*body)()) {
  for (std::uint64_t seed = 1; seed <= test::scaled(2'000); ++seed) {
    if (run({.body = body, .seed = seed}).failed) return true;
  }
  return false;
}

TEST(BufferHeaderTest, ADetachedFrameIsRetiredOnceWhoeverComes) {
  EXPECT_FALSE(fails(detached_under_two<cache::BufferHeader>));
  EXPECT_FALSE(fails(Buffers<cache::BufferHeader>::run));
}

TEST(BufferHeaderTest, EachBrokenOneIsFound) {
  EXPECT_TRUE(fails(Buffers<StoresToUnlock>::run));
  EXPECT_TRUE(fails(Buffers<PinsWithoutALook>::run));
  EXPECT_TRUE(fails(Buffers<LooksBeforePinning>::run));
  EXPECT_TRUE(fails(Buffers<SharesWithoutALook>::run));
  EXPECT_TRUE(fails(detached_under_two<ForgetsToRetire>));
}

}  // namespace
}  // namespace vicinal::sim
