// The variants of the benchmarks do as many read-modify-writes as they say, and what they are for.
#include <gtest/gtest.h>

#include <vector>

#include "bench/header_variants.hpp"
#include "bench/list_variants.hpp"
#include "bench/page_variants.hpp"
#include "sync/atomic_counts.hpp"

namespace vicinal::bench {
namespace {

constexpr std::uint64_t kLooks = 1'000;

void expect_counted(std::uint64_t before, std::uint64_t each, std::uint64_t slack) {
  const std::uint64_t counted = sync::atomic_counts().read_modify_writes - before;
#ifdef VICINAL_ATOMICS_COUNTED
  EXPECT_LE(counted, each * kLooks);
  EXPECT_GE(counted + slack, each * kLooks);
#else
  (void)each, (void)slack;
  EXPECT_EQ(counted, 0u);
#endif
}

template <class Variant>
void expect_look(std::uint64_t counted = Variant::kSharedRmw) {
  SCOPED_TRACE(Variant::kName);
  constexpr std::uint32_t kPages = 20;
  Variant pages(kPages);
  auto part = pages.at(0);
  const std::uint64_t before = sync::atomic_counts().read_modify_writes;
  for (std::uint32_t i = 0; i < kLooks; ++i) {
    const std::byte* bytes = part.find(i % kPages);
    ASSERT_NE(bytes, nullptr);
  }
  // The last page is not let go yet.
  expect_counted(before, counted, counted);
}

TEST(BenchVariants, ALookAtAPageDoesWhatItSays) {
  expect_look<LockBeforeLookup>(0);  // the standard library's are not counted
  expect_look<RefcountPages<true>>();
  expect_look<RefcountPages<false>>();
  expect_look<PinnedPages>();
  expect_look<OurPages>();
  EXPECT_EQ(OurPages::kSharedRmw, 0u);
}

template <class Header>
void expect_read() {
  SCOPED_TRACE(Header::kName);
  using Word = typename Header::Word;
  const std::unique_ptr<Word[]> words(new Word[cache::kPageBytes / 8]());
  Header header;
  std::uint64_t retries = 0;
  const std::uint64_t before = sync::atomic_counts().read_modify_writes;
  for (std::uint64_t i = 0; i < kLooks; ++i) EXPECT_EQ(header.read(words.get(), retries), 0u);
  expect_counted(before, Header::kSharedRmw, 0);
  EXPECT_EQ(retries, 0u);
}

TEST(BenchVariants, AReadOfAHeldPageDoesWhatItSays) {
  expect_read<WholeHeader<true>>();
  expect_read<WholeHeader<false>>();
  expect_read<HalfCasHeader>();
  expect_read<HalfAddHeader>();
  expect_read<JointAddHeader>();
  expect_read<VersionHeader>();
}

template <class Lists>
void expect_frames(bool steals) {
  SCOPED_TRACE(Lists::kName);
  constexpr std::uint32_t kFrames = 40;
  Lists lists(16, kFrames);
  std::uint64_t stolen = 0;
  std::uint32_t taken = 0;
  while (lists.take(3, stolen) != kNoFrame) ++taken;
  EXPECT_EQ(taken, steals ? kFrames : 3u);
  lists.give(5, 7);
  EXPECT_EQ(lists.take(5, stolen), 7u);
}

TEST(BenchVariants, ListsHandOutEveryFrameUnlessTheyDoNotSteal) {
  expect_frames<OneList<std::mutex>>(true);
  expect_frames<OneList<SpinLock>>(true);
  expect_frames<ListArray<true>>(true);
  expect_frames<ListArray<false>>(false);
  expect_frames<OurLists>(true);
}

}  // namespace
}  // namespace vicinal::bench
