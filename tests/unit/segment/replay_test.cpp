// Differences of versions, and what is made of them elsewhere.
#include "segment/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "builder_world.hpp"
#include "support/memory_hook.hpp"
#include "support/paper_file.hpp"
#include "support/test_scale.hpp"

namespace vicinal::test {
namespace {

using segment::SegmentView;
using segment::Slot;
using segment::Version;
using segment::VersionDiff;

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t count) {
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

void add(BuilderWorld& world, std::span<const std::uint64_t> ids) {
  ASSERT_TRUE(world.begin().ok());
  ASSERT_TRUE(world.upsert(ids).ok());
  ASSERT_TRUE(world.commit());
}

// The same rows in the same slots, dead where they are dead.
testing::AssertionResult same_slots(const Version& found, const Version& wanted) {
  const auto fail = [](std::uint32_t number) {
    return testing::AssertionFailure() << "segment " << number << ": ";
  };
  for (std::uint32_t n = 0; n < std::max(found.segment_end, wanted.segment_end); ++n) {
    const SegmentView* a = found.view(n);
    const SegmentView* b = wanted.view(n);
    if (a == nullptr && b == nullptr) continue;
    if (a == nullptr || b == nullptr) return fail(n) << (a == nullptr ? "missing" : "too many");
    if (a->rows != b->rows) return fail(n) << a->rows << " rows, not " << b->rows;
    for (std::uint32_t block = 0; block < a->blocks(); ++block) {
      if (a->lanes(block) != b->lanes(block)) return fail(n) << "lanes of block " << block;
    }
    for (std::uint32_t row = 0; row < a->rows; ++row) {
      if (a->segment->ids()[row] != b->segment->ids()[row]) return fail(n) << "id of row " << row;
    }
  }
  const bool same_origin =
      (found.origin() == nullptr) == (wanted.origin() == nullptr) &&
      (found.origin() == nullptr || (found.calibration->number == wanted.calibration->number &&
                                     found.origin()[0] == wanted.origin()[0]));
  return same_origin ? testing::AssertionSuccess()
                     : testing::AssertionFailure() << "another origin";
}

// A world that is written to, its file, and somebody who follows it.
struct Journal {
  explicit Journal(std::uint32_t dim, std::uint32_t bits)
      : world(dim, bits), file(world.layout()), follower(file) {
    world.pin();  // the version last logged
  }

  // What happened since the last time, as one commit.
  void log(std::uint32_t page_from, bool trimmed) {
    commits.push_back(file.log(&world.pinned_version(0), world.newest(), page_from, trimmed));
    world.pin();
    world.unpin(0);
    (void)world.reclaim();
  }
  // Whether an index shows exactly what the world does.
  [[nodiscard]] testing::AssertionResult is_newest(const PaperIndex& index) const {
    if (index.newest().sequence != world.newest().sequence) {
      return testing::AssertionFailure() << "sequence " << index.newest().sequence;
    }
    auto right = shows(index.newest(), world.model(), world.universe, world.layout());
    return right ? same_slots(index.newest(), world.newest()) : right;
  }

  BuilderWorld world;
  PaperFile file;
  PaperIndex follower;
  std::vector<PaperCommit> commits;
};

void calibrate(BuilderWorld& world) {
  ASSERT_TRUE(world.clear().ok());
  std::vector<float> origin(world.layout().dim);
  for (float& x : origin) x = static_cast<float>(world.random.below(100)) * 1e-4f;
  ASSERT_TRUE(world.builder().calibrate(origin.data()).ok());
}

void random_edit(BuilderWorld& world, std::uint32_t id_end) {
  const std::uint32_t kind = world.random.below(40);
  std::vector<std::uint64_t> ids(world.random.below(world.random.below(4) == 0 ? 300 : 20));
  for (std::uint64_t& id : ids) id = world.random.below(id_end);
  if (kind == 0) {
    ASSERT_TRUE(world.clear().ok());
  } else if (kind == 1) {
    ASSERT_NO_FATAL_FAILURE(calibrate(world));
  } else if (kind < 26) {
    ASSERT_TRUE(world.upsert(ids).ok());
  } else {
    ASSERT_TRUE(world.remove(ids).ok());
  }
}

void random_commit(BuilderWorld& world, std::uint32_t id_end) {
  const bool compacts = world.compaction().active() || world.random.below(5) == 0;
  if (compacts && world.random.below(2) == 0) {
    segment::Compaction::Goal goal;
    goal.dead_percent = 10;
    goal.merge = world.random.below(2) == 0;
    (void)world.compact(goal, 1 + world.random.below(8));
    return;
  }
  ASSERT_TRUE(world.begin().ok());
  for (std::uint32_t edits = 1 + world.random.below(3); edits > 0; --edits) {
    ASSERT_NO_FATAL_FAILURE(random_edit(world, id_end));
  }
  if (world.random.below(10) == 0) {
    world.abandon();
  } else {
    world.commit();
  }
}

// An index that opens the file by a directory and goes on from there.
void open_anew(Journal& journal, std::uint32_t page_from, bool trimmed) {
  PaperFile file(journal.world.layout());
  PaperCommit directory = file.log(nullptr, journal.world.newest(), page_from, trimmed);
  PaperIndex index(file);
  ASSERT_TRUE(index.apply({directory}).ok());
  ASSERT_TRUE(journal.is_newest(index));
  EXPECT_FALSE(index.damage().any());
  index.reclaim();
}

void random_history(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::uint32_t bits[] = {1, 2, 3, 4, 8};
  Journal journal(8 + 8 * static_cast<std::uint32_t>(seed % 3), bits[seed % 5]);
  BuilderWorld& world = journal.world;
  world.random = Random(seed);
  const std::uint32_t id_end = seed % 3 == 0 ? 60 : 900;
  world.universe = range(0, id_end + 10);
  std::size_t followed = 0;
  for (int turn = 0; turn < 60; ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    const std::uint64_t before = world.newest().sequence;
    ASSERT_NO_FATAL_FAILURE(random_commit(world, id_end));
    if (world.newest().sequence == before || world.random.below(3) == 0) continue;
    const std::uint32_t page_from[] = {0, 1, 20, VersionDiff::kPageSlots, ~0u};
    journal.log(page_from[world.random.below(5)], false);
    if (world.random.below(3) == 0) continue;  // two or more at once
    const auto first = journal.commits.begin() + static_cast<std::ptrdiff_t>(followed);
    ASSERT_TRUE(journal.follower.apply({first, journal.commits.end()}).ok());
    followed = journal.commits.size();
    ASSERT_TRUE(journal.is_newest(journal.follower));
    if (world.random.below(2) == 0) journal.follower.reclaim();
    if (world.random.below(8) == 0) {
      ASSERT_NO_FATAL_FAILURE(open_anew(journal, page_from[world.random.below(5)], true));
    }
  }
  if (journal.commits.empty()) return;
  world.pin();
  // What was logged last is the newest but for turns that were not: log the rest and open it all.
  if (journal.commits.back().sequence != world.newest().sequence) journal.log(0, false);
  PaperIndex opened(journal.file);
  ASSERT_TRUE(opened.apply(journal.commits).ok());
  ASSERT_TRUE(journal.is_newest(opened));
  EXPECT_FALSE(opened.damage().any() || journal.follower.damage().any());
}

TEST(ReplayTest, DifferencesOfAnyHistoryMakeTheNewestVersionAgain) {
  for (std::uint64_t seed = 1; seed <= scaled(20); ++seed) {
    ASSERT_NO_FATAL_FAILURE(random_history(seed));
  }
}

TEST(ReplayTest, AnEmptyDifferenceIsEmptyAndOneAgainstNothingIsAll) {
  BuilderWorld world(16, 4);
  add(world, range(0, 300));
  VersionDiff diff;
  ASSERT_TRUE(diff.compare(&world.newest(), world.newest()).ok());
  EXPECT_TRUE(diff.dropped().empty() && diff.opened().empty() && diff.grown().empty() &&
              diff.dead().empty() && diff.pages().empty() && !diff.calibrated());
  ASSERT_TRUE(diff.compare(nullptr, world.newest()).ok());
  EXPECT_EQ(diff.opened().size(), diff.grown().size());
  std::uint64_t rows = 0;
  for (const VersionDiff::Grown& grown : diff.grown()) {
    EXPECT_EQ(grown.rows_before, 0u);
    rows += grown.view->rows;
  }
  EXPECT_EQ(rows, 300u);
}

TEST(ReplayTest, ADifferenceWithoutMemoryIsFullAndKnowsNothing) {
  BuilderWorld world(16, 4);
  add(world, range(0, 300));
  for (std::uint64_t allowed = 0;; ++allowed) {
    VersionDiff diff;
    const Status compared = [&] {
      const FailingAllocations failing(allowed, ~std::uint64_t{0});
      return diff.compare(nullptr, world.newest());
    }();
    if (compared.ok()) break;
    ASSERT_LT(allowed, 10u);
    EXPECT_EQ(compared.code(), Code::full);
    EXPECT_TRUE(diff.opened().empty() && diff.grown().empty());
  }
}

TEST(ReplayTest, ADifferenceTwiceIsRefusedAndChangesNothing) {
  Journal journal(16, 4);
  add(journal.world, range(0, 100));
  journal.log(0, false);
  ASSERT_TRUE(journal.world.begin().ok());
  ASSERT_TRUE(journal.world.remove(range(10, 20)).ok());
  ASSERT_TRUE(journal.world.upsert(range(200, 50)).ok());
  ASSERT_TRUE(journal.world.commit());
  journal.log(VersionDiff::kPageSlots, false);
  ASSERT_TRUE(journal.world.begin().ok());
  ASSERT_TRUE(journal.world.remove(range(30, 5)).ok());
  ASSERT_TRUE(journal.world.commit());
  journal.log(VersionDiff::kPageSlots, false);
  ASSERT_EQ(journal.commits[2].dead.size(), 5u);
  ASSERT_TRUE(journal.follower.apply(journal.commits).ok());
  for (PaperCommit commit : journal.commits) {
    commit.sequence = journal.world.newest().sequence + 1;
    EXPECT_EQ(journal.follower.apply({commit}).code(), Code::corrupt);
    EXPECT_TRUE(journal.is_newest(journal.follower));
  }
}

// Applies a commit after a change to it that must be refused.
template <class Change>
void expect_refused(Journal& journal, Change change) {
  PaperCommit commit = journal.commits.back();
  change(commit);
  PaperIndex index(journal.file);
  EXPECT_EQ(index.apply({commit}).code(), Code::corrupt);
  EXPECT_EQ(index.newest().sequence, 0u);
  EXPECT_EQ(index.reader().mapped(), 0u);
}

TEST(ReplayTest, WhatCannotBeIsRefused) {
  Journal journal(16, 4);
  add(journal.world, range(0, 300));
  ASSERT_TRUE(journal.world.begin().ok());
  ASSERT_TRUE(journal.world.remove(range(10, 200)).ok());
  ASSERT_TRUE(journal.world.commit());
  journal.log(1, false);
  ASSERT_TRUE(journal.follower.apply(journal.commits).ok());
  ASSERT_FALSE(journal.commits[0].pages.empty());
  using Commit = PaperCommit;
  expect_refused(journal, [](Commit& c) { c.dropped.push_back(0); });
  expect_refused(journal, [](Commit& c) { c.opened.push_back(c.opened[0]); });
  expect_refused(journal, [](Commit& c) { c.grown.push_back(c.grown[0]); });
  expect_refused(journal, [](Commit& c) { c.grown[0].rows = 0; });
  expect_refused(journal, [](Commit& c) { c.grown[0].number = 77; });
  expect_refused(journal, [](Commit& c) { c.grown[0].number = ~0u; });
  expect_refused(journal, [](Commit& c) { c.grown[0].rows = 513; });
  expect_refused(journal, [](Commit& c) { c.grown[0].unfinished -= 1; });
  expect_refused(journal, [](Commit& c) { c.grown[0].rows += 32; });
  for (std::size_t factor = 0; factor < 3; ++factor) {
    expect_refused(journal, [=](Commit& c) {
      std::memset(c.grown[0].factors.data() + 4 * factor, 0xff, 4);
    });
  }
  expect_refused(journal, [](Commit& c) { c.dead.push_back(Slot::of(0, 300)); });
  expect_refused(journal, [](Commit& c) { c.dead.push_back(Slot::of(9, 0)); });
  expect_refused(journal, [](Commit& c) { c.dead.push_back(Slot{}); });
  expect_refused(journal, [](Commit& c) { c.dead = {Slot::of(0, 5), Slot::of(0, 5)}; });
  expect_refused(journal, [](Commit& c) { c.pages[0].number = 3; });
  expect_refused(journal, [](Commit& c) { c.pages[0].page = 1; });
  expect_refused(journal, [](Commit& c) { c.pages[0].page = ~0u; });
  expect_refused(journal, [](Commit& c) { c.pages[0].words[9] &= ~(1u << 12); });  // row 300
  expect_refused(journal, [](Commit& c) { c.pages[0].words[127] = 0; });
  expect_refused(journal, [](Commit& c) {
    c.pages.push_back(c.pages[0]);
    c.pages[1].words[1] = ~0u;  // brings rows back
  });
  expect_refused(journal, [](Commit& c) { ++c.live_rows; });
  expect_refused(journal, [](Commit& c) { --c.dead_rows; });
  expect_refused(journal, [](Commit& c) { c.origin.assign(16, 0.01f); });  // number 0
  expect_refused(journal, [](Commit& c) {
    c.calibration = c.sequence + 1;
    c.origin.assign(16, 0.01f);
  });
  expect_refused(journal, [](Commit& c) {
    c.calibration = 1;
    c.origin.assign(16, 1e30f);
  });
}

TEST(ReplayTest, AnOriginAfterASegmentOrOfAnIndexThatHasNoneIsRefused) {
  Journal journal(16, 4);
  add(journal.world, range(0, 40));
  journal.log(0, false);
  const std::vector<float> origin(16, 0.01f);
  const auto* bytes = reinterpret_cast<const std::byte*>(origin.data());
  for (const Metric metric : {Metric::ip, Metric::l2, Metric::cosine}) {
    PaperIndex index(journal.file, metric);
    ASSERT_TRUE(index.begin(5).ok());
    EXPECT_EQ(index.replayer().set_origin(1, bytes).code(),
              metric == Metric::ip ? Code::corrupt : Code::ok);
    ASSERT_TRUE(index.reader().replay(journal.commits[0]).ok());
    EXPECT_EQ(index.replayer().set_origin(2, bytes).code(), Code::corrupt);
  }
}

TEST(ReplayTest, TwoRowsOfOneIdAreSeenWhereTheirHintsAreEntered) {
  Journal journal(16, 4);
  add(journal.world, range(0, 60));
  journal.log(0, false);
  expect_refused(journal, [](PaperCommit& c) {
    std::memcpy(c.grown[0].ids.data(), c.grown[0].ids.data() + 8, 8);
  });
  // The same where the first of them is dead: nothing is wrong.
  PaperCommit commit = journal.commits[0];
  std::memcpy(commit.grown[0].ids.data(), commit.grown[0].ids.data() + 8, 8);
  commit.dead.push_back(Slot::of(0, 32));
  --commit.live_rows;
  ++commit.dead_rows;
  PaperIndex index(journal.file);
  EXPECT_TRUE(index.apply({commit}).ok());
  EXPECT_EQ(index.newest().find(33).row(), 33u);
}

TEST(ReplayTest, SegmentsOfAnyNumbersAndCapacitiesAreShown) {
  BuilderWorld world(16, 3);
  for (std::uint64_t i = 0; i < 40; ++i) {
    add(world, range(i * 128, 128));
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.remove(range(i * 128, i == 39 ? 40 : 127)).ok());  // or they would be larger
    ASSERT_TRUE(world.commit());
  }
  for (std::uint64_t i = 0; i < 39; ++i) {
    ASSERT_TRUE(world.begin().ok());
    ASSERT_TRUE(world.remove(range(i * 128 + 127, 1)).ok());
    ASSERT_TRUE(world.commit());
  }
  world.universe = range(0, 40 * 128);
  PaperFile file(world.layout());
  const PaperCommit directory = file.log(nullptr, world.newest(), 0, true);
  ASSERT_LT(directory.opened.size(), 3u);
  ASSERT_GT(file.extents().back()->number, 2 * segment::kLeafViews);
  PaperIndex index(file);
  ASSERT_TRUE(index.apply({directory}).ok());
  EXPECT_TRUE(shows(index.newest(), world.model(), world.universe, world.layout()));
  for (std::uint32_t number = 0; number < index.newest().segment_end; ++number) {
    (void)index.newest().view(number);  // no leaf is missing
  }
}

TEST(ReplayTest, AnIndexThatWasOpenedIsWrittenToWhereTheFileEnds) {
  Journal journal(16, 4);
  add(journal.world, range(0, 77));
  journal.log(0, false);
  PaperIndex& index = journal.follower;
  ASSERT_TRUE(index.apply(journal.commits).ok());
  index.builder().reopen(index.newest());
  ASSERT_NE(index.builder().open(), nullptr);
  ASSERT_TRUE(index.builder().begin(index.newest()).ok());
  Model model = journal.world.model();
  PlainRow row = model.at(3);
  for (std::uint64_t id = 1000; id < 1200; ++id) {
    row.packed[0] = static_cast<std::uint8_t>(id);
    ASSERT_TRUE(index.builder().append(id, row.packed.data(), row.factors, 1).ok());
    model[id] = row;
  }
  index.publish();
  EXPECT_EQ(index.newest().find(1000).row(), 77u);
  EXPECT_TRUE(shows(index.newest(), model, {}, journal.world.layout()));
}

TEST(ReplayTest, ATableOfTheFileFindsWhatItCoversAndIsCopiedBeforeItIsWrittenTo) {
  Journal journal(16, 4);
  add(journal.world, range(0, 500));
  journal.log(0, false);
  ForeignTables tables(*journal.world.newest().ids);
  const ForeignTables::Entries before = tables.entries;
  add(journal.world, range(500, 20));
  journal.log(0, false);
  journal.world.universe = range(0, 600);
  {
    PaperIndex index(journal.file);
    ASSERT_TRUE(index.begin(journal.commits.back().sequence).ok());
    ASSERT_TRUE(index.reader().replay_all(journal.commits).ok());
    ASSERT_TRUE(tables.attach(index.replayer()).ok());
    ASSERT_TRUE(index.replayer().expect_rows(520).ok());
    EXPECT_TRUE(index.builder().find(499).valid());
    EXPECT_FALSE(index.builder().find(500).valid());  // not covered
    ASSERT_TRUE(index.reader().enter_hints().ok());
    EXPECT_EQ(tables.attach(index.replayer()).code(), Code::corrupt);  // taken
    index.publish();
    EXPECT_TRUE(journal.is_newest(index));
    EXPECT_EQ(tables.entries, before);
    index.reclaim();
    EXPECT_GT(tables.users, 20) << "a new row is none of their business";
    EXPECT_LT(tables.users, 64);
  }
  EXPECT_EQ(tables.users, 0);
}

TEST(ReplayTest, ATableOfAnyBytesIsHarmless) {
  Journal journal(16, 4);
  add(journal.world, range(0, 500));
  journal.log(0, false);
  const auto absent = range(500, 100);
  Random random(7);
  for (int kind = 0; kind < 4; ++kind) {
    ForeignTables tables(*journal.world.newest().ids);
    for (auto& entries : tables.entries) {
      for (std::uint32_t& entry : entries) {
        if (kind == 0) entry = static_cast<std::uint32_t>(random.next());
        if (kind == 1) entry = ~0u;
        if (kind == 2) entry = 1 + random.below(600);
        if (kind == 3) entry = 1;  // full, and all of one slot
      }
    }
    tables.used = kind % 2 == 0 ? 0 : ~0u;
    PaperIndex index(journal.file);
    ASSERT_TRUE(index.begin(1).ok());
    ASSERT_TRUE(index.reader().replay(journal.commits[0]).ok());
    ASSERT_TRUE(tables.attach(index.replayer()).ok());
    ASSERT_TRUE(index.reader().enter_hints().ok());  // each into a copy, or a table made anew
    index.publish();
    const quant::CodeLayout& layout = journal.world.layout();
    EXPECT_TRUE(shows(index.newest(), journal.world.model(), absent, layout));
  }
}

TEST(ReplayTest, ALookUpComparesTheBlocksOfItsCandidatesAndNoOthers) {
  Journal journal(16, 4);
  add(journal.world, range(0, 128));
  journal.log(0, false);
  ForeignTables tables(*journal.world.newest().ids);
  for (std::uint32_t damaged = 0; damaged < 4; ++damaged) {
    PaperIndex index(journal.file);
    ASSERT_TRUE(index.begin(1).ok());
    ASSERT_TRUE(index.reader().replay(journal.commits[0]).ok());
    ASSERT_TRUE(tables.attach(index.replayer()).ok());
    index.publish();
    const SegmentView& view = *index.newest().view(0);
    index.slab_of(0)[view.segment->rows_offset(damaged) + 5] ^= 1;
    bool met = false;
    for (std::uint64_t id = 0; id < 128; ++id) {
      const bool found = index.newest().find(id).valid();
      if (id / 32 == damaged) {
        EXPECT_FALSE(found);
        met = true;
      } else {
        EXPECT_TRUE(found);
      }
      // One of a chain may come before the id's own row.
      EXPECT_TRUE(!met || index.damage().any());
    }
    EXPECT_EQ(index.damage().where(),
              journal.file.extents()[0]->position + view.segment->rows_offset(damaged));
  }
}

TEST(ReplayTest, ATableThatIsTakenOverComparesNoBlock) {
  Journal journal(16, 4);
  add(journal.world, range(0, 512));
  journal.log(0, false);
  ForeignTables tables(*journal.world.newest().ids);
  PaperIndex index(journal.file);
  ASSERT_TRUE(index.begin(1).ok());
  ASSERT_TRUE(index.reader().replay(journal.commits[0]).ok());
  ASSERT_TRUE(tables.attach(index.replayer()).ok());
  index.publish();
  for (std::uint32_t n = 0; n < index.newest().segment_end; ++n) {
    const SegmentView& view = *index.newest().view(n);
    for (std::uint32_t block = 0; block < view.blocks(); ++block) {
      index.slab_of(n)[view.segment->rows_offset(block)] ^= 1;
    }
  }
  ASSERT_TRUE(index.builder().begin(index.newest()).ok());
  const PlainRow row = journal.world.model().at(3);
  ASSERT_TRUE(index.builder().append(9999, row.packed.data(), row.factors, 1).ok());
  index.publish();
  EXPECT_FALSE(index.damage().any());
  EXPECT_TRUE(index.newest().find(9999).valid() || index.damage().any());
}

}  // namespace
}  // namespace vicinal::test
